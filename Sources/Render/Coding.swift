/// Writes numbers, texts and bytes one behind the other: numbers in eight bytes, lowest first, everything else behind its length.
struct MessageWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ number: Int64) {
        for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    mutating func write(_ data: [UInt8]) {
        write(Int64(data.count))
        bytes += data
    }

    mutating func write(_ text: String) {
        write(Array(text.utf8))
    }

    mutating func write(_ range: Range<Int64>) {
        write(range.lowerBound)
        write(range.upperBound)
    }

    mutating func write<Element>(_ list: [Element], _ write: (inout MessageWriter, Element) -> Void) {
        self.write(Int64(list.count))
        for element in list { write(&self, element) }
    }
}

/// Reads them back, whoever wrote them.
struct MessageReader {
    /// What came is no message.
    struct Nonsense: Error {}

    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    mutating func number() throws(Nonsense) -> Int64 {
        guard rest.count >= 8 else { throw Nonsense() }
        let number = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        return Int64(bitPattern: number)
    }

    /// A number that is a length, a size or a place in memory.
    mutating func count() throws(Nonsense) -> Int {
        guard let count = Int(exactly: try number()), count >= 0 else { throw Nonsense() }
        return count
    }

    mutating func data() throws(Nonsense) -> [UInt8] {
        let count = try count()
        guard count <= rest.count else { throw Nonsense() }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func text() throws(Nonsense) -> String {
        String(decoding: try data(), as: UTF8.self)
    }

    mutating func range() throws(Nonsense) -> Range<Int64> {
        let (begin, end) = (try number(), try number())
        guard begin >= 0, begin <= end else { throw Nonsense() }
        return begin..<end
    }

    mutating func list<Element>(
        _ element: (inout MessageReader) throws(Nonsense) -> Element
    ) throws(Nonsense) -> [Element] {
        let count = try count()
        // Each takes at least eight bytes.
        guard count <= rest.count / 8 else { throw Nonsense() }
        var list: [Element] = []
        for _ in 0..<count { list.append(try element(&self)) }
        return list
    }

    /// Nothing may stand behind what was read.
    func end() throws(Nonsense) {
        guard rest.isEmpty else { throw Nonsense() }
    }
}
