import HTTP
import Synchronization

/// Writes a debug line for each request that has ended; while debug lines are off, requests pass through untouched.
final class LoggedTransport: Transport {
    private let transport: any Transport
    private let isOn: @Sendable () -> Bool
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - transport: What sends the requests.
    ///   - isOn: Whether lines are wanted, asked when a request begins.
    ///   - write: Told each line.
    init(
        _ transport: any Transport, isOn: @escaping @Sendable () -> Bool, write: @escaping @Sendable (String) -> Void
    ) {
        self.transport = transport
        self.isOn = isOn
        self.write = write
    }

    convenience init(_ transport: any Transport, log: Log) {
        self.init(transport, isOn: { log.isDebug }, write: { line in log.debug(line) })
    }

    var slots: TransferSlots { transport.slots }

    func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        guard isOn() else { return transport.start(request, sink: sink) }
        return transport.start(request, sink: Listener(request, sink: sink, write: write))
    }

    /// `picture GET images.example/…/1_p0.jpg: 200, 345.2K in 120 ms`, or what it failed with.
    static func line(
        _ request: HTTPRequest, status: Int?, bytes: Int64, milliseconds: Int64, failure: HTTPError?
    ) -> String {
        var parts: [String] = []
        if let status { parts.append("\(status)") }
        if let failure { parts.append(text(of: failure)) }
        return "\(request.purpose.rawValue) \(request.method.rawValue) \(shown(request.url)): "
            + "\(parts.joined(separator: ", ")), \(bytes) B in \(milliseconds) ms"
    }

    /// Parameters of requests that tell what was asked for and are nobody's secret.
    private static let parameters: Set<String> = ["mode", "content", "date", "p", "offset", "limit"]

    /// An address without its scheme, a user's name, and whatever else could be secret in a query.
    static func shown(_ url: String) -> String {
        let whole = url.prefix { $0 != "#" }
        let rest = whole.firstRange(of: "://").map { whole[$0.upperBound...] } ?? whole
        let path = rest.prefix { $0 != "?" }
        let query = rest.dropFirst(path.count + 1)
        let authority = path.prefix { $0 != "/" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let kept = query.split(separator: "&").filter { parameters.contains(String($0.prefix { $0 != "=" })) }
        return host + path.dropFirst(authority.count) + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
    }

    private static func text(of error: HTTPError) -> String {
        switch error {
        case .unreachable(let reason): "unreachable (\(reason))"
        case .timedOut: "timed out"
        case .broken(let reason): "broken (\(reason))"
        case .invalidAnswer(let reason): "no valid answer (\(reason))"
        case .tooLarge: "larger than it may be"
        case .redirectRefused(let reason): "redirect refused (\(reason))"
        case .untrusted(let reason): "untrusted (\(reason))"
        case .refused(let reason): "refused (\(reason))"
        case .limited(let seconds): "not sent, the host asked for a pause of \(seconds) s"
        case .offline: "offline"
        case .cancelled: "not wanted any more"
        }
    }
}

/// Passes an answer on, and tells its end.
///
/// ## Concurrency
///
/// Called on the transport's thread, one call at a time; the mutex makes that visible to the compiler, and nothing foreign is
/// called under it.
private final class Listener: ResponseSink {
    private let request: HTTPRequest
    private let sink: any ResponseSink
    private let write: @Sendable (String) -> Void
    private let begun = MonotonicClock.now
    private let seen = Mutex<(status: Int?, bytes: Int64)>((nil, 0))

    init(_ request: HTTPRequest, sink: any ResponseSink, write: @escaping @Sendable (String) -> Void) {
        self.request = request
        self.sink = sink
        self.write = write
    }

    func head(_ head: HTTPHead) -> Bool {
        seen.withLock { $0.status = head.status }
        return sink.head(head)
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = Int64(bytes.count)
        seen.withLock { $0.bytes += count }
        return unsafe sink.body(bytes)
    }

    func finish(_ result: Result<Void, HTTPError>) {
        let seen = seen.withLock { $0 }
        let time = (MonotonicClock.now - begun) / .milliseconds(1)
        let failure: HTTPError? = if case .failure(let error) = result { error } else { nil }
        write(
            LoggedTransport.line(
                request, status: seen.status, bytes: seen.bytes, milliseconds: Int64(time), failure: failure))
        sink.finish(result)
    }
}
