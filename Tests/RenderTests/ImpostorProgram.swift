import Foundation
import TestSupport

/// A program in the place of `rankfs-render` that greets as it should and then answers as a test says.
struct ImpostorProgram {
    let path: String

    /// - Parameters:
    ///   - answer: Python that writes to the socket `s`, after a job's first bytes have come.
    ///   - greeting: What it sends first.
    /// - Throws: What keeps it from being written.
    init(_ answer: String, greeting: [UInt8]) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "rankfs-impostor-\(UUID().uuidString)").path
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
        let install = SpawnedProcess()
        install.executableURL = URL(filePath: "/usr/bin/install")
        install.arguments = ["-m", "700", text.path, path]
        try install.run()
        install.waitUntilExit()
        try FileManager.default.removeItem(at: text)
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}
