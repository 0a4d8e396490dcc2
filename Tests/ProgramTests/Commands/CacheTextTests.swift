import Testing

@testable import ImageCache
@testable import RankFS
@testable import rankfs

@Suite struct CacheTextTests {
    @Test func everyFigureSaysWhatItIs() {
        var tally = ThumbnailLedger.Tally()
        (tally.files, tally.bytes) = (120, 3 << 20)
        let found = CacheInspection(
            pictures: 491, bytes: 172 << 20, partialPictures: 2, partialBytes: 300 << 10, missingMarks: [])
        #expect(
            Command.text(of: found, thumbnails: tally, directory: "/c", budget: 2 << 30) == """
                directory  /c
                pictures   491 stored, 172M of the 2G that cache_size allows
                partial    2 unfinished, 300K of them received
                thumbnails 120 made for file managers, 3M
                backups    every mark that keeps them away is set
                """)
        let marked = CacheInspection(
            pictures: 0, bytes: 0, partialPictures: 0, partialBytes: 0, missingMarks: ["nodump: a\nb"])
        #expect(
            Command.text(of: marked, thumbnails: .init(), directory: "/c", budget: 0)
                .hasSuffix("\nbackups    missing marks: nodump: a\\u{a}b"))
    }
}
