import Rankings
import Testing

@testable import RankFS

/// Which names can be pictures or authors by their form.
@Suite struct EntryNameTests {
    @Test(arguments: [
        ("001-Title.jpg", 1), ("012-／.png", 12), ("500-a.gif", 500), ("1000-a.jpg", 1000), ("001--.jpg", 1),
    ])
    func picturesBeginWithTheirRank(name: String, rank: Int64) {
        #expect(EntryName.pictureNumber(Array(name.utf8), leastDigits: 3, extensions: ["jpg", "png", "gif"]) == rank)
    }

    @Test(arguments: [
        ".hidden", ".directory", ".sh_thumbnails", ".Trash", ".Trash-1000", ".xdg-volume-info", "autorun.inf",
        "VIDEO_TS",
        "BDMV", "MovieObject.bdmv", ".metadata", ".comments", "001-Title.xmp", "001-Title.jpg.xmp", "01-a.jpg", "a.jpg",
        "", "-", "-1-a.jpg", "001a.jpg", "001 -a.jpg", "０01-a.jpg", "9999999999999999999-a.jpg", "001-a.JPG", "001-a",
    ])
    func whatDesktopsProbeForIsNoPicture(name: String) {
        #expect(EntryName.pictureNumber(Array(name.utf8), leastDigits: 3, extensions: ["jpg", "png", "gif"]) == nil)
    }

    @Test func namesThatNoPictureHasAreRefusedByLength() {
        let name = "001-" + String(repeating: "a", count: 300) + ".jpg"
        #expect(EntryName.pictureNumber(Array(name.utf8), leastDigits: 3, extensions: ["jpg", "png", "gif"]) == nil)
        #expect(
            EntryName.pictureNumber(
                [0x30, 0x30, 0x31, 0x2D, 0xFF] + Array(".jpg".utf8), leastDigits: 3, extensions: ["jpg", "png", "gif"])
                == 1)
    }
}
