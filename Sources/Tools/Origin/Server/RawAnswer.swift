/// An answer whose header is written by hand.
enum RawAnswer {
    /// The header's bytes.
    static func header(_ answer: Response, _ raw: Delivery.RawHeader) -> [UInt8] {
        if case .garbage = raw { return Array("\u{1}\u{2}this is no HTTP\r\n\r\n".utf8) }
        var lines = ["HTTP/1.1 \(answer.status) \(answer.status == 200 ? "OK" : "Partial Content")"]
        lines += answer.headers.map { "\($0.0): \($0.1)" }
        switch raw {
        case .lengths(let lengths): lines += lengths.map { "Content-Length: \($0)" }
        case .hugeHeader:
            lines += ["X-Large: " + String(repeating: "a", count: megabyte), "Content-Length: \(answer.length)"]
        case .manyHeaders:
            lines += (0..<many).map { "X-Number-\($0): \($0)" } + ["Content-Length: \(answer.length)"]
        case .garbage: break
        }
        lines += ["Connection: close", "", ""]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// Sends header and body; answers whether all of it went out.
    static func send(
        _ answer: Response, _ raw: Delivery.RawHeader, stream: BodyStream?, to socket: RawSocket, isOver: () -> Bool
    ) -> Bool {
        let head = header(answer, raw)
        guard unsafe head.withUnsafeBytes({ unsafe socket.send($0, isOver: isOver) }) else { return false }
        guard let stream else { return true }
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        var offset = 0
        while true {
            guard let count = unsafe piece.withUnsafeMutableBytes({ unsafe stream.next(from: offset, into: $0) }) else {
                return false
            }
            if count == 0 { return true }
            let sent = unsafe piece.withUnsafeBytes { bytes in
                unsafe socket.send(UnsafeRawBufferPointer(rebasing: bytes[..<count]), isOver: isOver)
            }
            guard sent else { return false }
            offset += count
        }
    }

    private static let megabyte = 1 << 20
    private static let many = 10_000
}
