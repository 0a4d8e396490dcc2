import Rankings

/// A search for posts of a board, in the words that clients send without an account (reference, 3.1 and 4.1).
///
/// The words are tags, `date:`, `rating:`, `id:` and `order:score`, each also with a minus before it; on Danbooru parentheses and
/// `or` too, as separate words.
struct BoardSearch {
    private typealias Condition = (Post) -> Bool

    /// Tags that count for the limit of anonymous users; on Danbooru an order counts too.
    private(set) var counted = 0
    /// Whether the search takes too long for the database.
    private(set) var isSlow = false
    private let universe: Universe
    /// The days to search, both included; nil for the newest ones.
    private var days: ClosedRange<Day>?
    /// The posts to search by number, in order; nil for all.
    private var ids: [Int64]?
    private var parent: Int64?
    private var isByScore = false
    /// Whether the posts are a user's favourites, in the order in which they became that.
    private var isByFavorite = false
    /// Whether the posts are those of the last two days that users like, in an order of their own.
    private var isHot = false
    /// The pool whose posts are searched, and whether they come in its order.
    private var book: (number: Int64, isOrdered: Bool)?
    /// The open parentheses: for each the alternatives between its `or`s; a post has to meet all conditions of one alternative.
    private var open: [[[Condition]]] = [[[]]]

    private var isDanbooru: Bool { universe.service == .danbooru }

    /// Parses the words of a search.
    init(_ text: String, _ universe: Universe) {
        self.universe = universe
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" || $0 == "\t" }) {
            switch word.lowercased() {
            case "or" where isDanbooru: open[open.count - 1].append([])
            case "and" where isDanbooru: break
            case "(" where isDanbooru: open.append([[]])
            case ")" where isDanbooru:
                // No post meets a parenthesis that was not opened.
                let parts = open.count > 1 ? open.removeLast() : []
                require(Self.met(parts))
            default: take(word)
            }
        }
    }

    /// The posts found: by descending number, or by descending score and then number.
    func posts(now: Int64) -> [Post] {
        guard open.count == 1 else { return [] }
        if let recorded = universe.recorded { return recorded.filter { ids?.contains($0.id) ?? true } }
        let numbers = book.map { universe.book($0.number, now: now) ?? [] } ?? ids
        let ownDay = parent.flatMap { universe.post($0, now: now) }.map(day)
        let newest = universe.newest(at: now)
        let days = isHot ? newest.advanced(by: -1)...newest : ownDay.map { $0...$0 } ?? days
        let last = min(days?.upperBound ?? Day(ordinal: .max), newest)
        let first = days?.lowerBound ?? last.advanced(by: 1 - universe.service.searchedDays)
        let all =
            numbers.map { $0.compactMap { universe.post($0, now: now) } }
            ?? (first.ordinal..<max(first.ordinal, last.ordinal + 1)).flatMap {
                universe.posts(on: Day(ordinal: $0), now: now)
            }
        // Moebooru's lists omit deleted posts, except in a search by number.
        let found = all.filter { post in
            (isDanbooru || ids != nil || !post.flags.contains(.deleted)) && Self.met(open[0])(post)
        }
        if book?.isOrdered == true { return found }
        if isByFavorite || isHot { return found.sorted { Universe.place($0.id) < Universe.place($1.id) } }
        return found.sorted { isByScore ? ($0.score, $0.id) > ($1.score, $1.id) : $0.id > $1.id }
    }

    private func day(of post: Post) -> Day { universe.service.firstDay.advanced(by: post.slot.day) }

    private static func met(_ parts: [[Condition]]) -> Condition {
        { post in parts.contains { $0.allSatisfy { $0(post) } } }
    }

    private mutating func require(_ condition: @escaping Condition) {
        open[open.count - 1][open[open.count - 1].count - 1].append(condition)
    }

    private mutating func take(_ word: Substring) {
        let isNegated = word.hasPrefix("-") && universe.tags.find(word) == nil
        let plain = isNegated ? word.dropFirst() : word
        let place = universe.tags.find(plain)
        if place == nil, let condition = metatag(plain) {
            return require { condition($0) != isNegated }
        }
        counted += 1
        // Any other word is a tag that no post has.
        guard let place else { return require { _ in isNegated } }
        isSlow = isSlow || universe.tags.all[place].name == Landmarks.slowTag
        let universe = universe
        require { universe.tags(of: $0).contains(place) != isNegated }
    }

    /// The condition of a metatag; nil for an unknown one.
    private mutating func metatag(_ word: Substring) -> Condition? {
        let parts = word.split(separator: ":" as Character, maxSplits: 1)
        guard parts.count == 2, let value = parts.last else { return nil }
        switch parts[0].lowercased() {
        case "order":
            if isDanbooru { counted += 1 }
            isByScore = value == "score"
            isHot = value == "rank"
            return { [isHot] in !isHot || $0.score > 0 }
        case "date":
            guard let range = days(value) else { return { _ in false } }
            days = range
            let first = universe.service.firstDay
            return { range.contains(first.advanced(by: $0.slot.day)) }
        case "id":
            ids = value.split(separator: "," as Character).map { Int64($0) ?? 0 }
            return { _ in true }
        case "width": return bound(value) { Double($0.width) }
        case "height": return bound(value) { Double($0.height) }
        case "ratio": return bound(value) { (Double($0.width) / Double($0.height) * 100).rounded() / 100 }
        case "pool", "ordpool", "favgroup", "ordfavgroup":
            // Moebooru's searches for a pool come in its order without being asked for it; groups of favourites have a pool's posts.
            book = (Int64(value) ?? 0, !isDanbooru || parts[0].hasPrefix("ord"))
            return { _ in true }
        case "parent":
            guard let number = Int64(value) else { return { _ in false } }
            parent = number
            return { $0.id == number || $0.parent == number }
        case "ordfav" where isDanbooru, "vote" where !isDanbooru && value.hasPrefix("3:"):
            isByFavorite = true
            let user = isDanbooru ? value : value.dropFirst(2)
            // The list of a user of this name is hidden, which looks as if it were empty.
            guard user != "hidden" else { return { _ in false } }
            let choice = user.utf8.reduce(0) { $0 + Int64($1) } % 50
            return { $0.id % 50 == choice }
        case "rating":
            // Ratings are recognised by their first letter; Danbooru's `safe` was renamed to "sensitive".
            let letters = value.lowercased().split(separator: "," as Character).compactMap(\.first)
            return { post in letters.contains { $0 == post.rating.rawValue.first } }
        default: return nil
        }
    }

    /// The condition of a number: `>=N`, `>N`, `<N` or `N`.
    private func bound(_ value: Substring, _ measure: @escaping (PixelSize) -> Double) -> Condition {
        let sign = value.prefix { "<>=".contains($0) }
        guard let bound = Double(value.dropFirst(sign.count)) else { return { _ in false } }
        return { post in
            let number = measure(post.pages[0])
            return switch sign {
            case ">=": number >= bound
            case ">": number > bound
            case "<": number < bound
            default: number == bound
            }
        }
    }

    /// The days of a date, `A..B` or `A...B`; on Danbooru a range ends when its last date begins (`range_parser.rb`), on Moebooru
    /// at the end of that date.
    private func days(_ value: Substring) -> ClosedRange<Day>? {
        let dates = value.split(separator: "." as Character).map { Day(String($0)) }
        guard let first = dates.first ?? nil, var last = dates.last ?? nil, dates.count <= 2 else { return nil }
        if isDanbooru, dates.count == 2 { last = last.advanced(by: -1) }
        return first <= last ? first...last : nil
    }
}
