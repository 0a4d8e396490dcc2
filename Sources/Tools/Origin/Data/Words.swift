import Rankings

/// The words that titles, names, tags and captions are made of, from `words.json`: their order decides what is drawn by lot.
enum Words {
    /// All lists by their names.
    static let all = JSON(PackageResources.words_json) ?? .null

    /// A list of texts.
    static func list(_ name: String) -> [String] {
        all[name].elements.compactMap(\.string)
    }
}
