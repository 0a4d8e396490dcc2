/// Titles, names and tags: ordinary ones put together from words, and the strange ones that file names must survive.
enum Titles {
    /// Titles that break naive file naming; each has turned up somewhere or could.
    static let strange = Words.list("titles.strange")

    private static let whens = Words.list("titles.whens")
    private static let whats = Words.list("titles.whats")
    private static let adjectives = Words.list("titles.adjectives")
    private static let nouns = Words.list("titles.nouns")
    private static let chinese = Words.list("titles.chinese")
    private static let korean = Words.list("titles.korean")
    private static let russian = Words.list("titles.russian")
    private static let arabic = Words.list("titles.arabic")
    private static let thai = Words.list("titles.thai")

    /// An ordinary title.
    static func ordinary(_ chance: inout Chance) -> String {
        switch chance.below(20) {
        case 0...9: chance.pick(whens) + chance.pick(whats)
        case 10: chance.pick(whats) + "【\(chance.within(1...180))】"
        case 11: "\(chance.within(1...31))日目、" + chance.pick(whats)
        case 12...14: chance.pick(adjectives) + " " + chance.pick(nouns)
        case 15: chance.pick(chinese)
        case 16: chance.pick(korean)
        case 17: chance.pick(russian)
        case 18: chance.pick(arabic)
        default: chance.pick(thai)
        }
    }

    private static let syllables = Words.list("titles.syllables")
    private static let suffixes = Words.list("titles.suffixes")

    /// A pen name.
    static func author(_ chance: inout Chance) -> String {
        let count = chance.within(2...4)
        var name = ""
        for _ in 0..<count {
            name += chance.pick(syllables)
        }
        return name + chance.pick(suffixes)
    }

    private static let words = Words.list("titles.words")

    /// One to ten tags, none twice.
    static func tags(_ chance: inout Chance, kind: String) -> [String] {
        var tags: [String] = kind.isEmpty ? [] : [kind]
        for _ in 0..<chance.within(1...8) {
            let tag = chance.pick(words)
            if !tags.contains(tag) { tags.append(tag) }
        }
        if chance.oneIn(3) {
            tags.append("オリジナル\(chance.pick([100, 1000, 5000, 10000]))users入り")
        }
        return tags
    }
}
