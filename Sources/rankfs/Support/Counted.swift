/// Numbers with their nouns.
enum Counted {
    /// `1 picture`, `2 pictures`; for nouns that take an s.
    static func text(_ count: some BinaryInteger, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
}
