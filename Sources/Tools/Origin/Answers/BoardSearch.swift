import Rankings

/// What a search for posts asks for.
struct Query: Sendable {
    /// Days, both included; nil for any.
    var days: ClosedRange<Day>?
    /// Numbers, in ranges; nil for any.
    var ids: [ClosedRange<Int64>]?
    var digest: String?
    var ratings = Set(Post.Rating.allCases)
    /// Places in the table of tags.
    var tags: [Int] = []
    var excluded: [Int] = []
    /// Of each list one has to fit as well; what they say of the order is passed over.
    var alternatives: [[Query]] = []
    var formats = Set(Format.allCases)
    var scores: ClosedRange<Int64>?
    var uploader: Int64?
    var parent: Int64?
    var order = Order.newest
    /// For Moebooru, where lists leave deleted posts out.
    var showsDeleted = true
    /// Nothing can match: an unknown tag or a date that is none.
    var isEmpty = false
    /// The database gives up.
    var isSlow = false

    enum Order: Sendable {
        case newest, oldest
        /// By points, then by number, both falling or rising.
        case best, worst
    }

    /// Narrows the days to those that are also in another range.
    mutating func narrow(_ range: ClosedRange<Day>?) {
        guard let range, days?.overlaps(range) != false else { return isEmpty = true }
        days = days?.clamped(to: range) ?? range
    }

    /// Narrows the days to the week from Monday on or the month that holds a day, or to the day itself for any other word.
    mutating func narrow(to scale: String, of day: Day) {
        let (year, month, number) = day.civil
        switch scale {
        case "week":
            // 1970-01-01 was a Thursday.
            let monday = day.advanced(by: -((day.ordinal % 7 + 10) % 7))
            narrow(monday...monday.advanced(by: 6))
        case "month":
            let last = (28...31).last { Day(year: year, month: month, day: $0) != nil } ?? 28
            narrow(day.advanced(by: 1 - number)...day.advanced(by: last - number))
        default: narrow(day...day)
        }
    }
}

extension Universe {
    /// More numbers than that are looked for day by day.
    private static let mostNumbers = 2000

    /// The posts that a query finds, in its order; of a query that names neither days nor numbers those of the newest days.
    func posts(_ query: Query, now: Int64) -> [Post] {
        guard !query.isEmpty else { return [] }
        let found = candidates(query, now: now).filter { matches($0, query) }
        switch query.order {
        case .newest: return found.sorted { $0.id > $1.id }
        case .oldest: return found.sorted { $0.id < $1.id }
        case .best: return found.sorted { ($0.score, $0.id) > ($1.score, $1.id) }
        case .worst: return found.sorted { ($0.score, $0.id) < ($1.score, $1.id) }
        }
    }

    private func candidates(_ query: Query, now: Int64) -> [Post] {
        if let digest = query.digest { return post(digest: digest, now: now).map { [$0] } ?? [] }
        if let parent = query.parent { return (parent...parent + 1).compactMap { post($0, now: now) } }
        var last = min(query.days?.upperBound ?? .init(ordinal: .max), newest(at: now))
        if let ids = query.ids, query.days == nil {
            if ids.reduce(0, { $0 + min($1.count, Self.mostNumbers) }) < Self.mostNumbers {
                return ids.joined().compactMap { post($0, now: now) }
            }
            let most = ids.map(\.upperBound).max() ?? 0
            last = min(last, service.firstDay.advanced(by: Int(min(most, .max >> 8)) / service.stride + 1))
        }
        let first = max(query.days?.lowerBound ?? last.advanced(by: 1 - service.searchedDays), service.firstDay)
        guard first <= last else { return [] }
        return (first.ordinal...last.ordinal).flatMap { posts(on: Day(ordinal: $0), now: now) }
    }

    private func matches(_ post: Post, _ query: Query) -> Bool {
        guard !query.isEmpty, query.ratings.contains(post.rating), query.formats.contains(post.format),
            query.showsDeleted || !post.flags.contains(.deleted),
            query.ids?.contains(where: { $0.contains(post.id) }) ?? true,
            query.scores?.contains(Int64(post.score)) ?? true, query.uploader.map({ $0 == post.account }) ?? true,
            query.parent.map({ $0 == post.id || $0 == post.parent }) ?? true,
            query.days?.contains(service.firstDay.advanced(by: post.slot.day)) ?? true,
            query.alternatives.allSatisfy({ $0.contains { matches(post, $0) } })
        else { return false }
        guard !query.tags.isEmpty || !query.excluded.isEmpty else { return true }
        let tags = tags(of: post)
        return query.tags.allSatisfy(tags.contains) && !query.excluded.contains(where: tags.contains)
    }
}

/// The grammars of searches on boards, as far as anonymous programs use them (reference, 3.1 and 4.1).
///
/// Danbooru alone has parentheses and `or`; a metatag that it does not know is a tag like any other.
struct BoardSearch: Sendable {
    var query = Query()
    /// Tags that count for the limit of anonymous users; on Danbooru an order is one too.
    private(set) var counted = 0
    /// What `limit:` says.
    private(set) var limit: Int?
    private let universe: Universe

    /// Parentheses in parentheses that are understood; more are words like any other.
    private static let mostOpen = 32

    private var isDanbooru: Bool { universe.service == .danbooru }

    /// Reads the words of a search.
    init(_ text: String, _ universe: Universe) {
        self.universe = universe
        let blanks = text.split { $0 == " " || $0 == "\n" || $0 == "\t" }
        query.showsDeleted = isDanbooru
        guard isDanbooru else {
            blanks.forEach { take($0) }
            return
        }
        var words = Self.words(blanks)[...]
        query = alternatives(&words)
        // A parenthesis that nobody opened.
        if !words.isEmpty { query.isEmpty = true }
    }

    // MARK: - Parentheses

    /// Parentheses become words of their own: at the beginning of one, and at its end if it is not a part of the word.
    private static func words(_ blanks: [Substring]) -> [Substring] {
        var (found, open): ([Substring], Int) = ([], 0)
        for word in blanks {
            var (word, closing) = (word, 0)
            while word.first == "(", open < mostOpen {
                found.append("(")
                open += 1
                word.removeFirst()
            }
            while word.last == ")", closing < open, word.count(where: { $0 == ")" }) > word.count(where: { $0 == "(" })
            {
                closing += 1
                word.removeLast()
            }
            if !word.isEmpty { found.append(word) }
            found += Array(repeating: ")", count: closing)
            open -= closing
        }
        return found
    }

    /// `or` is weaker than words that stand side by side: what follows one belongs to its last part alone.
    private mutating func alternatives(_ words: inout ArraySlice<Substring>) -> Query {
        var parts = [part(&words)]
        while words.first?.lowercased() == "or" {
            words.removeFirst()
            parts.append(part(&words))
        }
        guard parts.count > 1 else { return parts[0] }
        var whole = Query()
        whole.alternatives = [parts]
        whole.isSlow = parts.contains(where: \.isSlow)
        return whole
    }

    private mutating func part(_ words: inout ArraySlice<Substring>) -> Query {
        let outer = query
        query = Query()
        while let word = words.first, word != ")", word.lowercased() != "or" {
            words.removeFirst()
            guard word == "(" else {
                if word.lowercased() != "and" { take(word) }
                continue
            }
            let inner = alternatives(&words)
            query.alternatives.append([inner])
            query.isSlow = query.isSlow || inner.isSlow
            if words.popFirst() != ")" { query.isEmpty = true }
        }
        defer { query = outer }
        return query
    }

    // MARK: - Words

    private mutating func take(_ word: Substring) {
        let isNegated = word.hasPrefix("-") && universe.tags.find(word) == nil
        let plain = isNegated ? word.dropFirst() : word
        let place = universe.tags.find(plain)
        if let colon = plain.firstIndex(of: ":"), place == nil {
            if meta(plain[..<colon].lowercased(), plain[plain.index(after: colon)...], isNegated) { return }
            if !isDanbooru { return query.isEmpty = true }
        }
        counted += 1
        guard let place else {
            if !isNegated { query.isEmpty = true }
            return
        }
        if universe.tags.all[place].name == Landmarks.slowTag { query.isSlow = true }
        if isNegated { query.excluded.append(place) } else { query.tags.append(place) }
    }

    private static let orders: [String: Query.Order] = [
        "score": .best, "score_desc": .best, "score_asc": .worst, "id": .oldest, "id_asc": .oldest, "id_desc": .newest,
        "rank": .best, "favcount": .best,
    ]
    private static let ignored: Set = [
        "status", "is", "has", "age", "width", "height", "mpixels", "ratio", "favcount", "tagcount", "source", "holds",
        "pending", "shown", "deleted",
    ]

    /// Takes in a metatag; false for one that is not known.
    private mutating func meta(_ name: String, _ value: Substring, _ isNegated: Bool) -> Bool {
        let text = value.lowercased()
        switch name {
        case "order":
            if isDanbooru { counted += 1 }
            query.order = Self.orders[text] ?? query.order
        case "date":
            query.narrow(isDanbooru ? Span(value)?.midnights(universe) : Span(value)?.days(universe))
        case "rating": rate(text, isNegated)
        case "id":
            query.ids = value.split(separator: "," as Character).compactMap { Span($0)?.numbers }
            query.isEmpty = query.isEmpty || query.ids == []
            // Whoever knows the number is told.
            query.showsDeleted = true
        case "md5":
            query.digest = Universe.digest(in: text)
            query.isEmpty = query.isEmpty || query.digest == nil
        case "score":
            query.scores = Span(value)?.numbers
            query.isEmpty = query.isEmpty || query.scores == nil
        case "filetype" where isDanbooru, "ext" where !isDanbooru:
            let named = Set(text.split(separator: "," as Character).compactMap { Format(rawValue: String($0)) })
            query.formats = isNegated ? query.formats.subtracting(named) : named
        case "limit": limit = Int(value)
        case "parent": query.parent = min(max(0, Int64(value) ?? 0), 1 << 40)
        case "user" where !isDanbooru:
            query.uploader = Uploaders.number(of: String(value))
            query.isEmpty = query.isEmpty || query.uploader == nil
        case "user", "approver", "fav", "pool": query.isEmpty = true
        default: return Self.ignored.contains(name)
        }
        return true
    }

    /// Words are known by their first letter; Danbooru's `safe` was renamed to "sensitive", and Moebooru ignores unknown ones: the list is
    /// then of every rating.
    private mutating func rate(_ text: String, _ isNegated: Bool) {
        var named = text.split(separator: "," as Character).compactMap { word in
            word.first.flatMap { Post.Rating(rawValue: String($0)) }
        }
        if !isDanbooru {
            if text == "questionableless" { named = [.sensitive, .questionable] }
            if text == "questionableplus" { named = [.questionable, .explicit] }
            guard !named.isEmpty, named != [.general] else { return }
        }
        if isNegated { query.ratings.subtract(named) } else { query.ratings.formIntersection(named) }
    }
}

/// A value of a metatag that stands for a range: `A`, `A..B`, `A..`, `..B`, `>A`, `>=A`, `<A`, `<=A`.
private struct Span {
    private let sign: String
    private let low: Substring
    private let high: Substring

    /// Nil for a range without an end.
    init?(_ text: Substring) {
        if let sign = [">=", "<=", ">", "<"].first(where: text.hasPrefix) {
            self.sign = sign
            (low, high) = (text.dropFirst(sign.count), text.dropFirst(sign.count))
            return
        }
        guard let dots = text.firstRange(of: "..") else {
            sign = "="
            (low, high) = (text, text)
            return
        }
        sign = ".."
        (low, high) = (text[..<dots.lowerBound], text[dots.upperBound...])
        guard !low.isEmpty || !high.isEmpty else { return nil }
    }

    /// A range of numbers; nil for what is none.
    var numbers: ClosedRange<Int64>? {
        // Far from overflowing.
        range(least: .min >> 1, most: .max >> 1, { Int64($0).flatMap { abs($0 >> 2) < 1 << 60 ? $0 : nil } }) {
            $0 + $1
        }
    }

    /// A range of days; nil for what is none.
    func days(_ universe: Universe) -> ClosedRange<Day>? {
        range(least: universe.service.firstDay, most: Day(ordinal: .max), { Day(String($0)) }) {
            $0.advanced(by: Int($1))
        }
    }

    private func range<Bound: Comparable>(
        least: Bound, most: Bound, _ parse: (Substring) -> Bound?, moved: (Bound, Int64) -> Bound
    ) -> ClosedRange<Bound>? {
        func closed(_ low: Bound?, _ high: Bound?) -> ClosedRange<Bound>? {
            guard let low, let high, low <= high else { return nil }
            return low...high
        }
        switch sign {
        case ">=": return closed(parse(low), most)
        case "<=": return closed(least, parse(high))
        case ">": return closed(parse(low).map { moved($0, 1) }, most)
        case "<": return closed(least, parse(high).map { moved($0, -1) })
        default: return closed(low.isEmpty ? least : parse(low), high.isEmpty ? most : parse(high))
        }
    }

    /// The days of a range of Danbooru's, whose dates are midnights (`range_parser.rb`); nil for one that has no day.
    ///
    /// Only a date alone is its whole day. A range ends when its last date begins: `A..B` lacks B as `A...B` does, but for posts of
    /// that very moment, of which there are none here; `<=A` lacks A, and `>A` has it.
    func midnights(_ universe: Universe) -> ClosedRange<Day>? {
        let hasThreeDots = high.hasPrefix(".")
        let (one, other) = (Day(String(low)), Day(String(hasThreeDots ? high.dropFirst() : high)))
        func closed(_ low: Day?, _ end: Day?) -> ClosedRange<Day>? {
            guard let low, let end, low < end else { return nil }
            return low...end.advanced(by: -1)
        }
        switch sign {
        case "=": return one.map { $0...$0 }
        case ">", ">=": return closed(one, Day(ordinal: .max))
        case "<", "<=": return closed(universe.service.firstDay, other)
        default:
            if let one, let other { return closed(min(one, other), max(one, other)) }
            guard !hasThreeDots, low.isEmpty || high.isEmpty else { return nil }
            return closed(low.isEmpty ? universe.service.firstDay : one, high.isEmpty ? Day(ordinal: .max) : other)
        }
    }
}
