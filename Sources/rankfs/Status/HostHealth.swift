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

// MARK: - Transfer log

/// What hears of the requests of a mount: the log, and who keeps the table of hosts in trouble.
struct RequestObservers: TransferObserver {
    let health: HostHealth
    let log: TransferLog

    func answered(_ request: HTTPRequest) { health.answered(request) }

    func ended(_ request: HTTPRequest, _ outcome: TransferOutcome) {
        log.ended(request, outcome)
        health.ended(request, outcome)
    }
}

/// Writes a debug line for each request that has ended, while debug lines are on.
struct TransferLog: TransferObserver {
    private let isOn: @Sendable () -> Bool
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - isOn: Whether lines are wanted, asked when a request ends.
    ///   - write: Told each line.
    init(isOn: @escaping @Sendable () -> Bool, write: @escaping @Sendable (String) -> Void) {
        self.isOn = isOn
        self.write = write
    }

    init(_ log: Log) {
        self.init(isOn: { log.isDebug }, write: { line in log.debug(line) })
    }

    func answered(_ request: HTTPRequest) {}

    func ended(_ request: HTTPRequest, _ outcome: TransferOutcome) {
        guard isOn() else { return }
        write(Self.line(request, outcome))
    }

    /// `picture GET images.example/…/1_p0.jpg: 200, 345.2K in 120 ms`, or what it failed with.
    static func line(_ request: HTTPRequest, _ outcome: TransferOutcome) -> String {
        var parts: [String] = []
        if let status = outcome.status { parts.append("\(status)") }
        if let failure = outcome.failure { parts.append(text(of: failure)) }
        let milliseconds = Int64(outcome.duration / .milliseconds(1))
        return "\(request.purpose.rawValue) \(request.method.rawValue) \(shown(request.url)): "
            + "\(parts.joined(separator: ", ")), \(outcome.bytes) B in \(milliseconds) ms"
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
        case .turnedAway(let reason), .exhausted(let reason): "not sent (\(reason))"
        case .offline: "offline"
        case .cancelled: "not wanted any more"
        }
    }
}
