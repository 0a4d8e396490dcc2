import HTTP

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
