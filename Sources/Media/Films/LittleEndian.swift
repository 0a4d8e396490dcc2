/// Numbers in zip and RIFF files, lowest byte first.
extension [UInt8] {
    /// The number in `bytes` (1 to 4) bytes at `offset`, or nil where they are not all there.
    func littleEndian(at offset: Int, bytes: Int) -> Int? {
        guard offset >= 0, offset <= count - bytes else { return nil }
        return self[offset..<offset + bytes].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Appends a number in `bytes` bytes.
    mutating func append(littleEndian number: Int, bytes: Int) {
        for index in 0..<bytes { append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }
}
