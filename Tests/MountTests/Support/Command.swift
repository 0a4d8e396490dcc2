import Foundation
import Glibc
import TestSupport

/// A finished command.
struct Output {
    let status: Int32
    let output: String
    let errors: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }
}

/// A process that a test started and ends itself, by its own handle.
final class Child {
    let process = SpawnedProcess()
    private let outputFile: URL
    private let errorFile: URL

    /// Starts at once; output goes to files, so that a full pipe can stop nothing.
    init(
        _ path: String, _ arguments: [String], environment: [String: String]? = nil, input: FileHandle? = nil,
        in directory: URL
    ) throws {
        let name = UUID().uuidString
        outputFile = directory.appending(path: "\(name).out")
        errorFile = directory.appending(path: "\(name).err")
        for file in [outputFile, errorFile] { _ = FileManager.default.createFile(atPath: file.path, contents: nil) }
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        var variables = environment ?? ProcessInfo.processInfo.environment
        // A crash must end the process, not start an interactive backtrace.
        variables["SWIFT_BACKTRACE"] = "enable=no"
        process.environment = variables
        process.standardInput = input ?? FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: outputFile)
        process.standardError = try FileHandle(forWritingTo: errorFile)
        try process.run()
    }

    var pid: Int32 { process.processIdentifier }

    var outputText: String { (try? String(contentsOf: outputFile, encoding: .utf8)) ?? "" }
    var errorText: String { (try? String(contentsOf: errorFile, encoding: .utf8)) ?? "" }

    func signal(_ number: Int32) {
        process.signal(number)
    }

    /// Whether the process waits inside the kernel for a mount (proc(5), `wchan`).
    var waitsForAMount: Bool {
        guard let place = try? String(contentsOfFile: "/proc/\(pid)/wchan", encoding: .utf8) else { return false }
        return ["request_wait", "fuse", "folio"].contains(where: place.contains)
    }

    /// The result, or nil if the process still runs after so many seconds.
    func wait(upTo seconds: Double = 60) -> Output? {
        guard poll(upTo: seconds, { !process.isRunning }) else { return nil }
        process.waitUntilExit()
        return Output(status: process.terminationStatus, output: outputText, errors: errorText)
    }
}
