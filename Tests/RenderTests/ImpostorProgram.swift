import Foundation

/// A program in the place of `rankfs-render` that greets as it should and then answers as a test says.
struct ImpostorProgram {
    let path: String

    /// - Parameters:
    ///   - answer: Python that writes to the socket `s`, after a job's first bytes have come.
    ///   - greeting: What it sends first.
    /// - Throws: What keeps it from being written.
    init(_ answer: String, greeting: [UInt8]) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "rankfs-impostor-\(UUID().uuidString)").path
        let text = """
            #!/usr/bin/python3 -IS
            import array, os, socket, struct, time
            s = socket.socket(fileno=3)
            s.sendall(bytes(\(greeting)))
            s.recv(1)
            \(answer)
            """
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}
