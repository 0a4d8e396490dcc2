import Rankings
import Sourcing

/// Options that sources have of their own (`SourceChoice`): one of the same name is one option, whatever its words mean to each.
enum SourceChoices {
    /// The options of all sources, as the table of options has them.
    static let definitions: [OptionDefinition] = names.map { name in
        let words = SourceRegistry.all.flatMap { choice(name, of: $0.description)?.words ?? [] }
        return OptionDefinition(
            name, "WORD", standard: OptionTexts.bySource,
            help: SourceRegistry.all.lazy.compactMap { choice(name, of: $0.description)?.help }.first ?? "",
            words: unique(words).map { ($0, Optional($0)) }, of: \.choices[name])
    }

    /// Each name once.
    private static var names: [String] { unique(SourceRegistry.all.flatMap { $0.description.choices.map(\.name) }) }

    /// What a mount of a source is to show, by the names of its options; those that other sources have are passed over.
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

    /// The choices that are not the usual ones, each of which has a catalog of its own; empty for the usual ones.
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

/// What help says of options whose meaning a source decides.
enum OptionTexts {
    /// The default of such an option; help has a table of sources besides.
    static let bySource = "the source's"
}

/// What may be a secret of any source.
enum Secrets {
    /// Whether a word may be one rather than a name or a value.
    static func mayBe(_ word: String) -> Bool {
        SourceRegistry.all.contains { $0.accounts?.looksLikeSecret(word) ?? false }
    }
}
