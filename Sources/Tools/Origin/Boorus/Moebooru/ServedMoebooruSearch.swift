import Rankings

/// Moebooru's grammar of searches (reference, 4.1).
struct ServedMoebooruSearch: Sendable {
    var query = ServedQuery()
    /// Plain tags, of which there may be six.
    private(set) var plain = 0
    /// What `limit:` says.
    private(set) var limit: Int?

    /// Plain tags that a search may have.
    static let mostTags = 6

    /// Reads the words of a search.
    init(_ text: String, site: ServedSite) {
        query.showsDeleted = false
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" || $0 == "\t" }) {
            let isNegated = word.hasPrefix("-") && ServedTags.places[String(word)] == nil
            let tag = isNegated ? word.dropFirst() : word
            if let colon = tag.firstIndex(of: ":"), ServedTags.places[String(tag)] == nil {
                meta(tag[..<colon].lowercased(), tag[tag.index(after: colon)...], isNegated, site)
                continue
            }
            plain += 1
            guard let place = ServedTags.places[tag.lowercased()] ?? ServedTags.places[String(tag)] else {
                if !isNegated { query.isEmpty = true }
                continue
            }
            if isNegated { query.excluded.append(place) } else { query.tags.append(place) }
        }
    }

    // MARK: -

    private mutating func meta(_ name: String, _ value: Substring, _ isNegated: Bool, _ site: ServedSite) {
        switch name {
        case "order": query.order = Self.orders[String(value)] ?? query.order
        case "date": query.narrow(ServedRanges.days(value, first: site.firstDay))
        case "rating": rate(value.lowercased(), isNegated)
        case "id":
            let ranges = value.split(separator: "," as Character).compactMap(ServedRanges.numbers)
            query.ids = ranges
            query.isEmpty = query.isEmpty || ranges.isEmpty
            // whoever knows the number is told
            query.showsDeleted = true
        case "md5":
            query.digest = OriginDigest(hex: value.lowercased())
            query.isEmpty = query.isEmpty || query.digest == nil
        case "score":
            guard let range = ServedRanges.numbers(value) else { return query.isEmpty = true }
            query.scores = Int(range.lowerBound)...Int(range.upperBound)
        case "user":
            query.uploader = Uploaders.number(of: String(value))
            query.isEmpty = query.isEmpty || query.uploader == nil
        case "ext": query.formats = ServedFormat(rawValue: String(value)).map { [$0] } ?? []
        case "parent": query.parent = Int64(value) ?? 0
        case "limit": limit = Int(value)
        case "holds", "pending", "width", "height", "mpixels", "source", "shown", "deleted": break
        default: query.isEmpty = true
        }
    }

    /// Unknown words are ignored: the list is then of every rating.
    private mutating func rate(_ value: String, _ isNegated: Bool) {
        let named: Set<ServedRating>
        switch value {
        case "questionableless": named = [.sensitive, .questionable]
        case "questionableplus": named = [.questionable, .explicit]
        default:
            guard let letter = value.first, let rating = ServedRating(rawValue: String(letter)), rating != .general
            else { return }
            named = [rating]
        }
        if isNegated { query.ratings.subtract(named) } else { query.ratings.formIntersection(named) }
    }

    private static let orders: [String: ServedQuery.Order] = [
        "score": .score, "score_asc": .rising, "id": .oldest, "id_desc": .newest,
    ]
}

/// Who uploads on Moebooru: the record's `author` is the uploader's name.
enum Uploaders {
    /// The name of a number.
    static func name(of number: Int) -> String {
        "\(names[number % names.count])\(number / names.count % each)"
    }

    /// The number that a post shows for one that is drawn by lot.
    static func settled(_ number: Int) -> Int {
        number % (names.count * each)
    }

    /// The number of a name; nil for nobody's.
    static func number(of name: String) -> Int? {
        (0..<names.count * each).first { Self.name(of: $0) == name }
    }

    private static let each = 8
    private static let names = ["FormX", "mash", "Reverse", "AltY", "otaku_", "Mr.", "sample_user", "木"]
}
