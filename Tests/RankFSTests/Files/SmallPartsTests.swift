import Rankings
import Testing

@testable import RankFS

/// Helper files and attribute values.
@Suite struct SmallPartsTests {
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

    @Test(arguments: [(WorkKind.illustration, "illustration"), (.manga, "manga"), (.animation, "animation")])
    func theKindOfAWorkIsTold(_ kind: WorkKind, _ name: String) {
        var record = Workbench.entries(1)[0]
        record.work.kind = kind
        #expect(PictureAttribute.type.value(in: record) == name)
    }
}
