import Foundation
import Rankings
import Testing

@testable import rankfs

/// The program's own JSON, held against Foundation's.
@Suite struct JSONCodingTests {
    private struct Parts: Codable, JSONRecord, Equatable {
        struct Inner: Codable, JSONRecord, Equatable {
            static let blank = Inner(lists: [])
            static let members: [JSONField<Inner>] = [.init("lists", \.lists), .init("someName", \.someName)]

            var someName: String?
            var lists: [[Int]]
        }

        enum Word: Int, Codable, JSONCoded { case first, second }

        static let blank = Parts(text: "", flag: false, large: 0, word: .first, inner: [], nothing: 1)
        static let members: [JSONField<Parts>] = [
            .init("flag", \.flag), .init("inner", \.inner), .init("large", \.large), .init("nothing", \.nothing),
            .init("text", \.text), .init("word", \.word),
        ]

        var text = "a\"b\\c/\u{1}\u{2028}\u{e4}\u{1F5BC}"
        var flag = true
        var large = Int64.max
        var word = Word.second
        var inner = [Inner(someName: nil, lists: []), Inner(someName: "x", lists: [[1, 2], []])]
        var nothing: Int?
    }

    @Test func foundationReadsWhatIsWritten() throws {
        let text = Parts().coded.document(colon: " : ")
        #expect(try JSONDecoder().decode(Parts.self, from: Data(text.utf8)) == Parts())
    }

    @Test func whatFoundationWritesIsRead() throws {
        #expect(Parts(coded: try JSONReader.read(Array(try JSONEncoder().encode(Parts())))) == Parts())
    }

    @Test(arguments: [ListingPage.members.map(\.name), Work.members.map(\.name), WorkDetails.members.map(\.name)])
    func membersAreSorted(_ names: [String]) { #expect(names == names.sorted()) }

    @Test func namesAreSortedAndNumbersShort() throws {
        let text = JSON.members([("a", .real(0.5)), ("b", .real(5))]).document(colon: " : ")
        #expect(text == "{\n  \"a\" : 0.5,\n  \"b\" : 5\n}\n")
        let declared = Parts.Inner(someName: "x", lists: []).coded.document
        #expect(declared == "{\n  \"lists\": [],\n  \"someName\": \"x\"\n}\n")
    }

    @Test(arguments: [
        "{}", "[]", "null", #"{"lists": null}"#, #"{"lists": [[1.5]]}"#, #"{"lists": [["1"]]}"#, #"{"lists": {}}"#,
        #"{"lists": [[1], true]}"#, #"{"lists": [], "someName": 1}"#, #"{"lists": [[9223372036854775808]]}"#,
    ])
    func anotherKindOfValueIsNone(_ text: String) throws {
        #expect(Parts.Inner(coded: try JSONReader.read(Array(text.utf8))) == nil)
    }
}
