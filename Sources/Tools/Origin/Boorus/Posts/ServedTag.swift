import Rankings

/// A tag and what it names.
struct ServedTag: Hashable, Sendable {
    let name: String
    let kind: Kind

    /// What a tag names, with Danbooru's numbers (reference, `tags.json`); Moebooru has the same for the first four.
    enum Kind: Int, CaseIterable, Sendable {
        case general = 0
        case artist = 1
        case copyright = 3
        case character = 4
        case meta = 5

        /// The number on Moebooru, where sites configure what lies beyond the first four (reference, 4.1).
        func number(_ site: ServedSite) -> Int {
            self == .meta && !site.isDanbooru ? 6 : rawValue
        }

        /// The word that Moebooru's typed lists have.
        var word: String {
            switch self {
            case .general: "general"
            case .artist: "artist"
            case .copyright: "copyright"
            case .character: "character"
            case .meta: "faults"
            }
        }
    }
}

/// All tags of the boorus: a table that is made once, the same for every seed.
enum ServedTags {
    /// Each name once.
    static let all: [ServedTag] = made.tags

    /// Places in ``all`` by name.
    static let places: [String: Int] = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1.name, $0) })

    /// Places of the tags of a kind that ordinary posts have.
    static let general = made.general
    static let artists = made.artists
    static let meta = made.meta
    /// Places of copyrights, and of the characters of each.
    static let copyrights = made.copyrights
    static let characters = made.characters

    /// The place of a name that is in the table.
    static func place(_ name: String) -> Int {
        places[name] ?? 0
    }

    /// Tags that file names must survive: all are of a kind that the real sites have.
    static let hostile = Words.all["tags.hostile"].elements.compactMap { pair -> ServedTag? in
        guard let name = pair.elements.first?.string, let kind = pair.elements.last?.number else { return nil }
        return ServedTag.Kind(rawValue: Int(kind)).map { ServedTag(name: name, kind: $0) }
    }

    // MARK: -

    private struct Made {
        var tags: [ServedTag] = []
        var known: Set<String> = []
        var general: [Int] = []
        var artists: [Int] = []
        var meta: [Int] = []
        var copyrights: [Int] = []
        var characters: [[Int]] = []

        /// The place of a new tag; nil for a name that is there.
        mutating func add(_ name: String, _ kind: ServedTag.Kind) -> Int? {
            guard known.insert(name).inserted else { return nil }
            tags.append(ServedTag(name: name, kind: kind))
            return tags.count - 1
        }
    }

    private static let made: Made = {
        var made = Made()
        var chance = Chance(0x7a95)
        made.general = words.compactMap { made.add($0, .general) }
        made.meta = metaWords.compactMap { made.add($0, .meta) }
        for _ in 0..<artistCount {
            var name = pen(&chance)
            switch chance.below(6) {
            case 0: name += "_(\(pen(&chance)))"
            case 1: name += "\(chance.below(9999))"
            default: break
            }
            if let place = made.add(name, .artist) { made.artists.append(place) }
        }
        for _ in 0..<copyrightCount {
            var title = "\(chance.pick(words))_\(pen(&chance))"
            switch chance.below(8) {
            case 0: title += "!"
            case 1: title += "_(series)"
            default: break
            }
            guard let place = made.add(title, .copyright) else { continue }
            made.copyrights.append(place)
            made.characters.append(
                (0..<5).compactMap { index in
                    let name = "\(pen(&chance))_\(pen(&chance))"
                    return made.add(index % 2 == 0 ? name : "\(pen(&chance))_(\(title))", .character)
                })
        }
        for tag in hostile { _ = made.add(tag.name, tag.kind) }
        _ = made.add("original", .copyright)
        for name in ["banned_artist", PostLandmark.busyArtist] { _ = made.add(name, .artist) }
        _ = made.add(PostLandmark.slowTag, .general)
        return made
    }()

    private static let artistCount = 700
    private static let copyrightCount = 70

    private static func pen(_ chance: inout Chance) -> String {
        (0..<chance.within(2...4)).map { _ in chance.pick(syllables) }.joined()
    }

    private static let syllables = Words.list("tags.syllables")
    private static let words = Words.list("tags.words")
    private static let metaWords = Words.list("tags.metaWords")
}
