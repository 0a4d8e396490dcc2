import Rankings
import TestSupport
import Testing

@testable import Pixiv

@Suite("Paths of archives, avatars and guessed originals")
struct OtherPathTests {
    private static let hash = "0123456789abcdef0123456789abcdef"
    private let source = FakeService().source(imageURL: "http://127.0.0.1:2")

    @Test(
        "archives",
        arguments: [
            "97973029_ugoira1920x1080.zip", "97973029_ugoira600x600.zip", "97973029-\(hash)_ugoira1920x1080.zip",
        ])
    func archives(name: String) throws {
        let reference = "2022/04/30/00/00/15/" + name
        let path = try #require(ArchivePath(url: "https://i.pximg.net/img-zip-ugoira/img/" + reference))
        #expect(path.reference == reference && path.work.rawValue == 97_973_029 && path.uploaded == 1_651_244_415)
        let location = source.location(of: path.work, picture: reference, page: 0, rendition: .archive)
        #expect(location?.url == "http://127.0.0.1:2/img-zip-ugoira/img/" + reference)
        #expect(location?.fileExtension == "zip" && location?.headers == [referer])
        #expect(source.location(of: path.work, picture: reference, page: 0, rendition: .original) == nil)
        #expect(source.location(of: WorkID(rawValue: 1), picture: reference, page: 0, rendition: .archive) == nil)
    }

    @Test(
        "no archives",
        arguments: [
            "", "97973029.zip", "97973029_ugoira.zip", "97973029_ugoira1920.zip", "97973029_ugoira1920x.zip",
            "97973029_ugoirax1080.zip", "97973029_ugoira19200x1080.zip", "97973029_ugoira1x1_x.zip",
            "97973029_ugoira1x1.zip.zip", "97973029_ugoira1x1.zip?x", "_ugoira1x1.zip", "0_ugoira1x1.zip",
            "../97973029_ugoira1x1.zip", "97973029_p0.jpg", "97973029_ugoira1x1x1.zip",
        ])
    func noArchives(name: String) {
        #expect(ArchivePath(url: "https://i.pximg.net/img-zip-ugoira/img/2022/04/30/00/00/15/" + name) == nil)
    }

    @Test("archives and avatars elsewhere are refused")
    func elsewhere() {
        #expect(ArchivePath(url: "https://i.pximg.net/img-master/img/2022/04/30/00/00/15/9_ugoira1x1.zip") == nil)
        #expect(ArchivePath(url: "file:///img-zip-ugoira/img/2022/04/30/00/00/15/9_ugoira1x1.zip") == nil)
        #expect(ArchivePath(url: "https://i.pximg.net/img-zip-ugoira/img/2022/04/31/00/00/15/9_ugoira1x1.zip") == nil)
        #expect(AvatarPath(url: "https://i.pximg.net/user-profile/img/2022/04/31/00/00/15/9_\(Self.hash).jpg") == nil)
        #expect(AvatarPath(url: "https://i.pximg.net/user-profile/9_\(Self.hash).jpg") == nil)
    }

    @Test("avatars")
    func avatars() throws {
        for name in ["14408330_\(Self.hash)_170.png", "14408330_\(Self.hash).gif", "1_\(Self.hash)_50.jpg"] {
            let reference = "2018/06/26/14/26/03/" + name
            let path = try #require(AvatarPath(url: "https://i.pximg.net/user-profile/img/" + reference))
            #expect(path.reference == reference)
            let avatar = try #require(source.avatar(reference))
            #expect(avatar.location.url == "http://127.0.0.1:2/user-profile/img/" + reference)
            #expect(avatar.location.fileExtension == String(name.suffix(3)) && avatar.location.headers == [referer])
            #expect(avatar.uploaded == 1_529_990_763)
        }
        for name in [
            "", "1.jpg", "1_\(Self.hash)_170.webp", "1_\(Self.hash)_x.jpg", "x_\(Self.hash)_1.jpg",
            "1_\(Self.hash)_1_1.jpg", "1_\(Self.hash.uppercased()).jpg", "1_\(Self.hash).jpg/..",
        ] {
            #expect(source.avatar("2018/06/26/14/26/03/" + name) == nil, "\(name)")
        }
    }

    @Test("originals that a work may have have addresses")
    func candidates() throws {
        var work = Work(
            id: WorkID(rawValue: 97_973_029), title: "", author: UserID(rawValue: 1), authorName: "", tags: [],
            kind: .illustration, width: 1, height: 1, pageCount: 3, uploaded: 0, views: nil, ratings: nil,
            picture: "2022/04/30/00/00/15/97973029_p0", withheld: nil)
        func urls(page: Int) -> [String] {
            source.originalCandidates(of: work).compactMap {
                source.location(of: work.id, picture: $0, page: page, rendition: .original)?.url
            }
        }
        let root = "http://127.0.0.1:2/img-original/img/2022/04/30/00/00/15/97973029"
        #expect(urls(page: 0) == ["jpg", "png", "gif"].map { root + "_p0." + $0 })
        #expect(urls(page: 2) == ["jpg", "png", "gif"].map { root + "_p2." + $0 })
        let locations = source.originalCandidates(of: work).map {
            source.location(of: work.id, picture: $0, page: 0, rendition: .original)?.fileExtension
        }
        #expect(locations == ["jpg", "png", "gif"])
        work.kind = .animation
        for picture in ["97973029_p0", "97973029"] {
            work.picture = "2022/04/30/00/00/15/" + picture
            #expect(urls(page: 0) == ["jpg", "png", "gif"].map { root + "_ugoira0." + $0 })
            #expect(urls(page: 1).isEmpty)
        }
        // What kind it is may have gone lost on the way, that it has no page has not.
        work.kind = .illustration
        #expect(urls(page: 0).first == root + "_ugoira0.jpg")
        work.picture = "2022/04/30/00/00/15/97973028_p0"
        #expect(source.originalCandidates(of: work).isEmpty)
        work.picture = ""
        #expect(source.originalCandidates(of: work).isEmpty)
        work.picture = "2022/04/30/00/00/15/97973029_p0"
        work.withheld = "login_only"
        #expect(source.originalCandidates(of: work).isEmpty)
    }
}
