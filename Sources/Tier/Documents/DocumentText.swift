internal import Rankings

/// A part of a document: an answer of the service, and when it was given.
struct DocumentPart: Sendable {
    /// By the store's clock, in Unix seconds.
    var asked: Int64
    var value: JSON
    /// The part as it stands in the document.
    var line: String

    init(_ name: String, asked: Int64, value: JSONText) {
        self.asked = asked
        line = JSONText.object([("part", .text(name)), ("asked", .integer(asked)), ("value", value)]).line
        self.value = (try? JSONReader.read(Array(line.utf8)))?["value"].bounded ?? .null
    }

    fileprivate init(asked: Int64, value: JSON, line: String) {
        self.asked = asked
        self.value = value
        self.line = line
    }
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
            guard let part = try? JSONReader.read(Array(line)), let name = part["part"].text,
                let asked = part["asked"].number
            else { continue }
            parts[name] = DocumentPart(
                asked: asked, value: part["value"].bounded, line: String(decoding: line, as: UTF8.self))
        }
        return parts
    }
}
