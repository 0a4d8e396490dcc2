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
    static let hostile: [ServedTag] = [
        ServedTag(name: "k-on!", kind: .copyright), ServedTag(name: "fate/stay_night", kind: .copyright),
        ServedTag(name: ".hack//", kind: .copyright), ServedTag(name: "re:zero_(2nd_season)", kind: .copyright),
        ServedTag(name: "don't_say_\"lazy\"", kind: .copyright), ServedTag(name: "steins;gate", kind: .copyright),
        ServedTag(name: "artist_(a/b\\c:*?<>|)", kind: .artist), ServedTag(name: "-rf", kind: .artist),
        ServedTag(name: "...", kind: .character), ServedTag(name: "夜_(月🌙)", kind: .character),
        ServedTag(name: "mashiro_(c++_&_\"<b>\")", kind: .character), ServedTag(name: "con", kind: .character),
        ServedTag(name: "^_^", kind: .general), ServedTag(name: ">_<", kind: .general),
        ServedTag(name: "\\m/", kind: .general), ServedTag(name: "%2e%2e%2f", kind: .general),
        ServedTag(name: "100%_real", kind: .general), ServedTag(name: "e\u{301}toile", kind: .general),
        ServedTag(name: longName, kind: .copyright),
    ]

    /// As long as the longest names are, 170 characters.
    private static let longName =
        "the_quick_brown_fox_jumps_over_the_lazy_dog_and_then_having_nothing_better_to_do_it_does_so_"
        + "again_and_again_until_nobody_looks_any_more_but_the_fox_(a_long_series_name)"

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

    private static let syllables = [
        "ka", "mi", "no", "ra", "shi", "tsu", "yo", "ha", "ne", "ku", "mo", "ri", "sa", "to", "na", "yu", "ki", "ma",
        "re",
        "hi", "o", "a", "e",
    ]
    private static let words = [
        "1girl", "1boy", "solo", "no_humans", "scenery", "sky", "cloud", "sunset", "night", "star_(sky)", "moon",
        "mountain", "sea", "ocean", "beach", "forest", "tree", "flower", "petals", "cherry_blossoms", "grass", "river",
        "lake", "snow", "rain", "city", "cityscape", "building", "road", "train", "bridge", "lamppost", "window",
        "indoors",
        "outdoors", "day", "from_behind", "from_side", "looking_back", "standing", "sitting", "walking", "holding",
        "holding_book", "book", "umbrella", "hat", "scarf", "coat", "shirt", "white_shirt", "dress", "blue_dress",
        "skirt",
        "boots", "gloves", "ribbon", "hair_ribbon", "long_hair", "short_hair", "brown_hair", "black_hair", "blue_eyes",
        "green_eyes", "smile", "closed_mouth", "animal", "cat", "dog", "bird", "butterfly", "fish", "planet", "space",
        "sword", "cape", "belt", "blush", "wind", "reflection", "water", "crane_(machine)", "planted_sword",
        "light_rays",
    ]
    private static let metaWords = [
        "highres", "absurdres", "commentary", "commentary_request", "translation_request", "photoshop_(medium)",
        "bad_id", "bad_pixiv_id", "lowres", "animated",
    ]
}
