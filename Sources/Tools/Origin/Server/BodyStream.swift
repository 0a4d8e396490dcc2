/// The bytes of an answer on their way out.
///
/// ## Concurrency
/// Belongs to its connection's thread, as `Exchange` does.
final class BodyStream {
    private let answer: Response
    private let drawn: DrawnPicture?
    private let delivery: Delivery
    private let exchange: Exchange
    private let socket: Int32
    private let isOver: () -> Bool
    private var limit: RateLimit?

    init(
        _ answer: Response, _ delivery: Delivery, drawn: DrawnPicture?, exchange: Exchange, rate: Int?, socket: Int32,
        isOver: @escaping () -> Bool
    ) {
        self.answer = answer
        self.delivery = delivery
        self.drawn = drawn
        self.exchange = exchange
        self.socket = socket
        self.isOver = isOver
        limit = (delivery.rate ?? rate).map(RateLimit.init(bytesPerSecond:))
    }

    /// Copies what comes next, after waiting for the rate; 0 at the end, nil when the connection is to be closed.
    func next(from offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let end = delivery.isEndless ? Int.max : answer.length
        guard offset < end else { return 0 }
        guard offset < delivery.stop else {
            breakOff(at: offset)
            return nil
        }
        var room = min(buffer.count, min(end, delivery.stop) - offset)
        while let allowance = limit?.allowance {
            if allowance > 0 {
                room = min(room, allowance)
                break
            }
            guard Pace.wait(milliseconds: Pace.slice, isOver: isOver) else { return nil }
        }
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<room])
        guard unsafe copy(from: offset, into: part) else { return nil }
        unsafe spoil(part, from: offset)
        limit?.spend(room)
        exchange.sent += room
        return room
    }

    // MARK: -

    private func breakOff(at offset: Int) {
        if offset == delivery.stallAt {
            _ = Pace.wait(milliseconds: .max / 2, isOver: isOver)
        } else if offset == delivery.resetAt {
            RawSocket(socket).reset()
        }
    }

    private func copy(from offset: Int, into part: UnsafeMutableRawBufferPointer) -> Bool {
        guard offset < answer.length else {
            // beyond the end of an endless body
            unsafe part.initializeMemory(as: UInt8.self, repeating: 0x55)
            return true
        }
        let count = min(part.count, answer.length - offset)
        let known = unsafe UnsafeMutableRawBufferPointer(rebasing: part[..<count])
        switch answer.body {
        case .bytes(let bytes):
            unsafe bytes.withUnsafeBytes {
                unsafe known.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]))
            }
        case .picture(_, let range):
            guard let drawn, unsafe drawn.read(from: range.lowerBound + offset, into: known) == count else {
                return false
            }
        }
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: part[count...])
        unsafe rest.initializeMemory(as: UInt8.self, repeating: 0x55)
        return true
    }

    private func spoil(_ part: UnsafeMutableRawBufferPointer, from offset: Int) {
        let here = offset..<offset + part.count
        for position in delivery.changed?.clamped(to: here) ?? 0..<0 {
            unsafe part[position - offset] ^= 0xff
        }
        for position in delivery.blank?.clamped(to: here) ?? 0..<0 {
            unsafe part[position - offset] = 0
        }
    }
}
