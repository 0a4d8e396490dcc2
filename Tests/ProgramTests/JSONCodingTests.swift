import Foundation
import Rankings
import Testing

@testable import rankfs

/// The program's own JSON, held against Foundation's.
@Suite struct JSONCodingTests {
    private struct Parts: Codable, Equatable {
        struct Inner: Codable, Equatable {
            var someName: String?
            var lists: [[Int]]
        }

        enum Word: String, Codable { case first, second }

        var text = "a\"b\\c/\u{1}\u{2028}\u{e4}\u{1F5BC}"
        var flag = true
        var whole = 5.0
        var real = -1.25e-7
        var large = Int64.max
        var small: Int8 = -128
        var byte: UInt8 = 255
        var float: Float = 0.5
        var word = Word.second
        var inner = [Inner(someName: nil, lists: []), Inner(someName: "x", lists: [[1, 2], []])]
        var names = ["b": 1, "a": 2]
        var nothing: Int?
    }

    private func write(_ value: some Encodable) throws -> [UInt8] {
        Array(try JSON(encoding: value).document(colon: " : ").utf8)
    }

    @Test func foundationReadsWhatIsWritten() throws {
        #expect(try JSONDecoder().decode(Parts.self, from: Data(try write(Parts()))) == Parts())
    }

    @Test func whatFoundationWritesIsRead() throws {
        let json = try JSONReader.read(Array(try JSONEncoder().encode(Parts())))
        #expect(try json.decoded(as: Parts.self) == Parts())
    }

    @Test func namesAreSortedAndNumbersShort() throws {
        let text = String(decoding: try write(["b": 5.0, "a": 0.5]), as: UTF8.self)
        #expect(text == "{\n  \"a\" : 0.5,\n  \"b\" : 5\n}\n")
        let declared = try JSON(encoding: Parts.Inner(someName: "x", lists: [])).document
        #expect(declared == "{\n  \"lists\": [],\n  \"someName\": \"x\"\n}\n")
    }

    @Test(arguments: [
        "{}", "[]", "null", #"{"lists": null}"#, #"{"lists": [[1.5]]}"#, #"{"lists": [["1"]]}"#, #"{"lists": {}}"#,
        #"{"lists": [[1], true]}"#, #"{"lists": [], "someName": 1}"#, #"{"lists": [[9223372036854775808]]}"#,
    ])
    func anotherKindOfValueIsAnError(_ text: String) throws {
        let json = try JSONReader.read(Array(text.utf8))
        #expect(throws: DecodingError.self) { try json.decoded(as: Parts.Inner.self) }
    }

    @Test func aNumberBeyondItsTypeIsAnError() throws {
        #expect(throws: EncodingError.self) { try write(UInt64.max) }
        let json = try JSONReader.read(Array("[256]".utf8))
        #expect(throws: DecodingError.self) { try json.decoded(as: [UInt8].self) }
    }

    @Test func boundedNumbersCanBeAdded() throws {
        let json = try JSONReader.read(Array(#"{"a": [9223372036854775807, -1e300, 1e300, 7, "9"]}"#.utf8)).bounded
        let most: Int64 = 1 << 50
        #expect(
            json["a"].elements == [
                .integer(most), .real(-Double(most)), .real(Double(most)), .integer(7), .string("9"),
            ])
    }
}
