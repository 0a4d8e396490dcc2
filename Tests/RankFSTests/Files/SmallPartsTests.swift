import Rankings
import Testing

@testable import RankFS

/// Helper files and attribute values.
@Suite struct SmallPartsTests {
    static func listed(_ id: Int64, rank: Int? = 1, previous: Int? = nil, tags: [String] = []) -> ListedWork {
        ListedWork(
            rank: rank, previousRank: previous,
            work: Work(
                id: WorkID(rawValue: id), title: "Title \(id)", author: UserID(rawValue: 11), authorName: "Author",
                tags: tags, kind: .illustration, width: 1200, height: 900, pageCount: 1, uploaded: 1_714_532_400,
                views: 10, ratings: nil, picture: "reference", withheld: nil))
    }

    @Test func theCacheTagBeginsWithItsSignature() {
        let text = Array(HelperFile.cacheTagText.utf8)
        #expect(HelperFile.cacheTagSignature.utf8.count == 43)
        #expect(text.starts(with: HelperFile.cacheTagSignature.utf8))
        #expect(text[43] == UInt8(ascii: "\n"))
        #expect(text[44] == UInt8(ascii: "#"))
        #expect(text.last == UInt8(ascii: "\n"))
    }

    @Test func aCommaInATagIsNoSeparator() {
        #expect(PictureAttribute.list(["a,b", "c"]) == "a，b,c")
        #expect(PictureAttribute.list([]) == "")
        // With a mark that combines with it.
        #expect(PictureAttribute.list([",\u{301}"]) == "，\u{301}")
    }

    /// Signs that go before a number, as U+0600, are one character with the dot behind them.
    @Test(arguments: ["png", "zip", "gif"]) func theKindOfAFileIsInItsLastBytes(_ ending: String) {
        let kinds = ["png": "image/png", "zip": "application/zip", "gif": "image/gif"]
        #expect(PictureAttribute.mimeType(ofFileNamed: "1-\u{600}.\(ending)") == kinds[ending])
        #expect(PictureAttribute.mimeType(ofFileNamed: "1-\(ending)") == "image/jpeg")
    }

    @Test func whatTheServiceDoesNotTellHasNoValue() {
        let record = Self.listed(1)
        #expect(PictureAttribute.previousRank.value(in: record) == nil)
        #expect(PictureAttribute.ratings.value(in: record) == nil)
        #expect(PictureAttribute.withheld.value(in: record) == nil)
        #expect(PictureAttribute.views.value(in: record) == "10")
        #expect(PictureAttribute.previousRank.value(in: Self.listed(1, previous: 4)) == "4")
    }

    @Test(arguments: [(WorkKind.illustration, "illustration"), (.manga, "manga"), (.animation, "animation")])
    func theKindOfAWorkIsTold(_ kind: WorkKind, _ name: String) {
        var record = Self.listed(1)
        record.work.kind = kind
        #expect(PictureAttribute.type.value(in: record) == name)
    }
}
