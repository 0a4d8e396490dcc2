import CLinux
import Foundation

/// A mount by the program under test, in a process of its own.
final class Mount: @unchecked Sendable {
    // @unchecked: each mount is used by one thread at a time.
    let path: String
    let cache: String
    let child: Child
    private let workplace: Workplace
    let service: Service

    init(
        _ workplace: Workplace, of origin: OriginProcess, options: [String] = [], named name: String = "mount",
        variables more: [String: String?] = [:], source: String? = nil, before: [String] = []
    ) throws {
        self.workplace = workplace
        service = origin.service
        path = try workplace.folder(name)
        cache = Self.cache(of: origin.service, in: workplace)
        workplace.willMount(at: path)
        // A test is no polite user of a service: the bucket must not slow it.
        // Names are compared with the origin's ranks, of which none is left out.
        let all = [origin.mountOptions, "cache_dir=\(cache)", "rate=1000", "withheld=show"] + options
        // No test writes into the home of whoever runs it.
        var variables = ProcessInfo.processInfo.environment
        variables["XDG_CACHE_HOME"] = workplace.directory.appending(path: "xdg").path
        for (name, value) in more { variables[name] = value }
        let words = before + [Workplace.rankfs, "mount", "-f", source ?? origin.service.rawValue, path]
        child = try workplace.start(
            words[0], words.dropFirst() + ["-o", all.joined(separator: ",")], environment: variables)
        let (mounted, started) = (path, child)
        // A stale mount is in the table too, and its cached attributes still answer: only the process itself tells.
        guard poll({ Self.servingProcess(of: mounted) == started.pid || !started.process.isRunning }),
            started.process.isRunning
        else {
            throw Failure("not mounted: \(child.errorText)")
        }
    }

    /// The cache directory of a service's mounts.
    static func cache(of service: Service, in workplace: Workplace) -> String {
        workplace.directory.appending(path: service == .pixiv ? "cache" : "cache-\(service)").path
    }

    /// SIGTERM, as systemd and a logout do it; true if it ended by itself with status 0 and unmounted.
    @discardableResult
    func unmount(upTo seconds: Double = 10) -> Bool {
        child.signal(SIGTERM)
        guard let output = child.wait(upTo: seconds) else { return false }
        return output.status == 0 && !Workplace.isMounted(path)
    }

    /// As a crash or the kernel's memory killer does it.
    func killHard() {
        child.signal(SIGKILL)
        _ = child.wait(upTo: 10)
    }

    /// The published day that all tests look at: far in the past, so frozen.
    static let day = "2024-05-01"

    func day(_ mode: String? = nil, _ day: String = Mount.day) -> String {
        "\(path)/ranking/\(mode ?? service.daily)/\(day)"
    }

    /// The names in a directory of the pictures that are not withheld, which have a size.
    func readable(_ directory: String) throws -> [String] {
        try names(directory).filter { name in try MountTests.status(of: "\(directory)/\(name)").st_size > 0 }
    }

    /// The paths of the pictures in a directory that are not withheld; of none is the size requested for that.
    func shown(_ directory: String) throws -> [String] {
        try names(directory).map { "\(directory)/\($0)" }.filter {
            extendedAttribute("user.rankfs.withheld", of: $0) == nil
        }
    }

    /// The first pictures of the day that are not withheld: the path of each, and its entry at the origin.
    func pictures(_ count: Int = .max, of origin: OriginProcess) throws -> [(path: String, entry: OriginEntry)] {
        try zip(names(day()), origin.ranking()).filter { !$1.isWithheld }.prefix(count).map { ("\(day())/\($0)", $1) }
    }

    /// A part of the mount's status.
    func figures(_ names: String...) throws -> [String: Any] {
        try names.reduce(status()) { $0[$1] as? [String: Any] ?? [:] }
    }

    /// Whether the mount says that it downloads nothing now.
    var isIdle: Bool { ((try? figures("cache"))?["downloads"] as? [Any])?.isEmpty == true }

    func names(_ directory: String) throws -> [String] {
        let output = try workplace.run("ls", "-U", directory)
        guard output.status == 0 else { throw Failure(output.errors) }
        return output.lines
    }

    /// The entry of a rank.
    func picture(_ rank: Int, in directory: String) throws -> String {
        let prefix = String(format: "%03d-", rank)
        guard let name = try names(directory).first(where: { $0.hasPrefix(prefix) }) else {
            throw Failure("no rank \(rank) in \(directory)")
        }
        return "\(directory)/\(name)"
    }

    /// What the mount says of itself.
    func status() throws -> [String: Any] { try Self.status(of: path) }

    private static func status(of mountPoint: String) throws -> [String: Any] {
        let data = try read("\(mountPoint)/.rankfs/status.json").get()
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    private static func servingProcess(of mountPoint: String) -> Int32? {
        ((try? status(of: mountPoint))?["pid"] as? NSNumber)?.int32Value
    }
}

/// An extended attribute as text, nil if there is none.
func extendedAttribute(_ name: String, of path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let length = getxattr(path, name, &buffer, buffer.count)
    return length < 0 ? nil : String(decoding: buffer.prefix(length), as: UTF8.self)
}

/// The state of a picture: "stored", "absent", "queued", or the progress of its download.
func state(of path: String) -> String? { extendedAttribute("user.rankfs.state", of: path) }

/// Has pictures dropped until none is stored: the kernel reports a close after close(2) has returned, and an open picture stays.
func evict(_ paths: [String], of pictures: [String], _ workplace: Workplace) -> Bool {
    poll {
        (try? workplace.run([Workplace.rankfs, "evict"] + paths).status) == 0
            && pictures.allSatisfy { state(of: $0) == "absent" }
    }
}

/// Every file below a folder, by its path there.
func files(below folder: String) -> Set<String> {
    Set(FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []).filter { path in
        (try? status(of: "\(folder)/\(path)").st_mode & S_IFMT) == S_IFREG
    }
}

/// stat(2) as a value.
func status(of path: String) throws -> stat {
    var result = stat()
    guard lstat(path, &result) == 0 else { throw Failure("lstat \(path): \(String(cString: strerror(errno)))") }
    return result
}

/// Reads a file and tells the errno of a failure.
func read(_ path: String, offset: Int64 = 0, count: Int = .max) -> Result<Data, ReadFailure> {
    let file = open(path, O_RDONLY)
    guard file >= 0 else { return .failure(ReadFailure(errno: errno, received: 0)) }
    defer { close(file) }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 131_072)
    while data.count < count {
        let got = pread(file, &buffer, min(buffer.count, count - data.count), off_t(offset) + data.count)
        if got < 0 { return .failure(ReadFailure(errno: errno, received: data.count)) }
        if got == 0 { break }
        data.append(contentsOf: buffer.prefix(got))
    }
    return .success(data)
}

struct ReadFailure: Error {
    let errno: Int32
    let received: Int
}
