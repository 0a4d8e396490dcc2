import Rankings

/// What the service knows about tags: how they are read, and what they mean in English.
enum TagNames {
    /// A tag's reading in Latin letters, and its translation where somebody gave one.
    struct Known: Sendable {
        let romaji: String
        let english: String?
    }

    /// The tags known; the others of `Titles` have neither.
    static let known = Dictionary(
        uniqueKeysWithValues: Words.all["readings"].members.map { member in
            (member.name, Known(romaji: member.value["romaji"]?.string ?? "", english: member.value["english"]?.string))
        })
}
