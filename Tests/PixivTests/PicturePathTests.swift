import Foundation
import Rankings
import Testing

@testable import Pixiv

@Suite("Paths of pictures")
struct PicturePathTests {
    private static let hash = "0123456789abcdef0123456789abcdef"

    @Test(
        "every form seen",
        arguments: [
            ("c/240x480/img-master", "97973029_p0_master1200.jpg", "97973029_p0", 97_973_029, 0),
            ("c/480x960/img-master", "97973029_p0_master1200.jpg", "97973029_p0", 97_973_029, 0),
            ("img-master", "97973029_p12_master1200.jpg", "97973029_p0", 97_973_029, 12),
            ("c/250x250_80_a2/img-master", "97973029_p0_square1200.jpg", "97973029_p0", 97_973_029, 0),
            ("c/250x250_80_a2/custom-thumb", "97973029_p0_custom1200.jpg", "97973029_p0", 97_973_029, 0),
            ("c/360x360_10_webp/img-master", "1_p0_square1200.jpg", "1_p0", 1, 0),
            ("c/240x480/img-master", "46281014_master1200.jpg", "46281014", 46_281_014, nil),
            ("c/250x250_80_a2/img-master", "46281014_square1200.jpg", "46281014", 46_281_014, nil),
            ("img-original", "97973029_p3.png", "97973029_p0", 97_973_029, 3),
            ("img-original", "97973029_ugoira0.jpg", "97973029", 97_973_029, nil),
            ("img-master", "140000001-\(hash)_p0_master1200.jpg", "140000001-\(hash)_p0", 140_000_001, 0),
            ("img-original", "140000001-\(hash)_p1.gif", "140000001-\(hash)_p0", 140_000_001, 1),
        ] as [(String, String, String, Int64, Int?)])
    func forms(folder: String, name: String, reference: String, work: Int64, page: Int?) throws {
        let url = "https://i.pximg.net/\(folder)/img/2022/04/30/00/00/15/\(name)"
        let path = try #require(PicturePath(url: url))
        #expect(path.reference == "2022/04/30/00/00/15/" + reference)
        #expect(path.work.rawValue == work && path.page == page)
        #expect(path.fileExtension == String(name.suffix(3)))
        #expect(path.uploaded == 1_651_244_415)
        #expect(try path.uploaded == pathTime(url))
        let original = path.originalPath(page: path.page ?? 0).map { "https://i.pximg.net" + $0 }
        #expect(original == (folder == "img-original" ? url : nil))
        let again = try #require(PicturePath(reference: path.reference))
        #expect(again.reference == path.reference && again.uploaded == path.uploaded && again.work == path.work)
    }

    @Test(
        "anything else is refused",
        arguments: [
            "", "97973029_p0.jpg", "97973029.jpg", "97973029_p0_master1200.png.jpg", "97973029_p0_master1200",
            "_p0_master1200.jpg",
            "0_p0_master1200.jpg", "07_p0_master1200.jpg", "97973029_p_master1200.jpg", "97973029_p1000_master1200.jpg",
            "97973029_p-1_master1200.jpg", "97973029_p0_custom1200.jpg", "97973029_p0_master1200.webp",
            "97973029_p0_master1200.jpg?x=1",
            "97973029_p0_master1200.jpg#x", "97973029_p0_master1200.jpg/..", "../97973029_p0_master1200.jpg",
            "97973029-abc_p0_master1200.jpg",
            "97973029_p0_p1_master1200.jpg", "97973029_p0_master1200_x.jpg", "９_p0_master1200.jpg",
            "9%2e_p0_master1200.jpg", "99999999999999999999_p0_master1200.jpg", "97973029_p0_master1200.jpg\r\nX: y",
            "97973029-\(hash.uppercased())_p0_master1200.jpg",
        ])
    func names(name: String) {
        #expect(PicturePath(url: "https://i.pximg.net/img-master/img/2022/04/30/00/00/15/\(name)") == nil)
    }

    @Test(
        "places elsewhere are refused",
        arguments: [
            "https://s.pximg.net/common/images/limit_unviewable_s.png",
            "//i.pximg.net/img-master/img/2022/04/30/00/00/15/9_p0_master1200.jpg",
            "file:///img-master/img/2022/04/30/00/00/15/9_p0_master1200.jpg",
            "https://i.pximg.net/img-master/img/2022/02/30/00/00/15/9_p0_master1200.jpg",
            "https://i.pximg.net/img-master/img/2022/04/30/24/00/15/9_p0_master1200.jpg",
            "https://i.pximg.net/img-master/img/2022/4/30/00/00/15/9_p0_master1200.jpg",
            "https://i.pximg.net/img-master/img/2022/04/30/00/60/15/9_p0_master1200.jpg",
            "https://i.pximg.net/img-master/img/2022/04/30/00/00/15/16/9_p0_master1200.jpg",
            "https://i.pximg.net/img-master/img/2022/04/30/00/00/9_p0_master1200.jpg",
            "https://i.pximg.net/img-zip-ugoira/img/2022/04/30/00/00/15/9_p0_master1200.jpg",
            "https://i.pximg.net/c/../img-master/img/2022/04/30/00/00/15/9_p0_master1200.jpg",
            "https://i.pximg.net/c//img-master/img/2022/04/30/00/00/15/9_p0_master1200.jpg",
            "https://i.pximg.net/img-master/img/2022/04/30/00/00/15/" + String(repeating: "9", count: 1000), "https://",
            "https:///", "https://c", "https://i.pximg.net/c",
            "https://i.pximg.net/novel-cover-master/img/2022/08/24/15/07/42/ci18221091_\(hash)_master1200.jpg",
        ])
    func places(url: String) {
        #expect(PicturePath(url: url) == nil)
    }

    @Test("further pages replace page 0; a picture without pages has only itself")
    func pages() throws {
        let path = try #require(PicturePath(reference: "2022/04/30/00/00/15/9-\(Self.hash)_p0"))
        #expect(path.regularPath(page: 3) == "/img-master/img/2022/04/30/00/00/15/9-\(Self.hash)_p3_master1200.jpg")
        #expect(
            path.smallPath(page: 999)
                == "/c/480x960/img-master/img/2022/04/30/00/00/15/9-\(Self.hash)_p999_master1200.jpg")
        #expect(path.regularPath(page: 1000) == nil && path.regularPath(page: -1) == nil)
        let old = try #require(PicturePath(reference: "2014/09/28/00/00/15/46281014"))
        #expect(old.regularPath(page: 0) == "/img-master/img/2014/09/28/00/00/15/46281014_master1200.jpg")
        #expect(old.regularPath(page: 1) == nil)
    }

    @Test(
        "what is no reference is refused",
        arguments: [
            "", "a", "2022/04/30/00/00/15/9_p1", "2022/04/30/00/00/15/9_p00", "2022/04/30/00/00/15/9_p0_master1200",
        ])
    func references(text: String) {
        #expect(PicturePath(reference: text) == nil)
    }
}
