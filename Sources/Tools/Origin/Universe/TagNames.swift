/// What the service knows about tags: how they are read, and what they mean in English.
enum TagNames {
    /// A tag's reading in Latin letters, and its translation where somebody gave one.
    struct Known: Sendable {
        let romaji: String
        let english: String?
    }

    /// The tags known; the others of `Titles` have neither.
    static let known: [String: Known] = [
        "オリジナル": Known(romaji: "orijinaru", english: "original"),
        "風景": Known(romaji: "fuukei", english: "scenery"),
        "背景": Known(romaji: "haikei", english: "background"),
        "猫": Known(romaji: "neko", english: "cat"),
        "空": Known(romaji: "sora", english: "sky"),
        "海": Known(romaji: "umi", english: "sea"),
        "夜": Known(romaji: "yoru", english: "night"),
        "漫画": Known(romaji: "manga", english: "manga"),
        "うごイラ": Known(romaji: "ugoira", english: "ugoira"),
        "ふつくしい": Known(romaji: "futsukushii", english: "beautiful"),
        "なにこれ素敵": Known(romaji: "nanikoresuteki", english: nil),
        "水彩": Known(romaji: "suisai", english: "watercolor"),
        "落書き": Known(romaji: "rakugaki", english: "doodle"),
        "花": Known(romaji: "hana", english: nil),
    ]
}
