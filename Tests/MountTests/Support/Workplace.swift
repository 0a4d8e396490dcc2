import CLinux
import Foundation
import TestSupport

/// A directory of one test with the processes and mounts made in it; `close` ends them all.
final class Workplace: @unchecked Sendable {
    // @unchecked: one test uses one workplace, and hands it to one thread at a time.
    let directory: URL
    private(set) var children: [Child] = []
    private var mountPoints: [String] = []

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "rankfs-test-\(UUID().uuidString)")
        // Open to the other users of some tests, whatever the umask.
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    }

    /// The program under test.
    static let rankfs = "\(TestPrograms.directory)/rankfs"

    func start(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil, input: FileHandle? = nil
    ) throws -> Child {
        let path = program.hasPrefix("/") ? program : "\(TestPrograms.directory)/\(program)"
        let child = try Child(path, arguments, environment: environment, input: input, in: directory)
        children.append(child)
        return child
    }

    /// Runs a command to its end, which is made after so many seconds; then its errors tell what everybody waited for.
    @discardableResult
    func run(_ arguments: String..., upTo seconds: Int = 60) throws -> Output {
        try run(arguments, upTo: seconds)
    }

    func run(_ arguments: [String], upTo seconds: Int = 60) throws -> Output {
        // timeout(1) ends what the command started, too.
        let child = try Child("/usr/bin/timeout", ["-k", "2", "\(seconds + 5)"] + arguments, in: directory)
        if let output = child.wait(upTo: Double(seconds)) { return output }
        let waits = Waits.ofDescendants()
        child.signal(SIGTERM)
        if child.wait(upTo: 5) == nil { child.signal(SIGKILL) }
        return Output(
            status: 124, output: child.outputText,
            errors: "\(child.errorText)\nstill running: \(arguments)\n\(waits)")
    }

    /// Runs the program under test to its end.
    @discardableResult
    func rankfs(_ arguments: String..., upTo seconds: Int = 60) throws -> Output {
        try run([Self.rankfs] + arguments, upTo: seconds)
    }

    /// Runs `rankfs mount` of an origin on a directory, as a person does, until it returns.
    func mount(_ origin: OriginProcess, on directory: String, _ options: String = "") throws -> Output {
        willMount(at: directory)
        let cache = self.directory.appending(path: "cache").path
        let given = "\(origin.mountOptions),cache_dir=\(cache)"
        return try rankfs(
            "mount", origin.service.rawValue, directory, "-o", options.isEmpty ? given : "\(given),\(options)")
    }

    /// The options of a mount for a user's session.
    func signedIn(_ user: Int = 1000) throws -> [String] {
        let session = directory.appending(path: "cookies-\(user).txt")
        let line = ["127.0.0.1", "FALSE", "/", "FALSE", "0", "PHPSESSID", "\(user)_visitorsecret"]
        try (line.joined(separator: "\t") + "\n").write(to: session, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: session.path)
        return ["cookies=\(session.path)"]
    }

    func folder(_ name: String) throws -> String {
        let path = directory.appending(path: name).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    func willMount(at path: String) {
        mountPoints.append(path)
    }

    /// Ends what was started, mounts first; never touches anything else.
    func close() {
        for child in children { child.signal(SIGTERM) }
        for path in mountPoints where !poll(upTo: 6, { !Self.isMounted(path) }) {
            umount2(path, Int32(MNT_DETACH))
        }
        for child in children where child.wait(upTo: 6) == nil { child.signal(SIGKILL) }
        for child in children { _ = child.wait(upTo: 5) }
        try? FileManager.default.removeItem(at: directory)
    }

    /// Whether something is mounted there, as a process sees it: this one unless another is named.
    static func isMounted(_ path: String, for process: Int32 = getpid()) -> Bool {
        guard let table = try? String(contentsOfFile: "/proc/\(process)/mountinfo", encoding: .utf8) else {
            return false
        }
        return table.split(separator: "\n").contains {
            $0.split(separator: " ").dropFirst(4).first.map(String.init) == path
        }
    }
}
