import Glibc
import HTTP
import Rankings
import Sourcing
import Synchronization

/// Asks each host once, by rankfs's own rules, and the system bus for what NetworkManager thinks.
struct NetworkProbe {
    let settings: Settings
    let source: SourceName
    let variables: [String: String]
    let place: CachePlace

    /// Connecting and answering take a second; a black hole is found out by then.
    private static let patience: Duration = .seconds(6)
    /// A ranking's page has some 100 KB, a portal's may be anything.
    private static let longestAnswer: Int64 = 4 << 20
    private static let variableNames = ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"]

    func findings(isEmbedded: Bool) -> [Finding] {
        if isEmbedded { return [Finding.embedded] }
        if settings.isOffline { return [Finding.offline] }
        let now = WallClock.now()
        let around = [
            Finding.proxy(
                option: settings.proxy?.authority,
                variables: Self.variableNames.filter { !(variables[$0] ?? "").isEmpty }),
            Finding.metered(settings.metered, told: settings.metered == .auto ? MeteredNetwork.ask() : nil),
        ].compactMap { $0 }
        // A service that asked to be left alone is.
        if let coolDown = Finding.coolDown(until: place.storedCoolDown(), now: now) { return around + [coolDown] }
        let fronts = place.storedFronts(of: [api, image]).map { host, pause in
            Finding.turnedAway(Parts.frontSentence(host, pause, settings, source: source))
        }
        if !fronts.isEmpty { return around + fronts }
        return around + ask()
    }

    private var api: String { settings.apiURL?.text ?? source.description.access.apiURL }
    private var image: String { settings.imageURL?.text ?? source.description.access.imageURL }

    private func ask() -> [Finding] {
        let transport: CurlTransport
        do throws(ProgramError) {
            transport = try Parts.makeTransport(settings, source: source, origin: nil, network: Self.patience)
        } catch {
            return [.wrong("network", error.message)]
        }
        defer { transport.shutdown() }
        let results = Results()
        // Once: who asks again and again finds out no more.
        let client = HTTPClient(transport: transport, policy: .once)
        BlockingCall.wait { [plugIn = source.plugIn, api = api, image = image] in
            async let first = Self.send(.get, api + plugIn.plainRequest, plugIn.headers, client)
            async let second = Self.send(.head, image + "/", plugIn.headers, client)
            let answers = await (first, second)
            results.put(answers.0, answers.1)
        }
        let looks = results.take()
        return Finding.network(
            api: Finding.Asked(host: Self.authority(of: api), look: look(looks.0, at: api)),
            image: Finding.Asked(host: Self.authority(of: image), look: look(looks.1, at: image)))
    }

    private static func send(
        _ method: HTTPRequest.Method, _ url: String, _ headers: [String], _ client: HTTPClient
    ) async -> Result<HTTPResponse, HTTPError> {
        do throws(HTTPError) {
            return .success(
                try await client.send(
                    HTTPRequest(
                        method: method, url: url, headers: headers, transferClass: .metadata,
                        deadline: MonotonicClock.now + patience, bodyLimit: longestAnswer, acceptsCompression: true)))
        } catch {
            return .failure(error)
        }
    }

    private func look(_ result: Result<HTTPResponse, HTTPError>, at url: String) -> Finding.HostLook {
        switch result {
        case .success(let response):
            if let refusal = response.frontRefusal {
                let front = FrontStop(refusal: refusal, step: 0, mark: "")
                return .turnedAway(
                    Parts.frontSentence(
                        Self.authority(of: url), HostPause(end: 0, front: front), settings, source: source))
            }
            let head = response.head
            return .answered(status: head.status, ahead: head.date.map { WallClock.now() - $0 })
        // Behind a proxy, names are its own concern.
        case .failure(.unreachable) where settings.proxy == nil && !Self.isResolved(Self.host(of: url)):
            return .unresolved
        case .failure(.unreachable(let reason)), .failure(.broken(let reason)):
            return .unreachable(Finding.HostLook.clause(reason, of: Self.host(of: url)))
        case .failure(.turnedAway(let reason)), .failure(.exhausted(let reason)): return .turnedAway(reason)
        case .failure(.timedOut), .failure(.cancelled), .failure(.offline), .failure(.limited): return .timedOut
        case .failure(.untrusted(let reason)):
            return .untrusted(Finding.HostLook.clause(reason, of: Self.host(of: url)))
        case .failure(.invalidAnswer(let reason)), .failure(.redirectRefused(let reason)),
            .failure(.refused(let reason)):
            return .nonsense(Finding.HostLook.clause(reason, of: Self.host(of: url)))
        case .failure(.tooLarge): return .nonsense("the answer has no end")
        }
    }

    /// With the port, if that is not the scheme's own.
    private static func authority(of url: String) -> String {
        (try? OriginURL(url))?.authority ?? url
    }

    private static func host(of url: String) -> String {
        (try? OriginURL(url))?.host ?? url
    }

    /// Whether the system knows an address of a name.
    private static func isResolved(_ host: String) -> Bool {
        BlockingCall.run(within: .seconds(3)) {
            var found: UnsafeMutablePointer<addrinfo>?
            guard unsafe getaddrinfo(host, nil, nil, &found) == 0 else { return false }
            unsafe freeaddrinfo(found)
            return true
        } ?? false
    }

    /// Two answers on their way from a task to the thread that waits for it.
    private final class Results: Sendable {
        private let answers = Mutex<[Result<HTTPResponse, HTTPError>]>([])

        func put(_ api: Result<HTTPResponse, HTTPError>, _ image: Result<HTTPResponse, HTTPError>) {
            answers.withLock { $0 = [api, image] }
        }

        func take() -> (Result<HTTPResponse, HTTPError>, Result<HTTPResponse, HTTPError>) {
            answers.withLock { $0.count == 2 ? ($0[0], $0[1]) : (.failure(.timedOut), .failure(.timedOut)) }
        }
    }
}
