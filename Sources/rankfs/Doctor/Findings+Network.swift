/// What rankfs asks over the network.
extension Finding {
    /// What one request to a host came to.
    enum HostLook: Hashable, Sendable {
        /// Its name is not known here.
        case unresolved
        /// No connection: why, as a clause.
        case unreachable(String)
        case timedOut
        case untrusted(String)
        /// An answer that is not HTTP, or a refusal of rankfs's own rules: why, as a clause.
        case nonsense(String)
        /// Any answer; how far the clock here is ahead of its date, in seconds.
        case answered(status: Int, ahead: Int64?)
        /// Something in front of it turns programs away: a sentence without its stop.
        case turnedAway(String)

        /// What fits between brackets of a reason that is a sentence: without the host, which is named already, and without a stop.
        static func clause(_ reason: String, of host: String) -> String {
            let prefix = host + ": "
            let rest = reason.hasPrefix(prefix) ? reason.dropFirst(prefix.count) : reason[...]
            return String(rest.hasSuffix(".") ? rest.dropLast() : rest)
        }

        /// Whether that is what it looks like without a network.
        fileprivate var isSilence: Bool {
            switch self {
            case .unresolved, .unreachable, .timedOut: true
            case .untrusted, .nonsense, .answered, .turnedAway: false
            }
        }
    }

    /// A host and what its request came to.
    struct Asked: Hashable, Sendable {
        var host: String
        var look: HostLook
    }

    /// Days appear at a moment: a clock that is wrong by more seconds than this shows a wrong newest day for a while.
    static let clockTolerance: Int64 = 300

    /// The findings on both hosts; without a network that is one.
    static func network(api: Asked, image: Asked) -> [Finding] {
        guard api.look.isSilence, image.look.isSilence else {
            return [host("API host", api, isAPI: true), host("image host", image, isAPI: false)] + clock(api, image)
        }
        let hosts = api.host == image.host ? "\(api.host) cannot" : "neither \(api.host) nor \(image.host) can"
        let why =
            switch (api.look, image.look) {
            case (.unresolved, .unresolved):
                "no name can be resolved; check the network, the name server and the option proxy."
            case (.unreachable(let reason), _), (_, .unreachable(let reason)): sentence(reason)
            default: "nothing answers in time; check the network, the name server and the option proxy."
            }
        return [.wrong("network", "\(hosts) be reached: \(why) What is stored works meanwhile.")]
    }

    /// A clause with its remedy, as the end of a sentence.
    private static func sentence(_ clause: String) -> String {
        LogText.escaped(clause, limit: LogText.longestLine) + (clause.hasSuffix("?") ? "" : ".")
    }

    private static func host(_ subject: String, _ asked: Asked, isAPI: Bool) -> Finding {
        let host = asked.host
        switch asked.look {
        case .unresolved: return .wrong(subject, "the name \(host) cannot be resolved: check the name server.")
        case .unreachable(let reason):
            return .wrong(
                subject, "\(host) cannot be reached: \(sentence(reason))")
        case .timedOut:
            return .wrong(subject, "\(host) does not answer in time: check the network and firewalls, or set proxy.")
        case .untrusted(let reason):
            return .wrong(
                subject,
                "\(host) does not prove who it is: \(sentence(reason))")
        case .nonsense(let reason):
            return .wrong(
                subject,
                "\(host) does not answer as it should (\(LogText.escaped(reason))): does the network want a sign-in first?"
            )
        case .turnedAway(let reason): return .wrong(subject, sentence(reason))
        case .answered(let status, _): return answer(subject, host, status: status, isAPI: isAPI)
        }
    }

    private static func answer(_ subject: String, _ host: String, status: Int, isAPI: Bool) -> Finding {
        switch status {
        case 407: .wrong(subject, "the proxy wants a password (status 407): put it into the configuration file.")
        case 429: .wrong(subject, "\(host) asks to be left alone (status 429): wait, and leave `rate` as it is.")
        case 500...: .wrong(subject, "\(host) is in trouble (status \(status)): try again later.")
        case 200..<300: .ok(subject, "\(host) answers.")
        // Nobody is shown the image host's root.
        case _ where !isAPI: .ok(subject, "\(host) answers.")
        case 403:
            .wrong(subject, "\(host) refuses this address (status 403): wait an hour, or ask over another network.")
        default:
            .wrong(
                subject,
                "\(host) answers with status \(status) where a ranking was asked for: check api_url, or look for a newer "
                    + "rankfs.")
        }
    }

    private static func clock(_ asked: Asked...) -> [Finding] {
        let offsets = asked.compactMap { asked -> Int64? in
            if case .answered(_, let ahead) = asked.look { ahead } else { nil }
        }
        guard let ahead = offsets.first else { return [] }
        guard abs(ahead) > clockTolerance else { return [.ok("clock", "it agrees with the service's.")] }
        return [
            .wrong(
                "clock",
                "it is \(StatusCommand.duration(abs(ahead))) \(ahead > 0 ? "fast" : "slow"), so that the newest day is "
                    + "wrong: set it, for example with `timedatectl set-ntp true`.")
        ]
    }

    // MARK: - Around it

    /// - Parameters:
    ///   - option: Host and port of the proxy that the option names.
    ///   - variables: Variables of the environment that name a proxy for other programs.
    /// - Returns: Nil without any proxy.
    static func proxy(option: String?, variables: [String]) -> Finding? {
        if let option { return .ok("proxy", "requests go through \(LogText.escaped(option)).") }
        guard !variables.isEmpty else { return nil }
        return .note(
            "proxy",
            "\(variables.joined(separator: ", ")) is set, which rankfs does not ask: set the option proxy if one is needed."
        )
    }

    /// A cool-down that the service asked for; both in Unix seconds.
    static func coolDown(until end: Int64?, now: Int64) -> Finding? {
        guard let end, end > now else { return nil }
        return .note(
            "cool-down",
            "the service asked to be left alone for another \(StatusCommand.duration(end - now)), so that no host was "
                + "asked: stored listings are shown, new ones wait.")
    }

    /// A host that is left alone because something in front of it turns programs away: a sentence without its stop.
    static func turnedAway(_ reason: String) -> Finding { .wrong("network", sentence(reason)) }

    static let offline = Finding.note(
        "network", "the option offline lets no request leave, so that no host was asked: set offline=off for more.")

    /// The source `demo` draws its pictures itself.
    static let embedded = Finding.ok("network", "the source is inside the program and needs none.")

    /// - Parameters:
    ///   - rule: The option.
    ///   - told: NetworkManager's property; nil if nobody tells.
    /// - Returns: What holds now.
    static func metered(_ rule: MeteredRule, told: UInt32?) -> Finding {
        let isMetered = rule.isMetered(told: told)
        return switch rule {
        case .auto where isMetered:
            .note("metered", "NetworkManager says so, and nothing is preloaded: metered=no overrules it.")
        case .auto where told == nil: .ok("metered", "NetworkManager tells nothing; the network counts as free.")
        case .auto: .ok("metered", "the network is free, as NetworkManager says.")
        case .yes: .note("metered", "the option says so, and nothing is preloaded.")
        case .no: .ok("metered", "the option says that the network is free.")
        }
    }
}
