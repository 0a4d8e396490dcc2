/// Which bytes of a picture are there: sorted ranges that neither overlap nor touch.
struct RangeSet: Equatable, Sendable {
    private(set) var ranges: [Range<Int64>] = []

    init() {}

    init(_ ranges: [Range<Int64>]) {
        for range in ranges { insert(range) }
    }

    /// Bytes in the set.
    var count: Int64 {
        ranges.reduce(0) { $0 + Int64($1.count) }
    }

    /// Adds bytes; ranges that then touch become one.
    mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        let last = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.count
        guard first < last else {
            ranges.insert(range, at: first)
            return
        }
        let lower = min(range.lowerBound, ranges[first].lowerBound)
        let upper = max(range.upperBound, ranges[last - 1].upperBound)
        ranges.replaceSubrange(first..<last, with: CollectionOfOne(lower..<upper))
    }

    /// Whether every byte of the range is there; an empty range always is.
    func contains(_ range: Range<Int64>) -> Bool {
        range.isEmpty || ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    /// The first byte at or after `offset` that is not there.
    func firstMissing(from offset: Int64) -> Int64 {
        ranges.first { $0.contains(offset) }?.upperBound ?? offset
    }

    /// The parts of `bounds` that are not there, in order.
    func gaps(in bounds: Range<Int64>) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var cursor = bounds.lowerBound
        for range in ranges where range.upperBound > bounds.lowerBound && range.lowerBound < bounds.upperBound {
            if range.lowerBound > cursor { gaps.append(cursor..<range.lowerBound) }
            cursor = max(cursor, range.upperBound)
        }
        if cursor < bounds.upperBound { gaps.append(cursor..<bounds.upperBound) }
        return gaps
    }
}
