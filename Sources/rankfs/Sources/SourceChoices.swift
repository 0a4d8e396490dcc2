import Rankings
import Sourcing

/// Options that sources define (`SourceChoice`): choices with the same name are one option, with each source's own meaning.
enum SourceChoices {
    /// The options of all sources, as entries of the option table.
    static let definitions: [OptionDefinition] = names.map { name in
        let words = SourceRegistry.all.flatMap { choice(name, of: $0.description)?.words ?? [] }
        return OptionDefinition(
            name, "WORD", standard: OptionTexts.bySource,
            help: SourceRegistry.all.lazy.compactMap { choice(name, of: $0.description)?.help }.first ?? "",
            words: unique(words).map { ($0, Optional($0)) }, of: \.choices[name])
    }

    /// Each name once.
    private static var names: [String] { unique(SourceRegistry.all.flatMap { $0.description.choices.map(\.name) }) }

    /// The choices of a mount of a source, by the names of its options; options of other sources are ignored.
    ///
    /// - Throws: usage, for a word that this source does not know.
    static func of(_ source: SourceName, _ settings: Settings) throws(ProgramError) -> [String: String] {
        var choices: [String: String] = [:]
        for choice in source.description.choices {
            guard let word = settings.choices[choice.name] else { continue }
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

    private static func choice(_ name: String, of source: SourceDescription) -> SourceChoice? {
        source.choices.first { $0.name == name }
    }

    private static func unique(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.filter { seen.insert($0).inserted }
    }
}

// MARK: - Option texts

/// Help texts of options that depend on the source.
enum OptionTexts {
    /// The default of such an option; help also has a table of sources.
    static let bySource = "the source's"
}

/// Detects words that may be a secret of any source.
enum Secrets {
    /// Whether a word may be a secret rather than a name or a value.
    static func mayBe(_ word: String) -> Bool {
        SourceRegistry.all.contains { $0.accounts?.looksLikeSecret(word) ?? false }
    }
}
