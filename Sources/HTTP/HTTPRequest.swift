import Synchronization

/// A request as a value.
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
    /// `If-Range:` validator that goes with `range`.
    package var ifRange: String?
    package var priority: TransferPriority
    package var transferClass: TransferClass
    /// When the whole transfer must have ended.
    package var deadline: ContinuousClock.Instant
    /// The largest body taken, in bytes; more ends the transfer with `.tooLarge`.
    package var bodyLimit: Int64
    /// Whether `Content-Encoding: gzip` may be asked for (API answers); pictures never.
    package var acceptsCompression: Bool
    /// What it is counted as.
    package var purpose: RequestPurpose
    /// Statuses that mean what they say: an answer with one of them is not asked for again.
    package var finalStatuses: Set<Int> = []
    /// What a PUT sends.
    package var content: RequestContent?
    /// Has libcurl sign the request for an object store.
    package var signature: RequestSignature?
    /// Whether an answer that names another address is asked there: not what is signed for one.
    package var followsRedirects = true
    /// The only addresses that may be connected to; nil for all.
    package var family: AddressFamily?

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

/// Who waits for a transfer; of those that wait for a slot, more urgent ones go first.
///
/// What is under way stays so: who asks for bodies that nobody waits for ends some of them when a reader comes.
package enum TransferPriority: Int, Comparable, Sendable, CaseIterable {
    /// Nobody waits yet.
    case preload = 0
    /// Nobody waits, but a person has the place where it belongs before them.
    case shown = 1
    /// A person or program waits.
    case reader = 2

    /// Its place in a line of those that wait: the first one is 0.
    package var rank: Int { Self.reader.rawValue - rawValue }

    package static func < (left: TransferPriority, right: TransferPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// What a request may occupy: bodies want connections of their own, small answers share one.
package enum TransferClass: Sendable {
    /// API answers, HEADs and small previews: one multiplexed connection where the server offers HTTP/2.
    case metadata
    /// Pictures: at most `HostLimits.bodies` at once to one host, HTTP/1.1, kept alive.
    case bulk
}

/// What a request is for, as displays and metrics tell requests apart.
package enum RequestPurpose: String, Sendable, CaseIterable {
    /// A question to the service: listings, works, authors.
    case api
    /// How long a picture is.
    case size
    /// A picture, or a part of one.
    case picture
    /// A small preview for a thumbnail.
    case preview
    /// Nothing but a connection, made before it is needed; whatever the answer says.
    case connection
    /// What goes to the shared tier and comes from there.
    case tier
}

/// The two families of addresses by which a host may be reached: what turns one away may let the other in.
package enum AddressFamily: Hashable, Sendable {
    case ipv4, ipv6

    /// The one of a numeric address.
    init(of address: String) { self = address.contains(":") ? .ipv6 : .ipv4 }

    var other: AddressFamily { self == .ipv4 ? .ipv6 : .ipv4 }
}

/// What a request sends: so many bytes, read as they go.
///
/// ## Concurrency
///
/// `read` is called on the transport's thread, in order but for a request that is sent again, which begins anew.
@safe package struct RequestContent: Sendable {
    /// Bytes in all.
    package let length: Int64
    /// Copies what lies at an offset into a buffer; the count copied, 0 at the end, or nil if it cannot be read.
    package let read: @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?

    package init(
        length: Int64, read: @escaping @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?
    ) {
        self.length = length
        unsafe self.read = unsafe read
    }

    /// Bytes that are in memory.
    package init(_ bytes: [UInt8]) {
        unsafe self.init(length: Int64(bytes.count)) { offset, buffer in
            guard let start = Int(exactly: offset), start <= bytes.count else { return nil }
            let count = min(buffer.count, bytes.count - start)
            unsafe buffer.copyBytes(from: bytes[start..<start + count])
            return count
        }
    }
}

/// How libcurl signs a request for an object store (CURLOPT_AWS_SIGV4(3)).
///
/// What it prints as tells no secret.
package struct RequestSignature: Sendable, CustomStringConvertible, CustomReflectable {
    /// `aws:amz:REGION:s3`.
    let scope: String
    let keyID: String
    let secret: String

    /// - Parameters:
    ///   - region: The region of the store, as it calls itself.
    ///   - keyID: Names the key; it is sent.
    ///   - secret: Never leaves the process.
    package init(region: String, keyID: String, secret: String) {
        scope = "aws:amz:\(region):s3"
        self.keyID = keyID
        self.secret = secret
    }

    package var description: String { "a signature" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a transfer failed.
///
/// Texts hold no credentials and no raw bytes from outside.
package enum HTTPError: Error, Hashable, Sendable {
    /// No name, no route, refused, reset before an answer.
    case unreachable(String)
    /// The deadline passed or the transfer crawled.
    case timedOut
    /// The connection ended in the middle of the answer.
    case broken(String)
    /// The answer contradicts itself: two lengths, a negative one, garbage in place of a status line, an unasked encoding.
    case invalidAnswer(String)
    /// The body is larger than allowed.
    case tooLarge
    /// A redirect loop, or one to a host, scheme or address that is not allowed.
    case redirectRefused(String)
    /// The certificate or the TLS handshake is bad.
    case untrusted(String)
    /// The request itself is wrong: a URL that does not parse or names a host that is not allowed.
    case refused(String)
    /// The host asked to be left alone for so many more seconds, and the request was not sent.
    case limited(retryAfter: Int64)
    /// What stands in front of the host turns programs away: why it is not asked and what helps, as a sentence.
    case turnedAway(String)
    /// There are too many open files for another connection: why and what helps, as a sentence.
    case exhausted(String)
    /// Requests are switched off.
    case offline
    case cancelled
}

/// What a request itself must fulfil before anything is done for it.
enum RequestRule {
    /// Headers that say nothing of the user and may follow a redirect to another host.
    private static let harmless: Set<String> = ["accept", "accept-language", "user-agent"]

    /// Throws `.refused` for lines that would end a header early, and for ranges that are none.
    static func check(_ request: HTTPRequest) throws(HTTPError) {
        for line in request.headers + (request.ifRange.map { ["If-Range: \($0)"] } ?? []) {
            guard line.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }), line.utf8.contains(0x3A) else {
                throw .refused("A header line of the request is malformed; control characters are not allowed.")
            }
        }
        if let range = request.range {
            guard range.first >= 0, range.last.map({ $0 >= range.first }) ?? true else {
                throw .refused("The range of the request is empty or negative.")
            }
        }
    }

    /// The lines that may go to another host than the one they were meant for.
    static func headersForAnotherHost(_ lines: [String]) -> [String] {
        lines.filter { line in
            harmless.contains(line.prefix { $0 != ":" }.lowercased())
        }
    }
}

// MARK: - Urgency

/// Whether somebody waits for what was asked for nobody yet: a reader's priority from then on.
///
/// ## Concurrency
///
/// Any thread may call any method at any time. Followers are called outside the lock.
package final class Urgency: Sendable {
    private struct State {
        var priority = TransferPriority.preload
        var lastFollower = 0
        var followers: [Int: @Sendable () -> Void] = [:]
    }

    /// That of what the present task asks for on nobody's behalf; nil where nobody can come to wait for it.
    @TaskLocal package static var current: Urgency?

    private let state = Mutex(State())

    package init() {}

    /// What the next try is sent with.
    package var priority: TransferPriority { state.withLock { $0.priority } }

    /// Somebody waits.
    package func raise() {
        let followers = state.withLock { state in
            state.priority = .reader
            defer { state.followers = [:] }
            return state.followers.values
        }
        for hurry in followers { hurry() }
    }

    /// Does something meanwhile, and calls `hurry` when somebody waits: at once if somebody does already.
    package func whileFollowed<Value: Sendable>(
        by hurry: @escaping @Sendable () -> Void, _ body: @Sendable () async -> Value
    ) async -> Value {
        let follower = state.withLock { state -> Int? in
            guard state.priority != .reader else { return nil }
            state.lastFollower += 1
            state.followers[state.lastFollower] = hurry
            return state.lastFollower
        }
        guard let follower else {
            hurry()
            return await body()
        }
        defer { state.withLock { _ = $0.followers.removeValue(forKey: follower) } }
        return await body()
    }

    /// Waits for something until somebody waits for this: then it is cancelled, and throws that unless it is over.
    package func untilRaised<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(HTTPError) -> Value
    ) async throws(HTTPError) -> Value {
        let task = Task { () async -> Result<Value, HTTPError> in
            do throws(HTTPError) { return .success(try await body()) } catch { return .failure(error) }
        }
        return try await whileFollowed(by: { task.cancel() }) {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }.get()
    }
}
