/// The first and the last bytes of a picture, gathered while it arrives in any order.
struct PictureEdges: Sendable {
    /// The first bytes, as far as they came without a hole.
    private(set) var head: [UInt8] = []
    /// The last bytes by their distance from the end; nil where none came yet.
    private var tail: [UInt8?] = Array(repeating: nil, count: PictureFormat.tailLength)
    /// The newest bytes, and where they end: the last ones of a picture whose length nobody told.
    private var rolling: [UInt8] = []
    private var rollingEnd: Int64 = 0

    init() {}

    /// Whether the beginning is there, or all of a picture that is shorter.
    func headIsComplete(total: Int64?) -> Bool {
        head.count >= Int(min(Int64(PictureFormat.headLength), total ?? .max))
    }

    /// The last bytes once all of them are there.
    func completeTail(total: Int64) -> [UInt8]? {
        let known = tail.suffix(Int(min(total, Int64(PictureFormat.tailLength)))).compactMap(\.self)
        return known.count == Int(min(total, Int64(PictureFormat.tailLength))) ? known : nil
    }

    /// Takes note of bytes that arrived.
    ///
    /// - Parameters:
    ///   - bytes: What arrived.
    ///   - offset: Where in the picture it belongs.
    ///   - total: The picture's length, if known.
    mutating func note(_ bytes: UnsafeRawBufferPointer, at offset: Int64, total: Int64?) {
        let wanted = PictureFormat.headLength
        if offset <= Int64(head.count), head.count < wanted {
            let skipped = head.count - Int(offset)
            let available = unsafe bytes.dropFirst(skipped).prefix(wanted - head.count)
            unsafe head.append(contentsOf: available)
        }
        if offset != rollingEnd { rolling = [] }
        rollingEnd = offset + Int64(bytes.count)
        unsafe rolling.append(contentsOf: bytes.suffix(PictureFormat.tailLength))
        rolling.removeFirst(max(0, rolling.count - PictureFormat.tailLength))
        guard let total else { return }
        let tailStart = total - Int64(PictureFormat.tailLength)
        let first = max(offset, tailStart)
        let end = min(offset + Int64(bytes.count), total)
        guard first < end else { return }
        for position in first..<end {
            tail[Int(position - tailStart)] = unsafe bytes[Int(position - offset)]
        }
    }

    /// The length became known, after bytes came that may belong to the end.
    mutating func learned(total: Int64) {
        let tailStart = total - Int64(PictureFormat.tailLength)
        let first = rollingEnd - Int64(rolling.count)
        for (position, byte) in zip(first..., rolling) where position >= tailStart && position < total {
            tail[Int(position - tailStart)] = byte
        }
    }

    /// Whether what came without a hole up to a place is a whole picture.
    func endsWhole(_ format: PictureFormat, at end: Int64) -> Bool {
        rollingEnd == end && headIsComplete(total: end) && PictureFormat(head: head) == format
            && format.isWhole(tail: rolling, head: head, length: end)
    }
}
