import Glibc
import Rankings
import Synchronization

/// The logic of the origin above the sockets: decides about requests and keeps the state.
///
/// ## Concurrency
/// Called from the threads of all connections; the mutable state is held in atomics and under locks.
final class OriginService: Sendable {
    let configuration: OriginConfiguration
    private let api: any ServedAPI
    private let faults: FaultScript
    private let log: RequestLog?
    private let stopping = Atomic(false)

    /// Creates the service's API, the script of faults and the log.
    ///
    /// Throws one sentence with cause and remedy.
    init(_ configuration: OriginConfiguration) throws(Failure) {
        self.configuration = configuration
        let (replay, service) = (configuration.replay, configuration.service)
        if service.isBoard {
            let recorded = try replay.map { directory throws(Failure) in
                try Post.recorded(below: directory, configuration.seed, service)
            }
            api = Board(Universe(configuration, recorded: recorded), showsAll: configuration.allRatings)
        } else {
            let universe = Universe(configuration)
            api = Pixiv(
                universe,
                try replay.map { directory throws(Failure) in
                    try RecordedWorks(directory: directory, universe)
                })
        }
        faults = FaultScript(file: configuration.faults)
        log = try configuration.log.map { path throws(Failure) in try RequestLog(path: path) }
    }

    /// Whether the origin is stopping: all waits end then.
    var isStopping: Bool {
        stopping.load(ordering: .relaxed)
    }

    /// Ends all waits.
    func beginStopping() {
        stopping.store(true, ordering: .relaxed)
    }

    /// The right answer to a request; the modification dates of pictures are moved by `laterBy` seconds, as after another upload.
    func answer(_ request: Request, laterBy seconds: Int64 = 0) -> Response {
        guard request.method == "GET" || request.method == "HEAD" else {
            return .html("405 Method Not Allowed", status: 405)
        }
        return api.answer(request, PictureHost(configuration, laterBy: seconds))
    }

    /// An answer with the picture that replaces a withheld one.
    var placeholder: Response {
        let picture = api.placeholder
        return Response(
            status: 200, headers: [("Content-Type", picture?.format.mediaType ?? "image/png")],
            body: picture.map { .picture($0, range: 0..<$0.bytes) } ?? .bytes([]))
    }

    /// The path to which scripts of faults are posted; paths below it change sessions.
    static let controlPath = "/_control"

    /// Activates a posted script, or makes all sessions invalid or valid again.
    func control(_ request: Request) -> Response {
        guard request.method == "POST" else { return .html("405 Method Not Allowed", status: 405) }
        let path = request.path.dropFirst(Self.controlPath.count)
        guard path.isEmpty else { return api.control(path) ?? .html("404 Not Found", status: 404) }
        guard let count = faults.replace(with: request.body) else {
            return .json(.members([("error", "a line is no rule: see Fault")]), status: 400)
        }
        return .json(.members([("rules", .int(count))]))
    }

    /// The delivery of the right answer to a request, or of that answer changed by the active script.
    func delivery(_ exchange: inout Exchange) -> Delivery {
        exchange.isSignedIn = api.isSignedIn(exchange.request)
        guard let fault = faults.fault(for: exchange.request) else {
            return Delivery(answer: answer(exchange.request), request: exchange.request)
        }
        exchange.fault = fault.action
        return fault.delivery(exchange.request, placeholder: placeholder) { answer($0, laterBy: $1) }
    }

    /// Logs a finished request.
    func finished(_ exchange: Exchange) {
        log?.write(exchange)
    }
}

/// One request and its outcome, until the log entry.
struct Exchange {
    let connection: Int
    let request: Request
    /// The start, in milliseconds of the monotonic clock.
    let started = Pace.now
    var status = 0
    /// Bytes of the body sent.
    var sent = 0
    var fault: String?
    /// Whether the request showed a valid session.
    var isSignedIn = false
    /// Whether the answer was sent but for its last bytes.
    var completed = false
    /// Whether the connection ends with this answer.
    var closes = false
}

/// One JSON line per request, written before the last bytes of its answer are sent, or when it breaks off.
///
/// ## Concurrency
/// Called from any thread: each line is one write(2) to a file opened with O_APPEND, which keeps lines whole.
private final class RequestLog: Sendable {
    private let descriptor: Int32
    private let began = Pace.now

    /// Opens a file for appending.
    ///
    /// Throws one sentence with cause and remedy.
    init(path: String) throws(Failure) {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw Failure.last { "The log \(path) cannot be opened (\($0)): name a file in a writable directory." }
        }
    }

    deinit {
        close(descriptor)
    }

    /// Writes a line; a full disk loses lines, never requests.
    func write(_ exchange: Exchange) {
        let request = exchange.request
        var line = JSON.members([
            ("t", .integer(exchange.started - began)), ("end", .integer(Pace.now - began)),
            ("connection", .int(exchange.connection)), ("method", .string(request.method)),
            ("path", .string(request.target)), ("range", request["range"].map(JSON.string) ?? .null),
            ("status", .int(exchange.status)), ("bytes", .int(exchange.sent)), ("completed", .bool(exchange.completed)),
            ("fault", exchange.fault.map(JSON.string) ?? .null), ("signed_in", .bool(exchange.isSignedIn)),
        ]).bytes(escapingSlashes: false)
        line.append(UInt8(ascii: "\n"))
        unsafe line.withUnsafeBytes { _ = unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
