import HTTP
import Synchronization

/// Which hosts cannot be asked at present, and why: names that do not exist, proxies that refuse, certificates that are wrong.
///
/// Every request passes by. The first failure of a host is told once, and so is that it answers again; what single requests fail
/// with is told to who asked for them.
///
/// ## Concurrency
///
/// Any thread may call; one mutex guards the table, and nothing foreign is called under it.
final class HostHealth: Transport {
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

    private let transport: any Transport
    private let proxy: String?
    private let now: @Sendable () -> Int64
    private let tell: @Sendable (News) -> Void
    private let table = Mutex<[String: Trouble]>([:])

    /// - Parameters:
    ///   - transport: What sends the requests.
    ///   - proxy: Host and port of the proxy that requests go through; nil for none.
    ///   - now: Unix seconds.
    ///   - tell: Told when a host's trouble begins and when it is over.
    init(
        _ transport: any Transport, proxy: String?, now: @escaping @Sendable () -> Int64,
        tell: @escaping @Sendable (News) -> Void
    ) {
        self.transport = transport
        self.proxy = proxy
        self.now = now
        self.tell = tell
    }

    /// The troubles of this moment, the oldest first.
    var troubles: [Trouble] {
        table.withLock { Array($0.values) }.sorted { ($0.since, $0.sentence) < ($1.since, $1.sentence) }
    }

    var slots: TransferSlots { transport.slots }

    func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        transport.start(request, sink: Listener(Self.host(of: request.url), sink: sink, health: self))
    }

    /// Host and port of a URL, without a user's name.
    private static func host(of url: String) -> String {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let authority = rest.prefix { !"/?#".contains($0) }
        return String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "")
    }

    fileprivate func answered(_ host: String) {
        if table.withLock({ $0.removeValue(forKey: host) }) != nil { tell(.recovered(host: host)) }
    }

    fileprivate func failed(_ host: String, _ error: HTTPError) {
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

/// Passes an answer on, and notes whether the host gave one.
///
/// ## Concurrency
///
/// Called on the transport's thread, one call at a time.
private final class Listener: ResponseSink {
    private let host: String
    private let sink: any ResponseSink
    private let health: HostHealth

    init(_ host: String, sink: any ResponseSink, health: HostHealth) {
        self.host = host
        self.sink = sink
        self.health = health
    }

    func head(_ head: HTTPHead) -> Bool {
        health.answered(host)
        return sink.head(head)
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool { unsafe sink.body(bytes) }

    func finish(_ result: Result<Void, HTTPError>) {
        if case .failure(let error) = result { health.failed(host, error) }
        sink.finish(result)
    }
}
