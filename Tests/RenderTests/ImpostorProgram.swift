import Foundation
import TestSupport

/// A program in the place of `rankfs-render` that greets as it should and then answers as a test says.
struct ImpostorProgram: Sendable {
    private let folder = TemporaryFolder()
    var path: String { "\(folder)/program" }

    /// - Parameters:
    ///   - answer: Python that writes to the socket `s`, after a job's first bytes have come.
    ///   - greeting: What it sends first.
    /// - Throws: What keeps it from being written.
    init(_ answer: String, greeting: [UInt8]) throws {
        let script = """
            #!/usr/bin/python3 -IS
            import array, os, socket, struct, time
            s = socket.socket(fileno=3)
            s.sendall(bytes(\(greeting)))
            s.recv(1)
            \(answer)
            """
        // Written by another process: what this one starts meanwhile would hold the file open for writing until its exec, and a
        // program that somebody writes cannot be run (ETXTBSY in execve(2)).
        let text = URL(filePath: path + ".text")
        try Data(script.utf8).write(to: text)
        try Tool("install").run(["-m", "700", text.path, path])
    }
}
