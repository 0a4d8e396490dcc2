import Rankings
import Synchronization

/// Everything behind the sockets: decides about requests and remembers what must be remembered.
///
/// ## Concurrency
/// Called from the threads of all connections; what changes is behind atomics and locks of its own.
final class OriginService: Sendable {
    let configuration: OriginServer.Configuration
    let store = DrawnPictures()
    let log: RequestLog?
    private let routes: any OriginRoutes
    private let faults: FaultScript
    private let stopping = Atomic(false)
    private let connections = Atomic(0)
    private let started = Pace.now

    init(_ configuration: OriginServer.Configuration) throws(OriginError) {
        self.configuration = configuration
        routes = try Self.routes(configuration)
        faults = FaultScript(file: configuration.faults)
        if let path = configuration.log {
            log = try RequestLog(path: path)
        } else {
            log = nil
        }
    }

    private static func routes(_ configuration: OriginServer.Configuration) throws(OriginError) -> any OriginRoutes {
        switch configuration.service {
        case .pixiv: try PixivOrigin(configuration)
        case .danbooru: try DanbooruOrigin(configuration)
        case .yandere: try MoebooruOrigin(configuration, .yandere)
        case .konachan: try MoebooruOrigin(configuration, .konachan)
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
        return routes.answer(request, ServedMoment(now: configuration.now(), laterBy: seconds))
    }

    /// Where scripts of faults are posted; below it, what changes sessions.
    static let controlPath = "/_control"

    /// Puts a posted script in force, or makes all sessions invalid or valid again.
    func control(_ request: Request) -> Response {
        guard request.method == "POST" else { return .html("405 Method Not Allowed", status: 405) }
        let path = request.path.dropFirst(Self.controlPath.count)
        guard path.isEmpty else { return routes.control(path) ?? .html("404 Not Found", status: 404) }
        guard let count = faults.replace(with: request.body) else {
            return .json(.object([("error", "a line is no rule: see FaultRule and FaultAction")]), status: 400)
        }
        return .json(.object([("rules", .int(count))]))
    }

    /// What becomes of a request: the right answer, or what the script in force makes of it.
    func outcome(_ request: Request, _ exchange: Exchange) -> FaultyAnswer {
        exchange.isSignedIn = routes.isSignedIn(request)
        guard let rule = faults.fault(for: request) else { return .answer(answer(request), Delivery()) }
        exchange.fault = rule.name
        return rule.action.spoil(
            request,
            placeholder: {
                let picture = routes.placeholder
                return Response(
                    status: 200, headers: [("Content-Type", picture?.mediaType ?? "image/png")],
                    body: picture.map { .picture($0, range: 0..<$0.bytes) } ?? .bytes([]))
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
