import Rankings
import Synchronization

/// An HTTP request as a value.
package struct HTTPRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case put = "PUT"
        case delete = "DELETE"
    }

    package var method: Method
    package var url: String
    /// Complete header lines, `Name: value`; a line with CR or LF in it is refused.
    package var headers: [String]
    /// Inclusive byte range, as in `Range: bytes=first-last`; an open end is nil.
    package var range: (first: Int64, last: Int64?)?
    /// The validator for `If-Range:`, sent with `range`.
    package var ifRange: String?
    package var priority: TransferPriority
    package var transferClass: TransferClass
    /// The time by which the whole transfer must have ended.
    package var deadline: ContinuousClock.Instant
    /// The largest accepted body, in bytes; a larger body ends the transfer with `.tooLarge`.
    package var bodyLimit: Int64
    /// Whether the request accepts `Content-Encoding: gzip` (API answers); never for pictures.
    package var acceptsCompression: Bool
    /// The purpose under which the request is counted.
    package var purpose: RequestPurpose
    /// The final statuses: an answer with one of them is not requested again.
    package var finalStatuses: Set<Int> = []
    /// The content of a PUT.
    package var content: RequestContent?
    /// The signature that libcurl makes for an object store.
    package var signature: RequestSignature?
    /// Whether redirects are followed; not for a request that is signed for one address.
    package var followsRedirects = true
    /// The only family of addresses that may be connected to; nil for all addresses.
    package var family: AddressFamily?
    /// The extra time after the deadline for which a request without a reader may wait for its turn (`Urgency.current`).
    ///
    /// The request's own time begins with its turn. Only for requests to a service's interface.
    package var patience = Duration.zero
    /// Derives a verdict on the service's rate limit from an answer; nil for no verdict.
    ///
    /// An error comes with the first 64 KB of its body, another answer with the head alone. Only for requests to a service's
    /// interface.
    package var judge: (@Sendable (HTTPResponse) -> AnswerVerdict)?

    package init(
        method: Method = .get, url: String, headers: [String] = [], range: (first: Int64, last: Int64?)? = nil,
        ifRange: String? = nil, priority: TransferPriority = .reader, transferClass: TransferClass,
        deadline: ContinuousClock.Instant, bodyLimit: Int64, acceptsCompression: Bool = false,
        purpose: RequestPurpose = .picture
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.range = range
        self.ifRange = ifRange
        self.priority = priority
        self.transferClass = transferClass
        self.deadline = deadline
        self.bodyLimit = bodyLimit
        self.acceptsCompression = acceptsCompression
        self.purpose = purpose
    }
}

/// The urgency of a transfer; of the transfers that wait for a slot, more urgent ones go first.
///
/// Transfers under way continue: the owner of bodies without a reader ends some of them when a reader comes.
package enum TransferPriority: Int, Comparable, Sendable, CaseIterable {
    /// No reader waits yet.
    case preload = 0
    /// No reader waits, but the user sees the place to which the transfer belongs.
    case shown = 1
    /// A reader waits: a person or a program.
    case reader = 2

    /// The rank among waiting transfers; 0 is the first.
    package var rank: Int { Self.reader.rawValue - rawValue }

    package static func < (left: TransferPriority, right: TransferPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The connections that a request may occupy: bodies need connections of their own, small answers share one.
package enum TransferClass: Sendable {
    /// API answers, HEADs and small previews: one multiplexed connection where the server offers HTTP/2.
    case metadata
    /// Pictures: at most `HostLimits.bodies` at once to one host, HTTP/1.1, kept alive.
    case bulk
}

/// The purpose of a request, by which displays and metrics distinguish requests.
package enum RequestPurpose: String, Sendable, CaseIterable {
    /// A query to the service: listings, works, authors.
    case api
    /// The length of a picture.
    case size
    /// A picture, or a part of it.
    case picture
    /// A small preview for a thumbnail.
    case preview
    /// A connection, made before it is needed; the answer is ignored.
    case connection
    /// A transfer to or from the shared tier.
    case tier
}

/// The content of a request: a fixed number of bytes, read during the transfer.
///
/// ## Concurrency
///
/// `read` is called on the transport's thread, in order, except that a request that is sent again starts from the beginning.
@safe package struct RequestContent: Sendable {
    /// The length in bytes.
    package let length: Int64
    /// Copies the bytes at an offset into a buffer and returns their count: 0 at the end, nil if they cannot be read.
    package let read: @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?

    package init(
        length: Int64, read: @escaping @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?
    ) {
        self.length = length
        unsafe self.read = unsafe read
    }

    /// Makes content of bytes in memory.
    package init(_ bytes: [UInt8]) {
        unsafe self.init(length: Int64(bytes.count)) { offset, buffer in
            guard let start = Int(exactly: offset), start <= bytes.count else { return nil }
            let count = min(buffer.count, bytes.count - start)
            unsafe buffer.copyBytes(from: bytes[start..<start + count])
            return count
        }
    }
}

/// The signature that libcurl makes for an object store (CURLOPT_AWS_SIGV4(3)).
///
/// The printed form contains no secret.
package struct RequestSignature: Sendable, CustomStringConvertible, CustomReflectable {
    /// `aws:amz:REGION:s3`.
    let scope: String
    let keyID: String
    let secret: String

    /// - Parameters:
    ///   - region: The store's name of its region.
    ///   - keyID: The identifier of the key; it is sent.
    ///   - secret: The secret of the key, which never leaves the process.
    package init(region: String, keyID: String, secret: String) {
        scope = "aws:amz:\(region):s3"
        self.keyID = keyID
        self.secret = secret
    }

    package var description: String { "a signature" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The conditions that a request must meet before any work is done for it.
enum RequestRule {
    /// Headers without information about the user, which may follow a redirect to another host.
    private static let harmless: Set<String> = ["accept", "accept-language", "user-agent"]

    /// Throws `.unsendable` for lines that would end a header early, and for invalid ranges.
    static func check(_ request: HTTPRequest) throws(Failure) {
        for line in request.headers + (request.ifRange.map { ["If-Range: \($0)"] } ?? []) {
            guard line.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }), line.utf8.contains(0x3A) else {
                throw .unsendable("A header line of the request is malformed; control characters are not allowed.")
            }
        }
        if let range = request.range {
            guard range.first >= 0, range.last.map({ $0 >= range.first }) ?? true else {
                throw .unsendable("The range of the request is empty or negative.")
            }
        }
    }

    /// Returns the header lines that may be sent to another host after a redirect.
    static func headersForAnotherHost(_ lines: [String]) -> [String] {
        lines.filter { line in
            harmless.contains(line.prefix { $0 != ":" }.lowercased())
        }
    }
}

// MARK: - Urgency

/// The urgency of work that began without a reader; it becomes a reader's priority when a reader comes.
///
/// ## Concurrency
///
/// Any thread may call any method at any time. Followers are called outside the lock.
package final class Urgency: Sendable {
    private struct State {
        var priority = TransferPriority.preload
        var isWithdrawn = false
        var lastFollower = 0
        var followers: [Int: (hurry: @Sendable () -> Void, withdraw: @Sendable () -> Void)] = [:]
    }

    /// The urgency of requests that the present task makes without a reader; nil where no reader can come.
    @TaskLocal package static var current: Urgency?

    private let state = Mutex(State())

    package init() {}

    /// The priority of the next try.
    package var priority: TransferPriority { state.withLock { $0.priority } }

    /// Whether the work was withdrawn before a reader came.
    package var isWithdrawn: Bool { state.withLock { $0.isWithdrawn } }

    /// Records that a reader waits, and calls all followers.
    package func raise() {
        let followers = state.withLock { state in
            state.priority = .reader
            defer { state.followers = [:] }
            return state.followers.values
        }
        for follower in followers { follower.hurry() }
    }

    /// Gives the work up as far as it has not gone to the network; has no effect once a reader waits.
    package func withdraw() {
        let followers = state.withLock { state in
            state.isWithdrawn = state.isWithdrawn || state.priority != .reader
            return state.priority == .reader ? [] : Array(state.followers.values)
        }
        for follower in followers { follower.withdraw() }
    }

    /// Runs a body; calls `hurry` when a reader comes and `withdraw` when the work is withdrawn, at once if that is so already.
    package func whileFollowed<Value: Sendable>(
        by hurry: @escaping @Sendable () -> Void, withdraw: @escaping @Sendable () -> Void = {},
        _ body: @Sendable () async -> Value
    ) async -> Value {
        let (follower, isWithdrawn) = state.withLock { state -> (Int?, Bool) in
            guard state.priority != .reader else { return (nil, false) }
            state.lastFollower += 1
            state.followers[state.lastFollower] = (hurry, withdraw)
            return (state.lastFollower, state.isWithdrawn)
        }
        guard let follower else {
            hurry()
            return await body()
        }
        if isWithdrawn { withdraw() }
        defer { state.withLock { _ = $0.followers.removeValue(forKey: follower) } }
        return await body()
    }
}
