package import HTTP
internal import Rankings

/// What the image host says before a body: the one place that reads its answers.
///
/// Facts only, free of what they mean to whoever asked: a length that is contradicted fails a download and makes a size
/// unknown. Pure.
package struct ImageAnswer: Sendable {
    /// What the status says.
    package enum Outcome: Hashable, Sendable {
        /// A picture, all of it.
        case whole
        /// A part of one.
        case part
        /// The part that was asked for lies behind the end.
        case beyondTheEnd
        /// There is no such picture.
        case gone
        /// 401 or 403.
        case refused
        /// 429; what the host asks for is heard and obeyed on the way here (`CoolDownTransport`).
        case limited
        /// 5xx: may be better in a moment.
        case troubled
        /// Any other status.
        case unexpected
    }

    /// What the headers say of the body's length, in bytes.
    package enum Length: Hashable, Sendable {
        case notTold
        case told(Int64)
        /// What is no length.
        case nonsense
        /// Two that differ.
        case contradictory
    }

    package let status: Int
    package let outcome: Outcome
    /// The media type in lower case, without parameters; nil if none is told.
    package let mediaType: String?
    /// The media type as it came.
    package let statedType: String?
    /// Whether the body is not the picture's bytes as they are stored.
    package let isEncoded: Bool
    package let length: Length
    /// Which part came, of how many bytes if that is told.
    package let part: (range: Range<Int64>, total: Int64?)?
    /// The picture's length, from an answer that has no part of it.
    package let lengthBeyondTheEnd: Int64?
    /// What names this version in `If-Range`: a strong ETag, else Last-Modified (RFC 9110 section 8.8).
    package let version: String?

    package init(_ head: HTTPHead) {
        status = head.status
        outcome = Self.outcome(head.status)
        statedType = head["content-type"]
        mediaType = statedType.map { type in String(type.lowercased().prefix { $0 != ";" && $0 != " " }) }
        isEncoded = head["content-encoding"].map { $0.lowercased() != "identity" } ?? false
        length = Self.length(head.headers.filter { $0.name == "content-length" }.map(\.value))
        let range = head["content-range"] ?? ""
        part = Self.contentRange(range)
        lengthBeyondTheEnd = Self.lengthBeyondTheEnd(range)
        version = head["etag"].flatMap { $0.hasPrefix("\"") ? $0 : nil } ?? head["last-modified"]
    }

    /// Whether the host says that it is a picture, or an archive of pictures; what it really is its bytes show.
    package var isPicture: Bool {
        guard let mediaType else { return false }
        return mediaType.hasPrefix("image/") || Self.archiveTypes.contains(mediaType)
    }

    /// What the archives of animations come as.
    private static let archiveTypes = ["application/zip", "application/x-zip-compressed", "application/octet-stream"]

    private static func outcome(_ status: Int) -> Outcome {
        switch status {
        case 200: .whole
        case 206: .part
        case 416: .beyondTheEnd
        case 404, 410: .gone
        case 401, 403: .refused
        case 429: .limited
        case 500...599: .troubled
        default: .unexpected
        }
    }

    /// The one length that all headers agree on, however often it is told.
    private static func length(_ values: [String]) -> Length {
        var lengths: Set<Int64> = []
        for text in values.flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) }) {
            let digits = text.drop { $0 == " " }
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let length = Int64(digits)
            else { return .nonsense }
            lengths.insert(length)
        }
        guard lengths.count <= 1 else { return .contradictory }
        return lengths.first.map(Length.told) ?? .notTold
    }

    /// Reads `bytes 0-99/1000`; the total may be `*` (RFC 9110 section 14.4).
    package static func contentRange(_ text: String) -> (range: Range<Int64>, total: Int64?)? {
        guard text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/")
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-")
        guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), first >= 0, last >= first,
            last < .max
        else { return nil }
        if parts[1] == "*" { return (first..<(last + 1), nil) }
        guard let total = Int64(parts[1]), last < total else { return nil }
        return (first..<(last + 1), total)
    }

    /// Reads `bytes */1000` (RFC 9110 section 15.5.17).
    private static func lengthBeyondTheEnd(_ text: String) -> Int64? {
        let text = text.lowercased()
        guard text.hasPrefix("bytes */"), let told = Int64(text.dropFirst(8)),
            (1...PictureLimits.largest).contains(told)
        else { return nil }
        return told
    }
}
