import Synchronization

/// Everything behind the sockets: decides about requests and remembers what must be remembered.
///
/// ## Concurrency
/// Called from the threads of all connections; what changes is behind atomics and locks of its own.
final class Service: Sendable {
    let configuration: OriginServer.Configuration
    let store = PictureStore()
    let log: RequestLog?
    private let universe: Universe
    private let recordings: Recordings?
    private let stopping = Atomic(false)
    private let connections = Atomic(0)
    private let started = Pace.now

    init(_ configuration: OriginServer.Configuration) throws(OriginError) {
        self.configuration = configuration
        universe = Universe(seed: configuration.seed)
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

    /// The right answer to a request.
    func answer(_ request: Request) -> Answer {
        guard request.method == "GET" || request.method == "HEAD" else {
            return .html("405 Method Not Allowed", status: 405)
        }
        let now = configuration.now()
        let host = PictureHost(seed: configuration.seed, now: now, chunks: configuration.chunks)
        if let recordings {
            return recordings.answer(request)
                ?? host.answer(
                    request, recordings.picture(at: request.path) ?? HostFixtures.picture(request.path, universe))
        }
        if let answer = Routes.answer(request, universe: universe, now: now) { return answer }
        return host.answer(
            request, universe.picture(at: request.path, now: now) ?? HostFixtures.picture(request.path, universe))
    }

    /// Notes that a request is over.
    func finished(_ exchange: Exchange, completed: Bool) {
        guard let log, let request = exchange.request else { return }
        log.write(
            RequestLog.Entry(
                started: exchange.started - started, finished: Pace.now - started, connection: exchange.connection,
                request: request, status: exchange.status, bytes: exchange.sent, completed: completed,
                fault: exchange.fault))
    }
}
