import Rankings

/// Danbooru's grammar of searches, as far as anonymous programs use it (reference, 3.1).
struct ServedDanbooruSearch: Sendable {
    var query = ServedQuery()
    /// Tags that count for the limit of anonymous users.
    private(set) var counted = 0
    /// What `limit:` says.
    private(set) var limit: Int?

    /// Tags that anonymous users may combine.
    static let mostTags = 2

    /// Parentheses in parentheses that are understood; more are words like any other.
    private static let mostOpen = 32

    /// Reads the words of a search.
    init(_ text: String, site: ServedSite) {
        var words = Self.words(text)[...]
        query = alternatives(&words, site)
        // a parenthesis that nobody opened
        if !words.isEmpty { query.isEmpty = true }
    }

    // MARK: -

    /// The words, with parentheses as words of their own: at the beginning of one, and at its end if it is not a part of the word.
    private static func words(_ text: String) -> [Substring] {
        var (found, open): ([Substring], Int) = ([], 0)
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" || $0 == "\t" }) {
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
    private mutating func alternatives(_ words: inout ArraySlice<Substring>, _ site: ServedSite) -> ServedQuery {
        var parts = [part(&words, site)]
        while words.first?.lowercased() == "or" {
            words.removeFirst()
            parts.append(part(&words, site))
        }
        guard parts.count > 1 else { return parts[0] }
        var whole = ServedQuery()
        whole.alternatives = [parts]
        whole.isSlow = parts.contains(where: \.isSlow)
        return whole
    }

    private mutating func part(_ words: inout ArraySlice<Substring>, _ site: ServedSite) -> ServedQuery {
        let outer = query
        query = ServedQuery()
        while let word = words.first, word != ")", word.lowercased() != "or" {
            words.removeFirst()
            guard word == "(" else {
                take(word, site)
                continue
            }
            let inner = alternatives(&words, site)
            query.alternatives.append([inner])
            query.isSlow = query.isSlow || inner.isSlow
            if words.popFirst() != ")" { query.isEmpty = true }
        }
        defer { query = outer }
        return query
    }

    private mutating func take(_ word: Substring, _ site: ServedSite) {
        guard word.lowercased() != "and" else { return }
        let isNegated = word.hasPrefix("-") && ServedTags.places[String(word)] == nil
        let plain = isNegated ? word.dropFirst() : word
        if let colon = plain.firstIndex(of: ":"), ServedTags.places[String(plain)] == nil {
            let value = plain[plain.index(after: colon)...]
            if meta(plain[..<colon].lowercased(), value, isNegated, site) { return }
        }
        counted += 1
        guard let place = ServedTags.places[plain.lowercased()] ?? ServedTags.places[String(plain)] else {
            if !isNegated { query.isEmpty = true }
            return
        }
        if ServedTags.all[place].name == PostLandmark.slowTag { query.isSlow = true }
        if isNegated { query.excluded.append(place) } else { query.tags.append(place) }
    }

    /// Takes in a metatag; false for one that is not known, which is a tag like any other.
    private mutating func meta(_ name: String, _ value: Substring, _ isNegated: Bool, _ site: ServedSite) -> Bool {
        switch name {
        case "order":
            counted += 1
            query.order = Self.orders[value.lowercased()] ?? query.order
        case "date": query.narrow(ServedRanges.midnights(value, first: site.firstDay))
        case "rating": rate(value, isNegated)
        case "id": number(value)
        case "md5":
            guard let digest = OriginDigest(hex: value.lowercased()) else { return empty() }
            query.digest = digest
        case "score":
            guard let range = ServedRanges.numbers(value) else { return empty() }
            query.scores = Int(range.lowerBound)...Int(range.upperBound)
        case "filetype":
            let named = Set(value.split(separator: "," as Character).compactMap { ServedFormat(rawValue: String($0)) })
            query.formats = isNegated ? Set(ServedFormat.allCases).subtracting(named) : named
        case "limit": limit = Int(value)
        case "parent": query.parent = Int64(value) ?? 0
        case "user", "approver", "fav", "pool": return empty()
        case "status", "is", "has", "age", "width", "height", "mpixels", "ratio", "favcount", "tagcount", "source":
            break
        default: return false
        }
        return true
    }

    private mutating func empty() -> Bool {
        query.isEmpty = true
        return true
    }

    /// Words are known by their first letter; `safe` is what was renamed to "sensitive".
    private mutating func rate(_ value: Substring, _ isNegated: Bool) {
        let named = value.lowercased().split(separator: "," as Character).compactMap { word in
            word.first.flatMap { ServedRating(rawValue: String($0)) }
        }
        if isNegated { query.ratings.subtract(named) } else { query.ratings.formIntersection(named) }
    }

    private mutating func number(_ value: Substring) {
        let ranges = value.split(separator: "," as Character).compactMap(ServedRanges.numbers)
        guard !ranges.isEmpty else { return query.isEmpty = true }
        query.ids = ranges
    }

    private static let orders: [String: ServedQuery.Order] = [
        "score": .score, "score_desc": .score, "score_asc": .rising, "id": .oldest, "id_asc": .oldest,
        "id_desc": .newest, "rank": .score, "favcount": .score,
    ]
}
