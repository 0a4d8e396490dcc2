import Foundation

/// One request as the origin logged it.
struct LoggedRequest: Decodable {
    let method: String
    let path: String
    let status: Int
    let range: String?
    let bytes: Int64?
    /// The scripted fault that spoilt the answer.
    let fault: String?
    /// Milliseconds since the origin started, when the request came and when its answer had gone.
    let t: Int
    let end: Int

    var isPicture: Bool { Self.pictures.contains { path.contains($0) } }
    private static let pictures = [
        "/img-master/", "/img-original/", "/original/", "/sample/", "/360x360/", "/720x720/", "/image/", "/jpeg/",
        "/data/preview/",
    ]

    /// Whether it is there to make a connection to the image host only.
    var isConnection: Bool { method == "HEAD" && path == "/" }
}

/// `rankfs-origin` in a process of its own, reached as the service is unless a test chooses otherwise.
final class OriginProcess {
    private let workplace: Workplace
    private var child: Child
    private let log: String
    private let options: [String]
    let service: Service
    private let front: Front?
    /// Requests that no test sent.
    private var before = 0
    /// Where the origin itself listens, over plain HTTP/1.1: for what a test asks beside the mount.
    let direct: String
    /// Where mounts find it.
    var url: String { front?.url ?? direct }
    /// The certificates that sign its own; nothing without TLS.
    var authority: String { front?.authority ?? "" }
    /// The options that lead a mount there.
    var mountOptions: String {
        "api_url=\(url),image_url=\(url)" + (front == nil ? "" : ",ca_file=\(authority)")
    }

    /// Starts it, with `faults` in force from the first request on.
    init(
        _ workplace: Workplace, _ options: [String] = [], faults: [String] = [], wire: Wire = .tls,
        service: Service = .pixiv
    ) throws {
        self.workplace = workplace
        self.service = service
        let options = ["--service", service.rawValue] + options
        self.options = options
        log = workplace.directory.appending(path: "origin-\(service).log").path
        child = try workplace.start("rankfs-origin", ["--port", "0", "--log", log] + options)
        let started = child
        guard poll({ started.outputText.contains("listening on http") || !started.process.isRunning }),
            let line = started.outputText.split(separator: "\n").first(where: { $0.hasPrefix("listening on ") })
        else { throw Failure("rankfs-origin did not start: \(started.errorText)") }
        direct = String(line.dropFirst("listening on ".count))
        front = wire == .tls ? try Front(workplace, of: direct) : nil
        // Boards' digests are those of pictures that are drawn at the first question: seconds of a busy machine, which no time-out
        // of a test is for.
        if service.isProven { _ = try fetch(service.list(1, of: Mount.day)) }
        if !faults.isEmpty { try spoil(faults, in: workplace) }
        before = (service.isProven ? 1 : 0) + (faults.isEmpty ? 0 : 1)
        guard poll({ logged.count == before }) else { throw Failure("rankfs-origin logs nothing") }
    }

    /// The origin vanishes: connections are refused from now on.
    func stop() {
        front?.stop()
        child.signal(SIGTERM)
        _ = child.wait(upTo: 10)
    }

    /// The origin is back at the same address.
    func restart() throws {
        let port = direct.split(separator: ":").last.map(String.init) ?? "0"
        child = try workplace.start("rankfs-origin", ["--port", port, "--log", log] + options)
        let started = child
        guard poll({ started.outputText.contains("listening on http") }) else { throw Failure(started.errorText) }
        // As at the first start.
        _ = try ranking()
        try front?.restart()
    }

    /// Ends the connections of mounts, as a host that takes another configuration does.
    func reload() { front?.reload() }

    /// Freezes the origin: connections are accepted, nothing is answered.
    func freeze() {
        front?.freeze()
        child.signal(SIGSTOP)
    }

    func thaw() {
        child.signal(SIGCONT)
        front?.thaw()
    }

    /// What was asked so far, in the order in which it was asked; lines are written when answers end.
    var requests: [LoggedRequest] { Array(logged.dropFirst(before)) }

    private var logged: [LoggedRequest] {
        guard let text = try? String(contentsOfFile: log, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap {
            try? JSONDecoder().decode(LoggedRequest.self, from: Data($0.utf8))
        }
        .sorted { $0.t < $1.t }
    }

    var apiRequests: [LoggedRequest] { requests.filter { !$0.isPicture && !$0.isConnection } }
    var pictureRequests: [LoggedRequest] { requests.filter(\.isPicture) }
    var downloads: [LoggedRequest] { pictureRequests.filter { $0.method == "GET" } }

    /// The paths of the pictures whose downloads began, in that order: what is known to be large comes in parts, of which the first
    /// counts; a lone first byte is a question for the length.
    var downloaded: [String] {
        downloads.filter { $0.bytes != 1 && $0.range?.hasPrefix("bytes=0-") ?? true }.map(\.path)
    }

    /// The bytes of a path fetched by another program than the one under test.
    func fetch(_ path: String) throws -> Data {
        let file = workplace.directory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try workplace.run("curl", "-sf", "-e", "https://www.pixiv.net/", "-o", file.path, direct + path)
        guard output.status == 0 else { throw Failure("curl \(path): \(output.status)") }
        return try Data(contentsOf: file)
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
