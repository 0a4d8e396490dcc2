import Foundation
import TestSupport

/// A program of the system that examines files.
struct Tool {
    /// The root of the package.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    let path: String

    init(_ name: String) { path = "/usr/bin/\(name)" }

    /// Whether the program is installed.
    var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// Runs the program to its end; returns its exit status, and its output and errors.
    func run(_ arguments: [String]) throws -> (status: Int32, said: String) {
        let process = SpawnedProcess()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe.fileHandleForWriting
        process.standardError = pipe.fileHandleForWriting
        try process.run()
        try pipe.fileHandleForWriting.close()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
