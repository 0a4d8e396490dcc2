import Rankings
import HTTP
import Synchronization

/// The hosts that cannot be reached at present, with the reason: unknown names, proxies that refuse, wrong certificates.
///
/// It observes every request. It reports the first failure of a host and its recovery; errors of single requests go to their
/// callers.
///
/// ## Concurrency
///
/// Any thread may call; one mutex guards the table, and no closure is called while it is held.
final class HostHealth: TransferObserver {
    /// The reason why a host cannot be reached.
    struct Trouble: Hashable, Sendable {
        /// Unix seconds of the first failure.
        var since: Int64
        /// A sentence with cause and remedy.
        var sentence: String
    }

    /// A change of a host's state.
    enum News: Hashable, Sendable {
        case trouble(String)
        case recovered(host: String)
    }

    /// Hosts with remembered trouble at most: the source has three, redirects may add some.
    private static let mostHosts = 16

    private let proxy: String?
    private let now: @Sendable () -> Int64
    private let trace: @Sendable (HTTPRequest, TransferOutcome) -> Void
    private let tell: @Sendable (News) -> Void
    private let table = Mutex<[String: Trouble]>([:])

    /// - Parameters:
    ///   - proxy: Host and port of the proxy that requests go through; nil for none.
    ///   - now: Returns the time in Unix seconds.
    ///   - trace: Called with each request that has ended, for the log.
    ///   - tell: Called when a host's trouble begins and when it is over.
    init(
        proxy: String?, now: @escaping @Sendable () -> Int64,
        trace: @escaping @Sendable (HTTPRequest, TransferOutcome) -> Void = { _, _ in },
        tell: @escaping @Sendable (News) -> Void
    ) {
        self.proxy = proxy
        self.now = now
        self.trace = trace
        self.tell = tell
    }

    /// The present troubles, the oldest first.
    var troubles: [Trouble] {
        table.withLock { Array($0.values) }.sorted { ($0.since, $0.sentence) < ($1.since, $1.sentence) }
    }

    func answered(_ request: HTTPRequest) {
        let host = RequestQueue.host(of: request.url)
        if table.withLock({ $0.removeValue(forKey: host) }) != nil { tell(.recovered(host: host)) }
    }

    func ended(_ request: HTTPRequest, _ outcome: TransferOutcome) {
        trace(request, outcome)
        guard let error = outcome.failure else { return }
        let host = RequestQueue.host(of: request.url)
        let sentence: String
        switch error {
        case .untrusted(let reason): sentence = reason
        case .unreachable(let reason):
            let isProxyNamed = proxy == nil || reason.contains("proxy")
            sentence = reason + (isProxyNamed ? "" : " Requests go through the proxy \(proxy ?? "").")
        default: return
        }
        let now = now()
        let isNew = table.withLock { table in
            guard table[host] != nil || table.count < Self.mostHosts else { return false }
            defer { table[host] = Trouble(since: table[host]?.since ?? now, sentence: sentence) }
            return table[host] == nil
        }
        if isNew { tell(.trouble(sentence)) }
    }
}

// MARK: - Transfer log

extension Log {
    /// The debug line of a request that has ended: `picture GET images.example/…/1_p0.jpg: 200, 345.2K in 120 ms`, or the error in place of the status.
    static func line(of request: HTTPRequest, _ outcome: TransferOutcome) -> String {
        var parts: [String] = []
        if let status = outcome.status { parts.append("\(status)") }
        if let failure = outcome.failure { parts.append(text(of: failure)) }
        let milliseconds = Int64(outcome.duration / .milliseconds(1))
        return "\(request.purpose.rawValue) \(request.method.rawValue) \(shown(request.url)): "
            + "\(parts.joined(separator: ", ")), \(outcome.bytes) B in \(milliseconds) ms"
    }

    /// Query parameters that describe the request and are not secret.
    private static let parameters: Set<String> = ["mode", "content", "date", "p", "offset", "limit"]

    /// An address without its scheme, a user's name, and every part of the query that could be secret.
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

    private static func text(of error: Failure) -> String {
        switch error {
        case .unreachable(let reason): "unreachable (\(reason))"
        case .timedOut: "timed out"
        case .broken(let reason): "broken (\(reason))"
        case .invalidAnswer(let reason): "no valid answer (\(reason))"
        case .tooLarge: "larger than it may be"
        case .redirectRefused(let reason): "redirect refused (\(reason))"
        case .untrusted(let reason): "untrusted (\(reason))"
        case .unsendable(let reason): "refused (\(reason))"
        case .limited(let seconds): "not sent, the host asked for a pause of \(seconds ?? 0) s"
        case .offline: "offline"
        case .cancelled: "not wanted any more"
        default: "not sent (\(error.cause))"
        }
    }
}
