internal import Digests

/// Writes numbers and texts as bytes, little-endian.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    init() {}

    mutating func write(_ value: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift))) }
    }

    mutating func write(_ value: Int64) {
        write(UInt64(bitPattern: value))
    }

    /// A text of at most 255 bytes, after its length.
    mutating func write(_ text: String) {
        let utf8 = Array(text.utf8.prefix(255))
        bytes.append(UInt8(utf8.count))
        bytes.append(contentsOf: utf8)
    }

    /// Fills up to `length` bytes, the last eight of which are the hash of those before.
    func sealed(length: Int) -> [UInt8] {
        var sealed = bytes + Array(repeating: 0, count: max(0, length - 8 - bytes.count))
        let hash = XXH3.hash(sealed)
        for shift in stride(from: 0, to: 64, by: 8) { sealed.append(UInt8(truncatingIfNeeded: hash >> UInt64(shift))) }
        return sealed
    }
}

/// Reads what `ByteWriter` wrote; nil wherever the bytes do not suffice.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    /// Opens sealed bytes; nil if the hash at their end does not fit.
    init?(sealed bytes: [UInt8]) {
        guard bytes.count >= 8 else { return nil }
        rest = bytes.suffix(8)
        guard let hash = readNumber(), hash == XXH3.hash(Array(bytes.dropLast(8))) else { return nil }
        rest = bytes.dropLast(8)
    }

    mutating func readNumber() -> UInt64? {
        guard rest.count >= 8 else { return nil }
        let value = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        return value
    }

    mutating func readSigned() -> Int64? {
        readNumber().map { Int64(bitPattern: $0) }
    }

    mutating func readText() -> String? {
        guard let count = rest.first, rest.count > Int(count) else { return nil }
        let text = String(validating: rest.dropFirst().prefix(Int(count)), as: UTF8.self)
        rest = rest.dropFirst(Int(count) + 1)
        return text
    }
}
