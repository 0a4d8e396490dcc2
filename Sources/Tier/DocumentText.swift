import Rankings
import System

/// A part of a document: an answer of the service, and its time.
///
/// The answer is decoded on demand: a document has hundreds of parts, and one page of them is needed at a time.
struct DocumentPart: Sendable {
    /// The time of the answer by the object store's clock, in Unix seconds.
    let asked: Int64
    /// The part's line in the document.
    let line: String

    init(_ name: String, asked: Int64, value: JSON) {
        self.asked = asked
        line = JSON.members([("part", .string(name)), ("asked", .integer(asked)), ("value", value)]).line
    }

    fileprivate init(asked: Int64, line: String) {
        self.asked = asked
        self.line = line
    }

    /// The text of the answer.
    var answer: Substring {
        line[(line.utf8.firstRange(of: DocumentText.value)?.upperBound ?? line.startIndex)...]
    }

    /// The answer; null if it cannot be read.
    var value: JSON { (try? JSONReader.read(Array(line.utf8)))?["value"].bounded ?? .null }

    /// The answer, if it is a whole number.
    var number: Int64? { Int64(coded: value) }

    /// Decodes the answer off the caller's actor; nil if it cannot be decoded.
    @concurrent func decoded<Value: JSONCoded>() async -> Value? { Value(coded: value) }
}

/// The bytes of documents: a line with the kind and name of the document, then a line of JSON for each part.
///
/// An unreadable part costs that part; a document of another kind, or of a later version, is left unchanged.
enum DocumentText {
    /// The version of the format, which grows when the meaning of a part changes.
    static let schema: Int64 = 1

    /// The meaning of the bytes of an object.
    enum Reading {
        case parts([String: DocumentPart])
        /// The document was written by a later version of this program.
        case ofLaterVersion
        /// The bytes are not a document of this name.
        case noDocument

        /// The parts, if the bytes are a document of this version.
        var parts: [String: DocumentPart]? { if case .parts(let parts) = self { parts } else { nil } }
    }

    /// Returns the bytes of a document.
    static func bytes(_ name: String, _ parts: [String: DocumentPart]) -> [UInt8] {
        var text = JSON.members([("schema", .integer(schema)), ("document", .string(name))]).line + "\n"
        for (_, part) in parts.sorted(by: { $0.key < $1.key }) { text += part.line + "\n" }
        return Array(text.utf8)
    }

    /// Reads the bytes of a document.
    static func read(_ name: String, of bytes: [UInt8]) -> Reading {
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        guard let head = lines.first.flatMap({ try? JSONReader.read(Array($0)) }), let version = head["schema"].number,
            head["document"].text == name
        else { return .noDocument }
        guard version <= schema else { return .ofLaterVersion }
        var parts: [String: DocumentPart] = [:]
        for line in lines.dropFirst() {
            guard let head = Self.head(line), let name = head["part"].text, let asked = head["asked"].number else {
                continue
            }
            parts[name] = DocumentPart(asked: asked, line: String(decoding: line, as: UTF8.self))
        }
        return .parts(parts)
    }

    /// Parses the part of a line before the answer, as all machines write it; otherwise the whole line.
    private static func head(_ line: ArraySlice<UInt8>) -> JSON? {
        // No JSON string contains this text: its quotes have a backslash before them.
        if let end = line.firstRange(of: value), let head = try? JSONReader.read(line[..<end.lowerBound] + closing) {
            return head
        }
        return try? JSONReader.read(Array(line))
    }

    fileprivate static let value = Array(",\"value\":".utf8)
    private static let closing = Array("}".utf8)
}
