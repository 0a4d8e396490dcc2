import Glibc
import HTTP
import Tier
import Rankings
import Sourcing

/// The findings on the network.
extension Finding {
    /// A host with the result of its request: the status of any answer with the seconds by which the local clock is ahead of the answer's
    /// date, or the failure; and whether it failed because the host's name is unknown.
    typealias Asked = (host: String, answer: Result<(status: Int, ahead: Int64?), Failure>, isUnknown: Bool)

    /// The part of a sentence that fits in brackets: without the host, which is named already, and without a full stop.
    static func clause(_ reason: String, of host: String) -> String {
        let prefix = host + ": "
        let rest = reason.hasPrefix(prefix) ? reason.dropFirst(prefix.count) : reason[...]
        return String(rest.hasSuffix(".") ? rest.dropLast() : rest)
    }

    /// The reason why nothing came from a host, which a missing network can be; empty if no answer came in time, nil otherwise.
    private static func silence(_ asked: Asked) -> String? {
        guard case .failure(let failure) = asked.answer else { return nil }
        return switch failure {
        case .unreachable(let reason), .broken(let reason):
            clause(reason, of: (try? OriginURL("http://\(asked.host)"))?.host ?? asked.host)
        case .untrusted, .turnedAway, .exhausted, .invalidAnswer, .redirectRefused, .unsendable, .tooLarge: nil
        default: ""
        }
    }

    /// Seconds that a clock may be wrong: days appear at a moment, so a larger error shows a wrong newest day for a while.
    static let clockTolerance: Int64 = 300

    /// The findings on both hosts; without a network they are one.
    ///
    /// - Parameters:
    ///   - api: The API host.
    ///   - image: The image host.
    ///   - proxy: The host and the port of the proxy that the option names.
    /// - Returns: One finding, or one for each host and the clock.
    static func network(api: Asked, image: Asked, proxy: String? = nil) -> [Finding] {
        guard silence(api) != nil, silence(image) != nil else {
            return [host("API host", api, isAPI: true), host("image host", image, isAPI: false)] + clock(api, image)
        }
        let hosts = api.host == image.host ? "\(api.host) cannot" : "neither \(api.host) nor \(image.host) can"
        let reasons = [api, image].filter { !$0.isUnknown }.compactMap(silence).filter { !$0.isEmpty }
        let why =
            if api.isUnknown, image.isUnknown {
                "no name can be resolved; check the network, the name server and the option proxy."
            } else {
                reasons.first.map(sentence)
                    ?? "nothing answers in time; check the network, the name server and the option proxy."
            }
        let way = proxy.map { " through the proxy \(LogText.escaped($0))" } ?? ""
        return [.wrong("network", "\(hosts) be reached\(way): \(why) What is stored works meanwhile.")]
    }

    /// A clause with its remedy, as the end of a sentence.
    private static func sentence(_ clause: String) -> String {
        LogText.escaped(clause, limit: LogText.longestLine) + (clause.hasSuffix("?") ? "" : ".")
    }

    private static func host(_ subject: String, _ asked: Asked, isAPI: Bool) -> Finding {
        let host = asked.host
        if asked.isUnknown { return .wrong(subject, "the name \(host) cannot be resolved: check the name server.") }
        let name = (try? OriginURL("http://\(host)"))?.host ?? host
        func nonsense(_ reason: String) -> Finding {
            .wrong(
                subject,
                "\(host) does not answer as it should (\(LogText.escaped(reason))): does the network want a sign-in first?"
            )
        }
        switch asked.answer {
        case .success(let answer): return self.answer(subject, host, status: answer.status, isAPI: isAPI)
        case .failure(.unreachable(let reason)), .failure(.broken(let reason)):
            return .wrong(subject, "\(host) cannot be reached: \(sentence(clause(reason, of: name)))")
        case .failure(.untrusted(let reason)):
            return .wrong(subject, "\(host) does not prove who it is: \(sentence(clause(reason, of: name)))")
        case .failure(.invalidAnswer(let reason)), .failure(.redirectRefused(let reason)),
            .failure(.unsendable(let reason)):
            return nonsense(clause(reason, of: name))
        case .failure(.tooLarge): return nonsense("the answer has no end")
        case .failure(.turnedAway(let reason)), .failure(.exhausted(let reason)):
            return .wrong(subject, sentence(reason))
        case .failure:
            return .wrong(subject, "\(host) does not answer in time: check the network and firewalls, or set proxy.")
        }
    }

    private static func answer(_ subject: String, _ host: String, status: Int, isAPI: Bool) -> Finding {
        switch status {
        case 407: .wrong(subject, "the proxy wants a password (status 407): put it into the configuration file.")
        case 429: .wrong(subject, "\(host) asks to be left alone (status 429): wait, and leave `rate` as it is.")
        case 500...: .wrong(subject, "\(host) is in trouble (status \(status)): try again later.")
        case 200..<300: .ok(subject, "\(host) answers.")
        // The image host shows its root to no client.
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
        guard let ahead = asked.lazy.compactMap({ try? $0.answer.get().ahead }).first else { return [] }
        guard abs(ahead) > clockTolerance else { return [.ok("clock", "it agrees with the service's.")] }
        return [
            .wrong(
                "clock",
                "it is \(DisplayText.duration(abs(ahead))) \(ahead > 0 ? "fast" : "slow"), so that the newest day is "
                    + "wrong: set it, for example with `timedatectl set-ntp true`.")
        ]
    }

    // MARK: - Around it

    /// The finding on the proxy.
    ///
    /// - Parameters:
    ///   - option: The host and the port of the proxy that the option names.
    ///   - variables: The variables of the environment that name a proxy for other programs.
    /// - Returns: Nil without any proxy.
    static func proxy(option: String?, variables: [String]) -> Finding? {
        if let option { return .ok("proxy", "requests go through \(LogText.escaped(option)).") }
        guard !variables.isEmpty else { return nil }
        return .note(
            "proxy",
            "\(variables.joined(separator: ", ")) is set, which rankfs does not ask: set the option proxy if one is needed."
        )
    }

    /// The finding on a cool-down that the service requested; both times are Unix seconds.
    static func coolDown(until end: Int64?, now: Int64) -> Finding? {
        guard let end, end > now else { return nil }
        return .note(
            "cool-down",
            "the service asked to be left alone for another \(DisplayText.duration(end - now)), so that no host was "
                + "asked: stored listings are shown, new ones wait.")
    }

    static let offline = Finding.note(
        "network", "the option offline lets no request leave, so that no host was asked: set offline=off for more.")

    /// The finding on the metered state of the network.
    ///
    /// - Parameters:
    ///   - rule: The value of the option.
    ///   - told: NetworkManager's property; nil without an answer.
    /// - Returns: The current state and its origin.
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

    // MARK: - Check

    private static let variableNames = ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"]

    /// Sends one request to each host, by rankfs's own rules, and queries NetworkManager on the system bus.
    static func network(_ context: DoctorContext) -> [Finding] {
        let (settings, source, place) = (context.settings, context.source, context.place)
        if context.isEmbedded {
            do throws(ProgramError) { _ = try EmbeddedOrigin.path() } catch {
                return [.wrong("network", error.message)]
            }
            return [.ok("network", "the source is inside the program and needs none.")]
        }
        if settings.isOffline { return [offline] }
        let variables = context.home.variables
        let around = [
            proxy(
                option: settings.proxy?.authority, variables: variableNames.filter { !(variables[$0] ?? "").isEmpty }),
            metered(settings.metered, told: settings.metered == .auto ? MeteredNetwork.ask() : nil),
        ].compactMap { $0 }
        // A cool-down that the service requested is kept.
        if let coolDown = coolDown(until: place.storedCoolDown(), now: TimeSource.wallClock()) {
            return around + [coolDown]
        }
        let fronts = place.storedFronts(of: [context.apiURL, context.imageURL]).map { host, pause in
            Finding.wrong("network", sentence(source.frontSentence(host, pause, settings)))
        }
        return around + (fronts.isEmpty ? hosts(context) : fronts)
    }

    // The requests to both hosts.

    /// The time limit: connecting and answering take a second; a black hole is detected by then.
    private static let hostPatience: Duration = .seconds(6)
    /// The limit of an answer in bytes: a ranking's page has some 100 KB, a captive portal's page may have any size.
    private static let longestAnswer: Int64 = 4 << 20

    private static func hosts(_ context: DoctorContext) -> [Finding] {
        let (settings, source) = (context.settings, context.source)
        let (api, image) = (context.apiURL, context.imageURL)
        let transport: CurlTransport
        do throws(ProgramError) {
            transport = try Parts.makeTransport(settings, source: source, origin: nil, network: hostPatience)
        } catch {
            return [.wrong("network", error.message)]
        }
        defer { transport.shutdown() }
        // Once: repeated requests find out no more.
        let client = HTTPClient(transport: transport, policy: .once)
        let answers = BlockingCall.wait { [plugIn = source.plugIn] in
            async let first = send(.get, api + plugIn.plainRequest, plugIn.headers, client)
            async let second = send(.head, image + "/", plugIn.headers, client)
            return await (first, second)
        }
        func asked(_ result: Result<HTTPResponse, Failure>, at url: String) -> Asked {
            let host = RequestQueue.host(of: url)
            let answer = result.flatMap { response -> Result<(status: Int, ahead: Int64?), Failure> in
                guard let refusal = response.frontRefusal else {
                    return .success((response.head.status, response.head.date.map { TimeSource.wallClock() - $0 }))
                }
                let front = FrontStop(refusal: refusal, step: 0, mark: "")
                return .failure(
                    .turnedAway(source.frontSentence(host, HostPause(end: 0, front: front), settings)))
            }
            // With a proxy, names are resolved by the proxy.
            guard case .failure(.unreachable) = result, settings.proxy == nil else { return (host, answer, false) }
            return (host, answer, !isResolved((try? OriginURL(url))?.host ?? url))
        }
        return network(
            api: asked(answers.0, at: api), image: asked(answers.1, at: image),
            proxy: settings.proxy?.authority)
    }

    private static func send(
        _ method: HTTPRequest.Method, _ url: String, _ headers: [String], _ client: HTTPClient
    ) async -> Result<HTTPResponse, Failure> {
        do throws(Failure) {
            return .success(
                try await client.send(
                    HTTPRequest(
                        method: method, url: url, headers: headers, transferClass: .metadata,
                        deadline: TimeSource.system.now() + hostPatience, bodyLimit: longestAnswer,
                        acceptsCompression: true
                    )))
        } catch {
            return .failure(error)
        }
    }

    /// Whether the system can resolve a name.
    private static func isResolved(_ host: String) -> Bool {
        BlockingCall.run(within: .seconds(3)) {
            var found: UnsafeMutablePointer<addrinfo>?
            guard unsafe getaddrinfo(host, nil, nil, &found) == 0 else { return false }
            unsafe freeaddrinfo(found)
            return true
        } ?? false
    }

    // MARK: - Shared tier

    /// The difference of clocks that is reported, in seconds; from there on requests are signed with the time of the store.
    ///
    /// It is the tolerance of a store (Amazon S3: fifteen minutes), less a margin for drift.
    private static let mostAhead: Int64 = 600

    /// Tests the object store that the settings name with an object of its own; returns nothing if no tier is set.
    static func tier(_ context: DoctorContext) -> [Finding] {
        guard !context.settings.isOffline, context.settings.tier != nil else { return [] }
        do throws(ProgramError) {
            guard let means = try TierMeans(context.settings, home: context.home) else { return [] }
            defer { means.close() }
            let (ability, ahead) = BlockingCall.wait { [store = means.store] in
                await TierInspection(store).examine(name: TierMeans.chanceName(), now: TimeSource.wallClock())
            }
            let risk = means.risk.map { Finding.note("shared tier", $0.prefix(1).uppercased() + $0.dropFirst()) }
            return [tier(ability, ahead: ahead, address: means.store.place.address)] + [risk].compactMap(\.self)
        } catch {
            return [.wrong("shared tier", error.message)]
        }
    }

    static func tier(_ ability: TierInspection.Ability, ahead: Int64?, address: String) -> Finding {
        let subject = "shared tier"
        switch ability {
        case .all:
            if let ahead, abs(ahead) > mostAhead {
                return .note(
                    subject,
                    "\(address) works, though its clock and this machine's are \(abs(ahead)) s apart: set the clock.")
            }
            return .ok(subject, "\(address) is read and written, and says who does what.")
        case .withoutConditions:
            return .note(
                subject,
                "\(address) writes what is there already (it knows no If-None-Match): machines may download the same twice."
            )
        case .readOnly(let reason):
            return .note(
                subject,
                "\(address) is read, and nothing is brought there, for \(LogText.escaped(reason)): give the key the right to write."
            )
        case .none(let reason):
            return .wrong(
                subject,
                "\(address) cannot be used, for \(LogText.escaped(reason)): look after tier_url, the bucket and the key."
            )
        }
    }
}
