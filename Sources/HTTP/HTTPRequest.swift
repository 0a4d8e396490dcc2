package import Rankings
import System
import Glibc
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
    /// Whether redirects are followed; not for a request that is signed for one address.
    package var followsRedirects = true
    /// The only family of addresses that may be connected to; nil for all addresses.
    package var family: AddressFamily?
    /// The extra time after the deadline for which a request may wait for its turn while nobody waits for it (`Urgency.current`).
    ///
    /// The request's own time begins with its turn. Only for requests to a service's interface.
    package var patience = Duration.zero
    /// The time for which a request may wait for its turn while somebody waits for it, if that is longer than its own time.
    ///
    /// The request's own time begins with its turn. Only for requests to a service's interface.
    package var turn = Duration.zero
    /// The longest pause of its host for which the request waits while it has a reader; nil for any that its deadline allows.
    package var longestPause: Duration?
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

    /// Whether the request's own time begins with its turn.
    var waitsForTurn: Bool { patience > .zero || turn > .zero }
}

/// The urgency of a transfer; of the transfers that wait for a slot, more urgent ones go first.
///
/// Transfers under way continue: the owner of bodies without a reader ends some of them when a reader comes.
package enum TransferPriority: Int, Comparable, Sendable, CaseIterable {
    /// No reader waits yet.
    case preload = 0
    /// A program waits that walks the tree, counts or previews.
    case walk = 1
    /// No reader waits, but the user sees the place to which the transfer belongs.
    case shown = 2
    /// A reader waits: a person or a program.
    case reader = 3

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

/// The requests sent for one purpose since the start, and their outcomes.
///
/// A request that is redirected or tried again is counted each time that it is sent, as in a server's log.
package struct RequestCounts: Hashable, Sendable {
    /// Requests sent, with the method HEAD, with GET, and with PUT or DELETE.
    package var head = 0
    package var get = 0
    package var write = 0
    /// Bytes of bodies received, as passed to the sinks.
    package var receivedBytes: Int64 = 0
    /// Answers: 2xx, 3xx, 429, other 4xx, 5xx.
    package var succeeded = 0
    package var redirected = 0
    package var limited = 0
    package var refused = 0
    package var serverFailed = 0
    /// Ends without a whole answer: no connection or no bytes in time, a broken connection, an invalid answer.
    package var unreachable = 0
    package var timedOut = 0
    package var broken = 0
    package var invalid = 0
    /// Transfers ended on this side, because the rest was not needed.
    package var cancelled = 0

    package init() {}

    /// Requests sent.
    package var sent: Int { head + get + write }

    mutating func answered(_ status: Int) {
        switch status {
        case ..<300: succeeded += 1
        case ..<400: redirected += 1
        case 429: limited += 1
        case ..<500: refused += 1
        default: serverFailed += 1
        }
    }

    mutating func failed(_ error: Failure) {
        switch error {
        case .unreachable, .untrusted, .offline: unreachable += 1
        case .timedOut: timedOut += 1
        case .broken: broken += 1
        case .invalidAnswer, .tooLarge, .redirectRefused, .unsendable: invalid += 1
        case .cancelled: cancelled += 1
        // Never sent, so not counted.
        default: break
        }
    }
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

extension HTTPRequest {
    /// Headers without information about the user, which may follow a redirect to another host.
    private static let harmless: Set<String> = ["accept", "accept-language", "user-agent"]

    /// Throws `.unsendable` for lines that would end a header early, and for invalid ranges.
    func check() throws(Failure) {
        for line in headers + (ifRange.map { ["If-Range: \($0)"] } ?? []) {
            guard line.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }), line.utf8.contains(0x3A) else {
                throw .unsendable("A header line of the request is malformed; control characters are not allowed.")
            }
        }
        guard range.map({ $0.first >= 0 && $0.last ?? .max >= $0.first }) ?? true else {
            throw .unsendable("The range of the request is empty or negative.")
        }
    }

    /// Returns the header lines that may be sent to another host after a redirect.
    static func headersForAnotherHost(_ lines: [String]) -> [String] {
        lines.filter { line in harmless.contains(line.prefix { $0 != ":" }.lowercased()) }
    }
}

// MARK: - Transport

/// A carrier of requests over the network.
///
/// ## Concurrency
///
/// Any thread may call. Sinks are called by one thread at a time for one request.
package protocol Transport: Sendable {
    /// The most requests under way to one host.
    var limits: HostLimits { get }

    /// Takes over a request and returns at once; the transfer is ended once, also after a cancellation.
    ///
    /// The sink receives `begun` when the request goes to the network, `head` at most once, then `body` any number of times, then
    /// `finish` exactly once.
    func begin(_ transfer: Transfer)
}

extension Transport {
    /// Makes a transfer of a request and begins it.
    package func start(_ request: HTTPRequest, sink: any ResponseSink) -> Transfer {
        let transfer = Transfer(request, sink: sink)
        begin(transfer)
        return transfer
    }
}

/// A request from its creation to its end, with the sink of the answer, the present priority, and the owner's cancellation.
///
/// The owner may change it at any time, also before the request begins; the transport that carries it is notified of each change.
/// The queue sends requests as transfers of its own, which pass answers on or withhold them.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the state; sink and carrier are called outside it, the former by one thread at a time.
package class Transfer: @unchecked Sendable {
    // `@unchecked` because a class with subclasses requires it; all stored properties here are immutable or safe by themselves.

    private struct State {
        var priority: TransferPriority
        var isCancelled = false
        var isWithdrawn = false
        var isEnded = false
        var carrier: (@Sendable (Transfer) -> Void)?
    }

    package final let request: HTTPRequest
    final let sink: any ResponseSink
    private let state: Mutex<State>

    package init(_ request: HTTPRequest, sink: any ResponseSink) {
        self.request = request
        self.sink = sink
        state = Mutex(State(priority: request.priority))
    }

    /// The present priority.
    package final var priority: TransferPriority { state.withLock { $0.priority } }

    /// Whether its owner has cancelled it.
    package final var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Whether its owner does not need it any more unless it has gone to the network.
    package final var isWithdrawn: Bool { state.withLock { $0.isWithdrawn } }

    /// Raises or lowers the priority.
    package final func setPriority(_ priority: TransferPriority) { change { $0.priority = priority } }

    /// Ends the transfer; the sink gets `finish(.failure(.cancelled))` unless it has finished before.
    package final func cancel() { change { $0.isCancelled = true } }

    /// Ends the transfer as `cancel` does if it waits for its turn; a transfer that has gone to the network goes on.
    package final func withdraw() { change { $0.isWithdrawn = true } }

    private func change(_ change: (inout State) -> Void) {
        let carrier = state.withLock { state in
            change(&state)
            return state.carrier
        }
        carrier?(self)
    }

    // MARK: - For transports

    /// Sets the carrier: `changed` is called after each change by the owner, and at once if a change came before.
    package final func carry(_ changed: @escaping @Sendable (Transfer) -> Void) {
        let isChanged = state.withLock { state in
            guard !state.isEnded else { return false }
            state.carrier = changed
            return state.isCancelled || state.isWithdrawn || state.priority != request.priority
        }
        if isChanged { changed(self) }
    }

    /// Reports that the request goes to the network.
    package final func begun() { sink.begun() }

    /// Passes the head of the answer to the sink.
    package func head(_ head: HTTPAnswer) -> Bool { sink.head(head) }

    /// Passes bytes of the body to the sink.
    package func body(_ bytes: UnsafeRawBufferPointer) -> Bool { unsafe sink.body(bytes) }

    /// Reports the end; a second call has no effect.
    package final func end(_ result: Result<Void, Failure>) {
        let isFirst = state.withLock { state in
            // The carrier may hold the transfer.
            state.carrier = nil
            defer { state.isEnded = true }
            return !state.isEnded
        }
        if isFirst { finish(result) }
    }

    /// Passes the end to the sink.
    func finish(_ result: Result<Void, Failure>) { sink.finish(result) }
}

/// A receiver for a body that is not kept in memory; called by one thread at a time.
package protocol BodyReceiver: AnyObject, Sendable {
    /// Reports that the request goes to the network and its time begins; called again if the request is sent another way.
    func begun()

    /// Takes the status line and headers of the final answer; false ends the request with `.cancelled`.
    ///
    /// One that gets only the body gets the heads of answers below 300.
    func head(_ head: HTTPAnswer) -> Bool

    /// Takes the next bytes of the body; false ends the request with `.cancelled`. Must not block, except on a local file.
    func body(_ bytes: UnsafeRawBufferPointer) -> Bool
}

/// The receiver of an answer.
package protocol ResponseSink: BodyReceiver {
    /// Takes the end: success only if the body has exactly the announced length.
    func finish(_ result: Result<Void, Failure>)
}

extension ResponseSink {
    package func begun() {}
}

/// An observer of requests for displays and logs, independent of their sinks.
///
/// ## Concurrency
///
/// Called on the transport's threads, before the sink is; must not block.
package protocol TransferObserver: Sendable {
    /// Reports the head of a final answer.
    func answered(_ request: HTTPRequest)

    /// Reports the end of a request that the transport had taken.
    func ended(_ request: HTTPRequest, _ outcome: TransferOutcome)
}

/// The outcome of a request.
package struct TransferOutcome: Sendable {
    /// The status of the answer; nil without an answer.
    package var status: Int?
    /// The received bytes of the body.
    package var bytes: Int64 = 0
    /// The time since the transport took the request.
    package var duration: Duration = .zero
    /// The error; nil for a success.
    package var failure: Failure?
}

/// The most requests under way to one host, by the slots that they occupy.
package struct HostLimits: Hashable, Sendable {
    /// The slots of bodies, each on a connection of its own.
    package let bodies: TransferSlots
    /// The most small answers on connections of their own.
    let connections: Int
    /// The most small answers as streams of shared connections.
    let streams: Int
    /// The most connections to one host that small answers share.
    static let sharedConnections = 2
    /// The most streams of one of them: fewer than any common server allows (RFC 9113, 6.5.2, recommends 100; nginx allows 128).
    ///
    /// If a server allows fewer, libcurl 7.88 opens another connection for each further stream (measured: 29 connections for 128
    /// streams at a limit of 100), and keeps using those.
    static let streamsOfOne = 100

    /// - Parameters:
    ///   - connections: The connections for bodies.
    ///   - smallAnswers: The small answers under way; nil for a sensible maximum.
    package init(connections: Int, smallAnswers: Int? = nil) {
        // More than any server allows one client; if descriptors are few, both classes together use a quarter of them.
        let most = max(1, min(256, Descriptors.own.usable / 8))
        bodies = TransferSlots(all: min(connections, most))
        self.connections = min(32, most, max(1, smallAnswers ?? .max))
        streams = smallAnswers == nil ? Self.sharedConnections * Self.streamsOfOne : self.connections
    }

    /// The most small answers at once from a host that shares connections, does not, or has not answered yet (nil).
    ///
    /// Before its first answer, a host with TLS gets the streams of one connection, as many as libcurl assumes until the server
    /// announces its own (DEFAULT_MAX_CONCURRENT_STREAMS); otherwise libcurl would open a connection for each further stream. The
    /// requests wait for one connection. If it cannot be shared, the bound on connections to one host holds
    /// (`CURLMOPT_MAX_HOST_CONNECTIONS`).
    func smallAnswers(multiplexed: Bool?, isSecure: Bool) -> Int {
        switch multiplexed {
        case true?: streams
        case nil where isSecure: min(Self.streamsOfOne, streams)
        default: connections
        }
    }
}

/// The slots for bodies of one host, each on a connection of its own; the owner of the bodies distributes them.
package struct TransferSlots: Hashable, Sendable {
    /// All slots, which requests with a reader may take.
    package let all: Int
    /// The slots that requests without a reader may take.
    package let ahead: Int

    /// Leaves a quarter of many slots, and one of few, to readers; a single slot is for all requests.
    package init(all: Int) {
        self.all = max(1, all)
        ahead = max(1, min(self.all - 1, max(Self.usefulAhead, self.all * 3 / 4)))
    }

    /// The connections that suffice to read ahead of a person at a viewer: at 4 MiB/s each, twenty pictures a second.
    private static let usefulAhead = 7
}

/// The network of a mount without network access: every request fails at once.
///
/// ## Concurrency
///
/// Any thread may call; sinks receive the end before `begin` returns.
package struct OfflineNetwork: Transport {
    package init() {}

    /// Without effect: no request is ever under way.
    package var limits: HostLimits { HostLimits(connections: 1) }

    package func begin(_ transfer: Transfer) { transfer.end(.failure(.offline)) }
}

// MARK: - Time

/// The monotonic clock of deadlines, replaceable in tests.
///
/// ## Concurrency
///
/// A value of sendable closures; any thread may call.
package struct TimeSource: Sendable {
    /// The present instant.
    package let now: @Sendable () -> ContinuousClock.Instant
    /// Waits for a duration; throws if the task is cancelled.
    package let sleep: @Sendable (Duration) async throws -> Void

    /// The machine's clock.
    package static let system = TimeSource(UptimeClock())

    /// Unix seconds (time(2)).
    package static let wallClock: @Sendable () -> Int64 = { Int64(time(nil)) }

    /// Makes a source from a clock with instants that are comparable with deadlines.
    package init<C: Clock>(_ clock: C) where C.Instant == ContinuousClock.Instant {
        now = { clock.now }
        sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
    }
}

extension Task where Failure == Never {
    /// Waits for the value of the task until a moment or the caller's cancellation; the task goes on.
    ///
    /// - Parameters:
    ///   - moment: The end of the wait.
    ///   - time: The clock of the moment.
    /// - Returns: The task's value; nil if it did not come in time.
    package func value(until moment: ContinuousClock.Instant, _ time: TimeSource) async -> Success? {
        let (values, end) = AsyncStream<Success>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let timer = Task<Void, Never> {
            try? await time.sleep(moment - time.now())
            end.finish()
        }
        // Not a child of the caller: a caller that has given up does not wait for it.
        _ = Task<Void, Never> {
            end.yield(await value)
            end.finish()
        }
        defer { timer.cancel() }
        var iterator = values.makeAsyncIterator()
        return await iterator.next()
    }
}
