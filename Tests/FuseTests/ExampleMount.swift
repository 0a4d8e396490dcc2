import CLinux
import Foundation
import Fuse
import TestSupport

/// `fuse-example` mounted in a process of its own, at a place of its own.
///
/// Every call blocks: use it on a thread, through ``onThread(_:)``, never in a task.
final class ExampleMount: @unchecked Sendable {
    // `@unchecked` because used on one thread at a time.
    private let folder = TemporaryFolder()
    let daemon = SpawnedProcess()
    var file: URL { folder.url.appending(path: "file") }
    private var readers: [SpawnedProcess] = []

    var path: String { "\(folder)/mount" }

    init(deadline: Duration = .seconds(30), fileSize: Int = 1 << 20) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data((0..<fileSize).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }).write(to: file)
        let output = Pipe()
        daemon.executableURL = URL(filePath: "\(TestPrograms.besideTests)/fuse-example")
        let milliseconds = deadline.components.seconds * 1000 + deadline.components.attoseconds / 1_000_000_000_000_000
        daemon.arguments = [path, file.path, String(milliseconds)]
        daemon.environment = ["SWIFT_BACKTRACE": "enable=no"]
        daemon.standardOutput = output.fileHandleForWriting
        try daemon.run()
        let line = output.fileHandleForReading.availableData
        guard line == Data("ready\n".utf8) else { throw Trouble(text: "fuse-example did not mount") }
    }

    /// Leaves no mount and no process behind.
    func end() {
        daemon.terminate()
        if !poll(upTo: 5, { !daemon.isRunning }) { daemon.signal(SIGKILL) }
        if isMounted { MountTable.unmountLazily(path) }
        for reader in readers where reader.isRunning { reader.terminate() }
    }

    var isMounted: Bool {
        MountTable.current().mount(at: path.utf8) != nil
    }

    /// The whole of a file, or errno.
    func read(_ name: String) -> Result<[UInt8], Errno> {
        let descriptor = open("\(path)/\(name)", O_RDONLY)
        guard descriptor >= 0 else { return .failure(Errno(rawValue: errno)) }
        defer { close(descriptor) }
        var result: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 100_000)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            guard count >= 0 else { return .failure(Errno(rawValue: errno)) }
            guard count > 0 else { return .success(result) }
            result += piece[..<count]
        }
    }

    /// A file that shows a number.
    func number(in name: String) throws -> Int? {
        Int(String(decoding: try read(name).get(), as: UTF8.self).trimmingCharacters(in: .newlines))
    }

    /// Waits until so many requests for silent names wait in the daemon.
    func waitForReaders(_ count: Int) throws {
        guard try poll({ try number(in: "waiting") == count }) else {
            throw Trouble(text: "\(try number(in: "waiting") ?? 0) readers wait, not \(count)")
        }
    }

    /// Starts a process that reads a file, as a person would.
    func startReader(of name: String, with command: String = "/bin/cat") throws -> SpawnedProcess {
        let reader = try start(command, ["\(path)/\(name)"])
        readers.append(reader)
        return reader
    }

    /// The lines that a command prints; its arguments are paths in the mount if they do not begin with a dash.
    func lines(of command: String, _ arguments: [String]) throws -> [String] {
        let output = Pipe()
        let process = try start(command, arguments.map { $0.hasPrefix("-") ? $0 : "\(path)/\($0)" }, output: output)
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func start(_ command: String, _ arguments: [String], output: Pipe? = nil) throws -> SpawnedProcess {
        let process = SpawnedProcess()
        process.executableURL = URL(filePath: command)
        process.arguments = arguments
        process.standardOutput = output?.fileHandleForWriting ?? FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }
}

struct Trouble: Error {
    let text: String
}

/// Mounts the example, runs `body` on a thread, and clears everything away.
func withExample<Value: Sendable>(
    deadline: Duration = .seconds(30), _ body: @escaping @Sendable (ExampleMount) throws -> Value
) async throws -> Value {
    try await onThread {
        let mount = try ExampleMount(deadline: deadline)
        defer { mount.end() }
        return try body(mount)
    }
}
