import Rankings
import Sourcing

extension SourceRegistry {
    /// The options that sources define (`SourceChoice`), each name once, with the words of all and the first help.
    ///
    /// Choices with the same name are one option, with each source's own meaning.
    static let choices: [(name: String, words: [String], help: String)] = {
        let choices = all.flatMap(\.description.choices)
        return choices.map(\.name).uniqued(by: \.self).map { name in
            let same = choices.filter { $0.name == name }
            return (name, same.flatMap(\.words).uniqued(by: \.self), same.first?.help ?? "")
        }
    }()

    /// Whether a word may be a secret of a source rather than a name or a value.
    static func mayBeSecret(_ word: String) -> Bool {
        all.contains { $0.accounts?.looksLikeSecret(word) ?? false }
    }
}

extension SourceName {
    /// The choices of a mount of the source, by the names of its options; options of other sources are ignored.
    ///
    /// - Parameter given: The words of the options that were given, by their names.
    /// - Returns: The words that this source knows.
    /// - Throws: usage, for a word that this source does not know.
    func choices(among given: [String: String]) throws(ProgramError) -> [String: String] {
        var choices: [String: String] = [:]
        for choice in description.choices {
            guard let word = given[choice.name] else { continue }
            guard choice.words.contains(word) else {
                throw ProgramError(
                    .usage,
                    "\(description.name) has no \(choice.name) \"\(word)\"; give one of "
                        + "\(choice.words.joined(separator: ", ")).")
            }
            choices[choice.name] = word
        }
        return choices
    }

    /// The text of the choices other than the usual ones, each with a catalog of its own; empty for the usual ones.
    func text(of choices: [String: String]) -> String {
        description.choices.compactMap { choice in
            choices[choice.name].flatMap { $0 == choice.words.first ? nil : "\(choice.name)=\($0)" }
        }.joined(separator: ",")
    }
}
