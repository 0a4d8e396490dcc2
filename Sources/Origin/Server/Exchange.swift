/// One request and its answer, from the first line until the log entry.
///
/// ## Concurrency
/// Belongs to its connection's thread: libmicrohttpd runs all callbacks of a connection on that one.
final class Exchange {
    let target: String
    let connection: Int
    let started: Int64
    var request: Request?
    var body: [UInt8] = []
    var status = 0
    /// Bytes of the body handed out.
    var sent = 0
    var fault: String?

    init(target: String, connection: Int) {
        self.target = target
        self.connection = connection
        started = Pace.now
    }

    /// The largest body of a request that is kept: scripts of faults are a few lines.
    static let maximumBody = 1 << 20
}

/// The bytes of an answer on their way out.
///
/// ## Concurrency
/// Belongs to its connection's thread, as `Exchange` does.
final class BodyStream {
    private let answer: Answer
    private let drawn: DrawnPicture?
    private let exchange: Exchange
    private var limit: RateLimit?
    private let isOver: () -> Bool

    init(_ answer: Answer, drawn: DrawnPicture?, exchange: Exchange, rate: Int?, isOver: @escaping () -> Bool) {
        self.answer = answer
        self.drawn = drawn
        self.exchange = exchange
        limit = rate.map(RateLimit.init(bytesPerSecond:))
        self.isOver = isOver
    }

    /// Copies what comes next, after waiting for the rate; 0 at the end, nil when nobody waits any more.
    func next(from offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard offset < answer.length else { return 0 }
        var room = min(buffer.count, answer.length - offset)
        while let allowance = limit?.allowance {
            if allowance > 0 {
                room = min(room, allowance)
                break
            }
            guard Pace.wait(milliseconds: Pace.slice, isOver: isOver) else { return nil }
        }
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<room])
        switch answer.body {
        case .bytes(let bytes):
            unsafe bytes.withUnsafeBytes {
                unsafe part.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + room]))
            }
        case .picture(_, let range):
            guard let drawn, unsafe drawn.read(from: range.lowerBound + offset, into: part) == room else { return nil }
        }
        limit?.spend(room)
        exchange.sent += room
        return room
    }
}
