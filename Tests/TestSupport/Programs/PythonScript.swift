package import Foundation

/// A script in Python beside the tests, which greets with a line and ends with its input: it outlives neither its object nor this
/// process.
package final class PythonScript: @unchecked Sendable {
    // `@unchecked` because one thread at a time gives it orders.
    private let process = SpawnedProcess()
    private let orders = Pipe()
    private let answers = Pipe()
    /// Its first line.
    package let greeting: Data

    /// Starts it with the system's Python, which has its modules.
    ///
    /// - Parameters:
    ///   - path: Its path below `Tests`.
    ///   - arguments: What it is started with.
    /// - Throws: ``Tool/Failure`` when it ends without a greeting.
    package init(_ path: String, _ arguments: [String] = []) throws {
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [TestPrograms.root.appending(path: "Tests/\(path)").path] + arguments
        process.standardInput = orders.fileHandleForReading
        process.standardOutput = answers.fileHandleForWriting
        try process.run()
        greeting = Self.line(from: answers.fileHandleForReading)
        guard !greeting.isEmpty else { throw Tool.Failure() }
    }

    /// Gives it an order, a JSON object, and returns the line with which it answers.
    ///
    /// - Throws: ``Tool/Failure`` when it has ended.
    @discardableResult
    package func tell(_ order: [String: Any]) throws -> Data {
        try orders.fileHandleForWriting.write(
            contentsOf: JSONSerialization.data(withJSONObject: order) + Data("\n".utf8))
        let line = Self.line(from: answers.fileHandleForReading)
        guard !line.isEmpty else { throw Tool.Failure() }
        return line
    }

    private static func line(from handle: FileHandle) -> Data {
        var line = Data()
        while let byte = try? handle.read(upToCount: 1), !byte.isEmpty, byte[0] != UInt8(ascii: "\n") { line += byte }
        return line
    }
}
