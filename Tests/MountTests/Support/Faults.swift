import Foundation
import Synchronization
import TestSupport
import Testing

/// A way for the origin's answers to go wrong, and what a reader may meet then.
///
/// Other bytes of the right length between a right beginning and a right end (`digests`, `rangebytes`) are no kind where the service gives no
/// digest: nobody can know.
struct FaultKind: Sendable, CustomStringConvertible {
    enum Reading: Sendable {
        /// The whole picture comes, by legal if odd means.
        case right
        /// The picture cannot come.
        case fails
        /// It comes if it is small enough for what each of some tries brings.
        case rightOrFails
        /// It cannot come, and the mount sends no request for it for minutes: a 404 is remembered.
        case failsForLong
    }

    let name: String
    /// The rule's fields besides those that say which requests it spoils.
    let fields: String
    let reading: Reading

    init(_ name: String, _ fields: String? = nil, _ reading: Reading = .fails) {
        self.name = name
        self.fields = fields ?? "\"action\":\"\(name)\""
        self.reading = reading
    }

    static func status(_ status: Int, retryAfter: String? = nil, _ reading: Reading = .fails) -> FaultKind {
        let wait = retryAfter.map { ",\"retry_after\":\"\($0)\"" } ?? ""
        return FaultKind(
            "\(status)\(retryAfter.map { "/\($0)" } ?? "")", "\"action\":\"status\",\"status\":\(status)\(wait)",
            reading)
    }

    static func redirect(_ name: String, to location: String) -> FaultKind {
        FaultKind(name, "\"action\":\"redirect\",\"location\":\"\(location)\"")
    }

    var description: String { name }

    /// The line of a script that spoils every request for a path, or so many of them.
    func rule(_ path: String, method: String? = nil, count: Int? = nil) -> String {
        let method = method.map { ",\"method\":\"\($0)\"" } ?? ""
        let count = count.map { ",\"count\":\($0)" } ?? ""
        return "{\(fields),\"path\":\"\(path)\"\(method)\(count)}"
    }
}

extension FaultKind {
    /// What keeps a connection busy without saying anything.
    static let silent: [FaultKind] = [
        FaultKind("stallhdr"), FaultKind("stallbody"), FaultKind("slowloris", "\"action\":\"slow\",\"rate\":1"),
    ]

    /// Whether a request that meets it has no answer until its time is over.
    var isSilent: Bool { Self.silent.contains { $0.name == name } }

    /// Everything else that a connection, a header and a body can do wrong.
    static let broken: [FaultKind] = [
        FaultKind("fin0"), FaultKind("rst0"), FaultKind("garbage"), FaultKind("trunc"), FaultKind("rst"),
        FaultKind("cllong"), FaultKind("clshort"),
        FaultKind("cltwo"), FaultKind("clneg"), FaultKind("gzip"), FaultKind("hdr1m"), FaultKind("hdr10k"),
        FaultKind("html200"), FaultKind("json200"), FaultKind("placeholder"), FaultKind("notrailer"),
        FaultKind("endless"), FaultKind("empty"),
        redirect("redirfile", to: "file:///etc/passwd"), redirect("redirgopher", to: "gopher://127.0.0.1:1/"),
        redirect("redirmeta", to: "http://169.254.169.254/latest/meta-data/"),
        redirect("redirlocal", to: "http://[::1]:1/"),
        status(403), status(500), status(503), status(503, retryAfter: "1"), status(418), status(204),
        status(404, .failsForLong), status(410, .failsForLong),
    ]

    /// What a front takes for a broken origin and answers with 502, so that no client behind it ever sees it.
    private static let behindAFront = ["fin0", "rst0", "garbage", "cltwo", "clneg", "hdr1m", "hdr10k"]

    /// Whether a mount meets this kind when it reaches the origin so.
    func shows(on wire: Wire) -> Bool { wire == .plain || !Self.behindAFront.contains(name) }

    /// What a server can answer to HEAD instead of the truth, and says the right thing to GET.
    static let heads: [FaultKind] =
        [FaultKind("nohead"), FaultKind("headlies"), FaultKind("chunked")]
        + (broken + silent).filter {
            [
                "cllong", "clshort", "cltwo", "clneg", "placeholder", "html200", "gzip", "garbage", "403", "418",
                "stallhdr",
            ]
            .contains($0.name)
        }

    /// Other bytes of the right length between right ends, which only a digest tells.
    static let digests: [FaultKind] = [FaultKind("flip")]

    /// Whether a size that is known stays known; the answers of other kinds contradict it.
    var keepsTheSize: Bool {
        ![
            "cllong", "clshort", "cltwo", "clneg", "gzip", "html200", "json200", "placeholder", "endless", "empty",
            "flip", "404", "410",
        ].contains(name)
    }

    /// The same with a number by chance where one decides: of bytes that come, or by which a length is wrong.
    func varied(using random: inout Random) -> FaultKind? {
        let (field, reading): (String, Reading) =
            switch name {
            case "trunc", "rst", "stallbody": ("after", .rightOrFails)
            case "cllong", "clshort": ("by", reading)
            default: ("", reading)
            }
        // Less than any picture has.
        return field.isEmpty ? nil : FaultKind(name, "\(fields),\"\(field)\":\(1 + random.below(90_000))", reading)
    }

    /// Whether it is a wish to be left alone, which concerns every request to the host.
    var closesTheHost: Bool { name == "503/1" }

    /// What can come instead of a page of a ranking; limits of use close the gate for everybody and stand apart.
    private static let pages: [FaultKind] =
        (broken + silent).filter {
            !["placeholder", "notrailer", "403", "404", "410", "418", "503/1", "empty", "hdr10k", "hdr1m", "gzip"]
                .contains($0.name)
        }
    static func pages(of service: Service, on wire: Wire) -> [FaultKind] {
        pages.filter { $0.shows(on: wire) && $0.passes(service) }
    }
    /// Whether it says nothing of use: Moebooru says with 503 that it is asked too often, and is left alone for longer than
    /// tests wait.
    func passes(_ service: Service) -> Bool { service != .yandere || name != "503" }
    static let middle = pages.filter { ["trunc", "json200", "clshort", "500", "stallbody"].contains($0.name) }
    static let limits: [FaultKind] = [status(503, retryAfter: "1"), status(429, retryAfter: "1")]

    /// What is odd but whole.
    static let odd: [FaultKind] = [
        FaultKind("slow", "\"action\":\"slow\",\"rate\":300000", .right), FaultKind("chunked", nil, .right),
        FaultKind("closedelim", nil, .right), FaultKind("rangeignored", nil, .right),
        FaultKind("modified", nil, .right),
        // Each answer breaks off, but brings something: resumed where it stopped.
        FaultKind("pieces", "\"action\":\"trunc\",\"after\":150000", .right),
        FaultKind("torn", "\"action\":\"rst\",\"after\":150000", .right),
        // Parts from another place: asked for again in one answer, which is right.
        FaultKind("rangezero", nil, .right),
    ]
}

/// In which order a picture's bytes are asked for.
enum ReadOrder: String, CaseIterable, Sendable {
    case whole, tail, backwards

    /// The part of a picture of so many bytes that this order reads.
    func part(of size: Int) -> Range<Int> {
        self == .tail ? max(0, size - 1000)..<size : 0..<size
    }

    func read(_ path: String, size: Int) -> Result<Data, ReadFailure> {
        switch self {
        case .whole: return MountTests.read(path)
        case .tail: return MountTests.read(path, offset: Int64(part(of: size).lowerBound))
        case .backwards: return backwards(path, size: size)
        }
    }

    private func backwards(_ path: String, size: Int) -> Result<Data, ReadFailure> {
        let step = 64 << 10
        let file = open(path, O_RDONLY)
        guard file >= 0 else { return .failure(ReadFailure(errno: errno, received: 0)) }
        defer { close(file) }
        var data = Data(count: size)
        for start in stride(from: max(0, size - 1) / step * step, through: 0, by: -step) {
            var part = start..<min(start + step, size)
            // Fewer bytes than were asked for are no end: what follows them tells.
            while !part.isEmpty {
                let got = data[part].withUnsafeMutableBytes {
                    pread(file, $0.baseAddress, part.count, off_t(part.lowerBound))
                }
                if got < 0 { return .failure(ReadFailure(errno: errno, received: 0)) }
                if got == 0 { return .success(data.prefix(part.lowerBound)) }
                part = part.lowerBound + got..<part.upperBound
            }
        }
        return .success(data)
    }
}

/// One pass through the matrix of faults.
///
/// By itself every kind is met once, by `make faults` also with numbers by
/// chance, sizes that are not known, every breach of HTTP/2 in every order, and every wire with each service.
struct Sweep: Sendable, CustomTestStringConvertible {
    let wire: Wire
    let service: Service
    /// The first has every kind, a later one those with a number by chance.
    var seed: UInt64 = 1
    /// Whether the sizes of pictures are known before the faults.
    var knowsSizes = true
    /// The orders in which pictures of a kind are read.
    ///
    /// A length that only a header told is what the kernel ends a file at, until a whole reading contradicts it.
    func orders(of kind: FaultKind) -> [ReadOrder] { knowsSizes || kind.keepsTheSize ? ReadOrder.allCases : [.whole] }

    var testDescription: String { "\(wire) \(service) seed \(seed) sizes \(knowsSizes ? "known" : "unknown")" }

    private static let seeds = ModelAmount.number("FAULT_SEEDS") ?? 1
    static let isLong = seeds > 1
    private static let chosen = ProcessInfo.processInfo.environment["FAULT_SERVICE"].flatMap(Service.init).map { [$0] }
    static let services = chosen ?? Service.allCases
    private static let reached =
        isLong ? Wire.allCases.flatMap { wire in services.map { (wire, $0) } } : Service.reached

    static let all = reached.flatMap { wire, service in
        [true, false].filter { $0 || isLong && !service.isProven }.flatMap { knowsSizes in
            (1...UInt64(seeds)).map { Sweep(wire: wire, service: service, seed: $0, knowsSizes: knowsSizes) }
        }
    }
}

/// What a reader met.
enum Outcome: Equatable, Sendable, CustomStringConvertible {
    case right
    case failed(Int32)
    case short(Int)
    case wrong(at: Int)
    case hung

    init(_ result: Result<Data, ReadFailure>, expected: Data) {
        switch result {
        case .failure(let failure): self = .failed(failure.errno)
        case .success(let data) where data == expected: self = .right
        case .success(let data):
            let place = zip(data, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
            self = place.map { .wrong(at: $0) } ?? .short(data.count)
        }
    }

    /// Whether a promise is kept: the right bytes or an error.
    var isHonest: Bool {
        switch self {
        case .right, .failed: true
        case .short, .wrong, .hung: false
        }
    }

    var description: String {
        switch self {
        case .right: "right"
        case .failed(let code): Self.names[code] ?? "errno \(code)"
        case .short(let count): "SHORT \(count)"
        case .wrong(let place): "WRONG at \(place)"
        case .hung: "HANG"
        }
    }

    private static let names: [Int32: String] = [
        EIO: "EIO", ETIMEDOUT: "ETIMEDOUT", EHOSTUNREACH: "EHOSTUNREACH", EACCES: "EACCES", ENOENT: "ENOENT",
        EINTR: "EINTR", EAGAIN: "EAGAIN", ENOTCONN: "ENOTCONN",
    ]
}

/// What reading a directory to its end came to.
struct Listed: Equatable, Sendable {
    let count: Int
    /// 0 for a directory that was read to its end.
    let errno: Int32
}

/// Reads a directory and tells the errno of a failure.
func list(_ path: String) -> Listed {
    guard let directory = opendir(path) else { return Listed(count: 0, errno: errno) }
    defer { closedir(directory) }
    var count = 0
    while true {
        errno = 0
        guard let entry = readdir(directory) else { return Listed(count: count, errno: errno) }
        // Neither "." nor "..": no title is that short.
        if entry.pointee.d_reclen > 24 { count += 1 }
    }
}

/// Prints a line of the table of faults, for who asks for it.
func report(_ line: String) {
    if ProcessInfo.processInfo.environment["RANKFS_TABLE"] != nil { print(line) }
}

/// Runs blocking work on a thread each, all at once; what is not done after `seconds` has nil for a result.
///
/// A thread that hangs stays behind until the mount ends.
func together<Value: Sendable>(
    upTo seconds: Double, _ works: [@Sendable () -> Value]
) -> [Value?] {
    let results = Results<Value>(count: works.count)
    for (index, work) in works.enumerated() {
        Thread.detachNewThread { results.set(work(), at: index) }
    }
    _ = poll(upTo: seconds) { results.areAll }
    return results.values
}

private final class Results<Value: Sendable>: Sendable {
    private let state: Mutex<[Value?]>

    init(count: Int) {
        state = Mutex(Array(repeating: nil, count: count))
    }

    func set(_ value: Value, at index: Int) {
        state.withLock { $0[index] = value }
    }

    var values: [Value?] { state.withLock { $0 } }
    var areAll: Bool { state.withLock { !$0.contains { $0 == nil } } }
}

extension OriginProcess {
    /// Puts rules in force instead of those before.
    func spoil(_ rules: [String], in workplace: Workplace) throws {
        let file = workplace.directory.appending(path: "rules")
        try rules.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        let output = try workplace.run(
            "curl", "-sf", "-X", "POST", "-H", "Content-Type: text/plain", "--data-binary", "@\(file.path)",
            "\(direct)/_control")
        guard output.status == 0, output.output.contains("\"rules\":\(rules.count)") else {
            throw Failure("the origin does not take the rules: \(output.output)\(output.errors)")
        }
    }

    /// The bytes of many paths, by one curl.
    func fetch(_ paths: [String], in workplace: Workplace) throws -> [Data] {
        let folder = try workplace.folder(UUID().uuidString)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let config = paths.enumerated().map { "url = \"\(direct)\($1)\"\noutput = \"\(folder)/\($0)\"" }
        let list = "\(folder)/list"
        try config.joined(separator: "\n").write(toFile: list, atomically: true, encoding: .utf8)
        let output = try workplace.run("curl", "-sf", "-e", "https://www.pixiv.net/", "-K", list)
        guard output.status == 0 else { throw Failure("curl: \(output.status)") }
        return try paths.indices.map { try Data(contentsOf: URL(filePath: "\(folder)/\($0)")) }
    }
}
