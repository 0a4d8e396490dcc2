import Rankings
import HTTP
import Synchronization
import System

/// The hosts that cannot be reached at present, with the reason: unknown names, proxies that refuse, wrong certificates.
///
/// It observes every request. It reports the first failure of a host and its recovery; errors of single requests go to their
/// callers.
///
/// ## Concurrency
///
/// Any thread may call; one mutex guards the table, and no closure is called while it is held.
final class HostHealth: TransferObserver {
    /// The reason why a host cannot be reached: Unix seconds of the first failure, and a sentence with cause and remedy.
    typealias Trouble = (since: Int64, sentence: String)

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
        table.withLock { Array($0.values) }.sorted { $0 < $1 }
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
            defer { table[host] = (table[host]?.since ?? now, sentence) }
            return table[host] == nil
        }
        if isNew { tell(.trouble(sentence)) }
    }
}
