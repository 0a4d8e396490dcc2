package import Foundation

/// A program of the system, which a machine may lack.
package struct Tool: Sendable {
    /// A program that is not there, or did not do what it should.
    package struct Failure: Error {
        package init() {}
    }

    /// What came of it.
    package struct Outcome: Sendable {
        package let status: Int32
        package let output: Data
        package var said: String { String(decoding: output, as: UTF8.self) }
    }

    package let path: String

    package init(_ name: String) {
        let paths = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"].map { "\($0)/\(name)" }
        path = paths.first(where: FileManager.default.isExecutableFile) ?? paths[0]
    }

    package var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// Runs it to its end.
    ///
    /// - Parameters:
    ///   - arguments: What it is started with.
    ///   - hearsErrors: Whether its errors are a part of its output.
    /// - Returns: What came of it.
    /// - Throws: What keeps it from being started.
    @discardableResult
    package func run(_ arguments: [String], hearsErrors: Bool = true) throws -> Outcome {
        let process = SpawnedProcess()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe.fileHandleForWriting
        process.standardError = hearsErrors ? pipe.fileHandleForWriting : .nullDevice
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Outcome(status: process.terminationStatus, output: output)
    }
}
