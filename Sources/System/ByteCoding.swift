/// Writes numbers, texts and bytes one after the other: numbers in eight bytes, lowest first, all else after its length.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Writes a number.
    package mutating func write(_ number: Int64) {
        for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    /// Writes bytes after their number.
    package mutating func write(_ data: [UInt8]) {
        write(Int64(data.count))
        bytes += data
    }

    /// Writes a text as its UTF-8.
    package mutating func write(_ text: String) { write(Array(text.utf8)) }

    /// Writes the first 255 bytes of a text, after their number in one byte.
    package mutating func write(short text: String) {
        let utf8 = text.utf8.prefix(255)
        bytes.append(UInt8(utf8.count))
        bytes += utf8
    }

    /// Writes both ends of a range.
    package mutating func write(_ range: Range<Int64>) {
        write(range.lowerBound)
        write(range.upperBound)
    }

    /// Writes the elements of a list after their number.
    package mutating func write<Element>(_ list: [Element], _ write: (inout ByteWriter, Element) -> Void) {
        self.write(Int64(list.count))
        for element in list { write(&self, element) }
    }

    /// Fills up to `length` bytes, the last eight of which are the hash of those before.
    package func sealed(length: Int) -> [UInt8] {
        var sealed = self
        sealed.bytes += Array(repeating: 0, count: max(0, length - 8 - bytes.count))
        sealed.write(Int64(bitPattern: XXH3.hash(sealed.bytes)))
        return sealed.bytes
    }
}

/// Reads these values back from untrusted bytes; nil wherever they do not suffice.
package struct ByteReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    /// Opens sealed bytes; nil if the hash at their end does not fit.
    package init?(sealed bytes: [UInt8]) {
        guard bytes.count >= 8 else { return nil }
        rest = bytes.suffix(8)
        guard let hash = number(), UInt64(bitPattern: hash) == XXH3.hash(Array(bytes.dropLast(8))) else { return nil }
        rest = bytes.dropLast(8)
    }

    /// Whether no bytes follow the values that were read.
    package var isAtEnd: Bool { rest.isEmpty }

    /// Reads a number.
    package mutating func number() -> Int64? {
        take(8).map { Int64(bitPattern: $0.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) }
    }

    /// Reads a number that is a length, a size or a place in memory.
    package mutating func count() -> Int? { number().flatMap { $0 < 0 ? nil : Int(exactly: $0) } }

    /// Reads bytes.
    package mutating func data() -> [UInt8]? { count().flatMap { take($0) }.map(Array.init) }

    /// Reads a text; bytes that are no UTF-8 are replaced.
    package mutating func text() -> String? { data().map { String(decoding: $0, as: UTF8.self) } }

    /// Reads a text of at most 255 bytes; nil also for bytes that are no UTF-8.
    package mutating func shortText() -> String? {
        guard let count = take(1)?.first, let bytes = take(Int(count)) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Reads a range.
    package mutating func range() -> Range<Int64>? {
        guard let begin = number(), let end = number(), begin >= 0, begin <= end else { return nil }
        return begin..<end
    }

    /// Reads a list.
    package mutating func list<Element>(_ element: (inout ByteReader) -> Element?) -> [Element]? {
        // Each element takes at least eight bytes.
        guard let count = count(), count <= rest.count / 8 else { return nil }
        var list: [Element] = []
        for _ in 0..<count {
            guard let next = element(&self) else { return nil }
            list.append(next)
        }
        return list
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
