import HTTP
import Rankings

/// What an answer of the image host says about a picture's size: pure.
enum SizeAnswer: Hashable, Sendable {
    case size(Int64)
    /// The host is well but tells no length.
    case notTold
    case failed(SourceError)

    /// Reads the answer to a HEAD.
    init(head: HTTPHead) {
        switch head.status {
        case 200:
            self = Self.readable(head) ?? Self.length(of: head)
        case 405, 501:
            // HEAD is not served here; a range may be.
            self = .notTold
        default:
            self = .failed(Self.failure(head))
        }
    }

    /// Reads the answer to a request for the first byte.
    init(firstByte head: HTTPHead) {
        switch head.status {
        case 206:
            self = Self.readable(head) ?? head["content-range"].flatMap(Self.total).map(SizeAnswer.size) ?? .notTold
        case 200:
            // The range was ignored; a length told here is the whole picture's.
            self = Self.readable(head) ?? Self.length(of: head)
        case 416:
            self = .notTold
        default:
            self = .failed(Self.failure(head))
        }
    }

    /// The number behind the slash of `bytes 0-0/12345`; nil for `*`, zero and what no picture has.
    static func total(_ contentRange: String) -> Int64? {
        let parts = contentRange.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bytes 0-0" else { return nil }
        return number(parts[1])
    }

    /// Nil for an answer that is a picture as it is stored.
    private static func readable(_ head: HTTPHead) -> SizeAnswer? {
        guard let type = head["content-type"]?.lowercased(),
            type.hasPrefix("image/") || archiveTypes.contains(where: type.hasPrefix)
        else {
            // A login page or an error text with status 200.
            return .failed(.unreadable("the image host did not answer with a picture"))
        }
        if let encoding = head["content-encoding"]?.lowercased(), encoding != "identity" { return .notTold }
        return nil
    }

    /// What the archives of animations come as; what they really hold is checked when they are downloaded.
    private static let archiveTypes = ["application/zip", "application/x-zip-compressed", "application/octet-stream"]

    private static func length(of head: HTTPHead) -> SizeAnswer {
        let lengths = Set(head.headers.filter { $0.name == "content-length" }.map(\.value))
        guard let told = lengths.first else { return .notTold }
        guard lengths.count == 1 else { return .failed(.unreadable("the image host told two lengths")) }
        return number(Substring(told)).map(SizeAnswer.size) ?? .notTold
    }

    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let value = Int64(text), (1...PictureLimits.largest).contains(value)
        else { return nil }
        return value
    }

    private static func failure(_ head: HTTPHead) -> SourceError {
        switch head.status {
        case 404, 410: .notFound
        // What the host asks for is heard and obeyed on the way here (`CoolDownTransport`).
        case 429: .limited(retryAfter: nil)
        case 500...599: .unreachable("the image host answered \(head.status)")
        default: .unreadable("the image host refused with status \(head.status)")
        }
    }
}

extension SourceError {
    /// What a failed transfer means for who asked.
    init(_ error: HTTPError) {
        switch error {
        case .unreachable(let reason), .broken(let reason), .untrusted(let reason): self = .unreachable(reason)
        case .timedOut: self = .timedOut
        case .invalidAnswer(let reason), .redirectRefused(let reason), .refused(let reason): self = .unreadable(reason)
        case .tooLarge: self = .unreadable("the answer is larger than it may be")
        case .limited(let seconds): self = .limited(retryAfter: seconds)
        case .offline: self = .offline
        case .cancelled: self = .cancelled
        }
    }
}
