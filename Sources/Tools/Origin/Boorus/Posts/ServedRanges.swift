import Rankings

/// The ranges of metatags: `A`, `A..B`, `A..`, `..B`, `>A`, `>=A`, `<A`, `<=A`.
enum ServedRanges {
    /// A range of days; nil for what is none.
    static func days(_ text: Substring, first: Day) -> ClosedRange<Day>? {
        range(text, least: first, most: Day(ordinal: .max), parse: { Day(String($0)) }) { $0.advanced(by: $1) }
    }

    /// The days of a range of Danbooru's, whose dates are midnights (`range_parser.rb`); nil for one that has no day.
    ///
    /// Only a date alone is its whole day. A range ends when its last date begins: `A..B` lacks B as `A...B` does, but for posts of
    /// that very moment, of which there are none here; `<=A` lacks A, and `>A` has it.
    static func midnights(_ text: Substring, first: Day) -> ClosedRange<Day>? {
        if let day = Day(String(text)) { return day...day }
        func closed(_ low: Day?, _ end: Day?) -> ClosedRange<Day>? {
            guard let low, let end, low < end else { return nil }
            return low...end.advanced(by: -1)
        }
        let end = Day(ordinal: .max)
        if let sign = text.first, sign == ">" || sign == "<" {
            let rest = text.dropFirst()
            let day = Day(String(rest.first == "=" ? rest.dropFirst() : rest))
            return sign == ">" ? closed(day, end) : closed(first, day)
        }
        guard let dot = text.firstIndex(of: ".") else { return nil }
        let (one, other) = (text[..<dot], text[dot...].drop { $0 == "." })
        let dots = text.utf8.count - one.utf8.count - other.utf8.count
        switch (one.isEmpty, other.isEmpty, dots) {
        case (true, false, 2): return closed(first, Day(String(other)))
        case (false, true, 2): return closed(Day(String(one)), end)
        case (false, false, 2), (false, false, 3):
            guard let one = Day(String(one)), let other = Day(String(other)) else { return nil }
            return closed(min(one, other), max(one, other))
        default: return nil
        }
    }

    /// A range of numbers; nil for what is none.
    static func numbers(_ text: Substring) -> ClosedRange<Int64>? {
        range(text, least: Int64.min / 2, most: Int64.max / 2, parse: number) { $0 + Int64($1) }
    }

    /// A number far from overflowing.
    private static func number(_ text: Substring) -> Int64? {
        guard let number = Int64(text), (Int64.min / 4...Int64.max / 4).contains(number) else { return nil }
        return number
    }

    private static func range<Bound: Comparable>(
        _ text: Substring, least: Bound, most: Bound, parse: (Substring) -> Bound?, moved: (Bound, Int) -> Bound
    ) -> ClosedRange<Bound>? {
        func closed(_ low: Bound?, _ high: Bound?) -> ClosedRange<Bound>? {
            guard let low, let high, low <= high else { return nil }
            return low...high
        }
        for (prefix, isLow, step) in [(">=", true, 0), ("<=", false, 0), (">", true, 1), ("<", false, -1)]
        where text.hasPrefix(prefix) {
            guard let bound = parse(text.dropFirst(prefix.count)) else { return nil }
            return isLow ? closed(moved(bound, step), most) : closed(least, moved(bound, step))
        }
        var rest = text
        while let dot = rest.firstIndex(of: ".") {
            let low = text[..<dot]
            let next = rest[dot...].dropFirst()
            if next.first == "." {
                let high = next.dropFirst()
                guard !low.isEmpty || !high.isEmpty else { return nil }
                return closed(low.isEmpty ? least : parse(low), high.isEmpty ? most : parse(high))
            }
            rest = next
        }
        return parse(text).map { $0...$0 }
    }
}
