import HTTP
import Synchronization

/// Which hosts cannot be asked at present, and why: names that do not exist, proxies that refuse, certificates that are wrong.
///
/// It hears of every request. The first failure of a host is told once, and so is that it answers again; what single requests fail
/// with is told to who asked for them.
///
/// ## Concurrency
///
/// Any thread may call; one mutex guards the table, and nothing foreign is called under it.
final class HostHealth: TransferObserver {
    /// What keeps a host from being asked.
    struct Trouble: Hashable, Sendable {
        /// Unix seconds of the first failure.
        var since: Int64
        /// A sentence with cause and remedy.
        var sentence: String
    }

    /// Said of a host.
    enum News: Hashable, Sendable {
        case trouble(String)
        case recovered(host: String)
    }

    /// Hosts of which trouble is remembered: the source has three, redirects may add some.
    private static let mostHosts = 16

    private let proxy: String?
    private let now: @Sendable () -> Int64
    private let tell: @Sendable (News) -> Void
    private let table = Mutex<[String: Trouble]>([:])

    /// - Parameters:
    ///   - proxy: Host and port of the proxy that requests go through; nil for none.
    ///   - now: Unix seconds.
    ///   - tell: Told when a host's trouble begins and when it is over.
    init(
        proxy: String?, now: @escaping @Sendable () -> Int64,
        tell: @escaping @Sendable (News) -> Void
    ) {
        self.proxy = proxy
        self.now = now
        self.tell = tell
    }

    /// The troubles of this moment, the oldest first.
    var troubles: [Trouble] {
        table.withLock { Array($0.values) }.sorted { ($0.since, $0.sentence) < ($1.since, $1.sentence) }
    }

    /// Host and port of a URL, without a user's name.
    private static func host(of url: String) -> String {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let authority = rest.prefix { !"/?#".contains($0) }
        return String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "")
    }

    func answered(_ request: HTTPRequest) {
        let host = Self.host(of: request.url)
        if table.withLock({ $0.removeValue(forKey: host) }) != nil { tell(.recovered(host: host)) }
    }

    func ended(_ request: HTTPRequest, _ outcome: TransferOutcome) {
        guard let error = outcome.failure else { return }
        let host = Self.host(of: request.url)
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
