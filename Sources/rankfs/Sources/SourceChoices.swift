import Rankings
import Sourcing

/// Options that sources define (`SourceChoice`): choices with the same name are one option, with each source's own meaning.
enum SourceChoices {
    /// The options of all sources: each name once, with the words of all and the first help.
    static let all: [(name: String, words: [String], help: String)] = {
        let choices = SourceRegistry.all.flatMap(\.description.choices)
        return choices.map(\.name).uniqued(by: \.self).map { name in
            let same = choices.filter { $0.name == name }
            return (name, same.flatMap(\.words).uniqued(by: \.self), same.first?.help ?? "")
        }
    }()

    /// The choices of a mount of a source, by the names of its options; options of other sources are ignored.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - given: The words of the options that were given, by their names.
    /// - Returns: The words that this source knows.
    /// - Throws: usage, for a word that this source does not know.
    static func of(_ source: SourceName, _ given: [String: String]) throws(ProgramError) -> [String: String] {
        var choices: [String: String] = [:]
        for choice in source.description.choices {
            guard let word = given[choice.name] else { continue }
            guard choice.words.contains(word) else {
                throw ProgramError(
                    .usage,
                    "\(source.description.name) has no \(choice.name) \"\(word)\"; give one of "
                        + "\(choice.words.joined(separator: ", ")).")
            }
            choices[choice.name] = word
        }
        return choices
    }

    /// The text of the choices other than the usual ones, each with a catalog of its own; empty for the usual ones.
    static func text(_ choices: [String: String], of source: SourceName) -> String {
        source.description.choices.compactMap { choice in
            choices[choice.name].flatMap { $0 == choice.words.first ? nil : "\(choice.name)=\($0)" }
        }.joined(separator: ",")
    }
}

/// Detects words that may be a secret of any source.
enum Secrets {
    /// Whether a word may be a secret rather than a name or a value.
    static func mayBe(_ word: String) -> Bool {
        SourceRegistry.all.contains { $0.accounts?.looksLikeSecret(word) ?? false }
    }
}
