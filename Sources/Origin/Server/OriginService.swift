import Synchronization

/// Everything behind the sockets: decides about requests and remembers what must be remembered.
///
/// ## Concurrency
/// Called from the threads of all connections; what changes is behind atomics and locks of its own.
final class OriginService: Sendable {
    let configuration: OriginServer.Configuration
    let store = DrawnPictures()
    let log: RequestLog?
    private let universe: Universe
    private let recordings: Recordings?
    private let faults: FaultScript
    private let sessions = Sessions()
    private let stopping = Atomic(false)
    private let connections = Atomic(0)
    private let started = Pace.now

    init(_ configuration: OriginServer.Configuration) throws(OriginError) {
        self.configuration = configuration
        universe = Universe(seed: configuration.seed, hasLargePictures: configuration.large)
        faults = FaultScript(file: configuration.faults)
        if let directory = configuration.replay {
            recordings = try Recordings(directory: directory, seed: configuration.seed)
        } else {
            recordings = nil
        }
        if let path = configuration.log {
            log = try RequestLog(path: path)
        } else {
            log = nil
        }
    }

    /// Whether the origin is stopping: nothing waits any longer then.
    var isStopping: Bool {
        stopping.load(ordering: .relaxed)
    }

    /// Lets everything that waits give up.
    func beginStopping() {
        stopping.store(true, ordering: .relaxed)
    }

    /// The number of a new connection, from 1.
    func nextConnection() -> Int {
        connections.add(1, ordering: .relaxed).newValue
    }

    /// The right answer to a request; pictures may be made to look as if uploaded again some seconds later.
    func answer(_ request: Request, laterBy seconds: Int64 = 0) -> Response {
        guard request.method == "GET" || request.method == "HEAD" else {
            return .html("405 Method Not Allowed", status: 405)
        }
        let now = configuration.now()
        let host = PictureHost(seed: configuration.seed, now: now, chunks: configuration.chunks, laterBy: seconds)
        if let recordings {
            return recordings.answer(request)
                ?? host.answer(
                    request, recordings.picture(at: request.path) ?? HostFixtures.picture(request.path, universe))
        }
        if let answer = DayIndex(universe: universe, host: host, now: now).answer(request) { return answer }
        if let answer = Routes.answer(request, universe: universe, now: now, viewer: viewer(request)) { return answer }
        return host.answer(
            request, universe.picture(at: request.path, now: now) ?? HostFixtures.picture(request.path, universe))
    }

    /// Whose session a request shows.
    private func viewer(_ request: Request) -> Viewer {
        sessions.viewer(request.session, universe)
    }

    /// Where scripts of faults are posted; below it, what changes sessions.
    static let controlPath = "/_control"

    /// Puts a posted script in force, or makes all sessions invalid or valid again.
    func control(_ request: Request) -> Response {
        guard request.method == "POST" else { return .html("405 Method Not Allowed", status: 405) }
        switch request.path.dropFirst(Self.controlPath.count) {
        case "": break
        case "/expire-sessions", "/renew-sessions":
            let expire = request.path.hasSuffix("expire-sessions")
            sessions.setExpired(expire)
            return .json(.object([("expired", .bool(expire))]))
        default: return .html("404 Not Found", status: 404)
        }
        guard let count = faults.replace(with: request.body) else {
            return .json(.object([("error", "a line is no rule: see FaultRule and FaultAction")]), status: 400)
        }
        return .json(.object([("rules", .int(count))]))
    }

    /// What becomes of a request: the right answer, or what the script in force makes of it.
    func outcome(_ request: Request, _ exchange: Exchange) -> FaultyAnswer {
        exchange.isSignedIn = viewer(request).isSignedIn
        guard let rule = faults.fault(for: request) else { return .answer(answer(request), Delivery()) }
        exchange.fault = rule.name
        return rule.action.spoil(
            request,
            placeholder: {
                let path = "/common/images/limit_unviewable_360.png"
                return Response(
                    status: 200, headers: [("Content-Type", "image/png")],
                    body: HostFixtures.picture(path, universe).map { .picture($0, range: 0..<$0.bytes) } ?? .bytes([]))
            },
            right: { answer($0, laterBy: rule.action.modification) },
            compressed: { Gzip.compress(bytes(of: $0)) })
    }

    /// All bytes of an answer's body.
    private func bytes(of answer: Response) -> [UInt8] {
        switch answer.body {
        case .bytes(let bytes): return bytes
        case .picture(let picture, let range):
            var bytes = [UInt8](repeating: 0, count: range.count)
            unsafe bytes.withUnsafeMutableBytes {
                _ = unsafe store.drawn(picture)?.read(from: range.lowerBound, into: $0)
            }
            return bytes
        }
    }

    /// Notes that a request is over.
    func finished(_ exchange: Exchange, completed: Bool) {
        guard let log, let request = exchange.request else { return }
        log.write(
            RequestLog.Entry(
                started: exchange.started - started, finished: Pace.now - started, connection: exchange.connection,
                request: request, status: exchange.status, bytes: exchange.sent,
                completed: exchange.rawCompleted ?? completed,
                fault: exchange.fault, isSignedIn: exchange.isSignedIn))
    }
}
