import Boards
import Foundation
import Rankings
import TestSupport
import Testing

/// Posts of odd shapes.
@Suite struct PostTests {
    private func danbooruWork(_ fields: [String: Any]) throws -> Work { try #require(try danbooru(fields).post?.work) }

    private func moebooruWork(_ fields: [String: Any]) throws -> Work { try #require(try moebooru(fields).post?.work) }

    @Test func aPostWithoutAddressesIsWithheld() throws {
        let hidden: [String: Any] = [
            "file_url": Missing(), "large_file_url": Missing(), "preview_file_url": Missing(), "md5": Missing(),
        ]
        for (fields, reason) in [
            (["is_banned": true], "banned"), (["is_deleted": true], "deleted"), ([:], "restricted"),
            (["media_asset": ["status": "expunged"]], "expunged"),
        ] as [([String: Any], String)] {
            let work = try danbooruWork(hidden.merging(fields) { $1 })
            #expect(work.withheld == reason && work.picture.isEmpty && work.title == "original - somebody")
            let source = FakeBoard().source()
            #expect(source.originalCandidates(of: work).isEmpty && source.files(of: work) == [])
        }
        // Deleted posts stay downloadable there; on the other engine they lose their addresses.
        #expect(try danbooruWork(["is_deleted": true]).withheld == nil)
        let deleted: [String: Any] = ["file_url": Missing(), "sample_url": Missing()]
        #expect(try moebooruWork(deleted.merging(["status": "deleted"]) { $1 }).withheld == "deleted")
        #expect(try moebooruWork(deleted.merging(["is_held": true]) { $1 }).withheld == "held")
        #expect(try moebooruWork(deleted).withheld == "restricted")
    }

    @Test func aPictureElsewhereIsWithheld() throws {
        for address in ["https://evil.example/1.jpg", "ftp://cdn.donmai.us/1.jpg", "javascript:alert(1)"] {
            #expect(try danbooruWork(["file_url": address]).withheld == "elsewhere")
            #expect(try moebooruWork(["file_url": address]).withheld == "elsewhere")
        }
        // A rendition elsewhere is only not there.
        let work = try moebooruWork(["sample_url": "https://evil.example/1.jpg", "preview_url": "//evil.example/1.jpg"])
        let source = FakeBoard().source(yandere)
        #expect(work.withheld == nil)
        #expect(source.location(of: work, .small) == nil)
        #expect(source.location(of: work, .regular)?.fileExtension == "png")
    }

    @Test func flashIsLeftOutAndOddFormatsAreNotUnderstood() throws {
        #expect(try danbooru(["file_ext": "swf"]) == .unplayable)
        #expect(try moebooru(["file_ext": "swf"]) == .unplayable)
        #expect(try moebooru(["file_ext": Missing(), "file_url": "https://yande.re/image/1/1.swf"]) == .unplayable)
        #expect(try danbooru(["file_ext": "exe"]) == .unreadable)
        // The address has the format as well.
        for missing in [NSNull(), Missing()] as [Any] {
            #expect(try danbooru(["file_ext": missing]).post?.files?.original.fileExtension == "jpg")
        }
        #expect(try danbooru(["file_ext": Missing(), "file_url": "https://cdn.donmai.us/1/1.swf"]) == .unplayable)
        #expect(try danbooru(["file_ext": Missing(), "file_url": "https://cdn.donmai.us/1/1"]) == .unreadable)
        #expect(try danbooru(["id": Missing()]) == .unreadable)
        #expect(try danbooru(["id": -1]) == .unreadable)
        #expect(try moebooru(["id": NSNull()]) == .unreadable)
    }

    @Test(arguments: ["jpg", "png", "gif", "webp", "avif", "mp4", "webm", "zip"])
    func everyFormatHasItsKindAndAPictureThatFillsAScreen(format: String) throws {
        let md5 = String(format: "%032x", 5)
        let variants = [("180x180", "jpg"), ("360x360", "jpg"), ("720x720", "webp"), ("original", format)].map {
            ["type": $0, "file_ext": $1, "url": "https://cdn.donmai.us/\($0)/ab/\(md5).\($1)", "width": 5, "height": 5]
        }
        let film = ["type": "sample", "file_ext": "webm", "url": "https://cdn.donmai.us/sample/ab/\(md5).webm"]
        let work = try danbooruWork([
            "file_ext": format, "file_url": "https://cdn.donmai.us/original/ab/\(md5).\(format)",
            "media_asset": ["variants": variants + [film]],
        ])
        let moves = ["mp4", "webm", "zip"].contains(format)
        #expect(work.kind == (moves ? .animation : .illustration))
        let source = FakeBoard().source()
        let regular = source.location(of: work, .regular)
        #expect(regular?.fileExtension == (moves ? "webp" : format))
        #expect(regular?.digest == (moves ? nil : md5))
        let small = source.location(of: work, .small)
        #expect(small?.url == "https://cdn.donmai.us/360x360/ab/\(md5).jpg")
        #expect(source.files(of: work)?.count == (moves ? 2 : 1))
    }

    @Test func aSampleThatWasNotMadeIsNone() throws {
        let source = FakeBoard().source(yandere)
        func regular(_ fields: [String: Any]) throws -> PictureLocation? {
            let work = try moebooruWork(fields)
            return source.location(of: work, .regular)
        }
        #expect(try regular([:])?.size == 500)
        #expect(try regular(["sample_file_size": 0])?.fileExtension == "png")
        let whole = "https://files.yande.re/jpeg/1/1.jpg"
        let jpeg = try regular(["sample_file_size": 0, "sample_url": whole, "jpeg_url": whole, "jpeg_file_size": 900])
        #expect(jpeg?.url == whole && jpeg?.size == 900 && jpeg?.digest == nil)
    }

    /// No byte of an original is given out unless length and digest agree: without either of them nothing leads to it.
    @Test func anOriginalThatNothingProvesIsWithheld() throws {
        var odd: [[String: Any]] = [0, -1, Int.max, "x", NSNull(), Missing()].map { ["file_size": $0] }
        odd += ["", "xyz", String(repeating: "g", count: 32), String(repeating: "a", count: 31), 5, Missing()].map {
            ["md5": $0]
        }
        for fields in odd {
            let works = [try danbooruWork(fields), try moebooruWork(fields)]
            for (work, source) in zip(works, [FakeBoard().source(), FakeBoard().source(yandere)]) {
                #expect(work.withheld == "unproven" && work.picture.isEmpty, "\(fields)")
                #expect(source.location(of: work, .original) == nil)
                #expect(source.files(of: work)?.isEmpty == true && source.originalCandidates(of: work).isEmpty)
            }
        }
    }

    @Test func figuresThatCannotBeAreNotTold() throws {
        let source = FakeBoard().source()
        func original(_ fields: [String: Any]) throws -> PictureLocation? {
            let work = try danbooruWork(fields)
            return source.location(of: work, .original)
        }
        // Of capital letters it proves as much.
        #expect(try original(["md5": String(repeating: "A", count: 32)])?.digest == String(repeating: "a", count: 32))
        #expect(try danbooruWork(["score": -7]).ratings == 0)
        #expect(try danbooruWork(["score": Missing()]).ratings == 4)
        #expect(try danbooruWork(["score": Int.max]).ratings == 1_000_000_000)
        #expect(try danbooruWork(["image_width": -5, "image_height": Int.max]).width == 0)
        #expect(try danbooruWork(["created_at": "yesterday"]).uploaded == 0)
        #expect(try moebooruWork(["created_at": ["json_class": "Time", "n": 0, "s": 77]]).uploaded == 77)
        #expect(try moebooruWork(["created_at": -1]).uploaded == 0)
    }

    @Test func whatIsMadeWithAIIsSaid() throws {
        #expect(try danbooruWork(["tag_string_meta": "ai-generated highres"]).isAI == true)
        #expect(try danbooruWork([:]).isAI == false)
        #expect(try moebooruWork([:]).isAI == nil)
    }

    @Test(
        arguments: [
            ("https://example.org/a?b=c", 0, "https://example.org/a?b=c"),
            (
                "https://i.pximg.net/img-original/img/2026/08/28/19/29/22/148985121_p0.png", 0,
                "https://www.pixiv.net/artworks/148985121"
            ),
            (
                "http://i3.pixiv.net/img-original/img/2016/08/27/17/25/32/58672090_p1.jpg", 0,
                "https://www.pixiv.net/artworks/58672090"
            ),
            ("https://i.pximg.net/odd", 0, nil), ("Animedia 2010-12", 0, nil), ("", 0, nil),
            ("file:///etc/passwd", 0, nil), ("https://example.org/\u{7}", 0, nil), ("http:// example.org", 0, nil),
            ("https://" + String(repeating: "a", count: 3000), 0, nil),
            ("anything", 77, "https://www.pixiv.net/artworks/77"),
            ("//example.org/a", 0, "https://example.org/a"),
        ] as [(String, Int, String?)])
    func theOriginIsAPage(source: String, work: Int, page: String?) throws {
        let fields: [String: Any] = ["source": source, "pixiv_id": work == 0 ? NSNull() as Any : work]
        #expect(try danbooruWork(fields).origin == page)
    }
}
