internal import Rankings

/// A part of a document: an answer of the service, and when it was given.
///
/// The answer is read when it is wanted: a document has hundreds of parts, and one page of it is wanted at a time.
struct DocumentPart: Sendable {
    /// By the store's clock, in Unix seconds.
    let asked: Int64
    /// The part as it stands in the document.
    let line: String

    init(_ name: String, asked: Int64, value: JSONText) {
        self.asked = asked
        line = JSONText.object([("part", .text(name)), ("asked", .integer(asked)), ("value", value)]).line
    }

    fileprivate init(asked: Int64, line: String) {
        self.asked = asked
        self.line = line
    }

    /// The answer; null if it cannot be read.
    var value: JSON { (try? JSONReader.read(Array(line.utf8)))?["value"].bounded ?? .null }

    /// The answer, if it is a whole number.
    var number: Int64? { try? value.decoded(as: Int64.self) }

    /// What a type makes of the answer, read beside whatever else is going on; nil if it cannot.
    @concurrent func decoded<Value: Decodable & Sendable>() async -> Value? { try? value.decoded(as: Value.self) }
}

/// Documents as bytes: a line that says what it is, then a line of JSON for each part.
///
/// A part that cannot be read costs that part; a document of another kind, or of a later version, is left alone.
enum DocumentText {
    /// Grows when a part means something else than before.
    static let schema: Int64 = 1

    enum Failure: Error {
        /// It is of a later version of this program.
        case ofLaterVersion
        /// It is no document of this name.
        case isNoDocument
    }

    /// The bytes of a document.
    static func bytes(_ name: String, _ parts: [String: DocumentPart]) -> [UInt8] {
        var text = JSONText.object([("schema", .integer(schema)), ("document", .text(name))]).line + "\n"
        for (_, part) in parts.sorted(by: { $0.key < $1.key }) { text += part.line + "\n" }
        return Array(text.utf8)
    }

    /// Reads the bytes of a document.
    static func parts(_ name: String, of bytes: [UInt8]) throws(Failure) -> [String: DocumentPart] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        guard let head = lines.first.flatMap({ try? JSONReader.read(Array($0)) }), let version = head["schema"].number,
            head["document"].text == name
        else { throw .isNoDocument }
        guard version <= schema else { throw .ofLaterVersion }
        var parts: [String: DocumentPart] = [:]
        for line in lines.dropFirst() {
            guard let head = Self.head(line), let name = head["part"].text, let asked = head["asked"].number else {
                continue
            }
            parts[name] = DocumentPart(asked: asked, line: String(decoding: line, as: UTF8.self))
        }
        return parts
    }

    /// What stands before the answer, as all machines write it; otherwise the whole line.
    private static func head(_ line: ArraySlice<UInt8>) -> JSON? {
        // No text holds this: quotes in it have a backslash before them.
        if let end = line.firstRange(of: value), let head = try? JSONReader.read(line[..<end.lowerBound] + closing) {
            return head
        }
        return try? JSONReader.read(Array(line))
    }

    private static let value = Array(",\"value\":".utf8)
    private static let closing = Array("}".utf8)
}
