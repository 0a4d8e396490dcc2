import Rankings
import Sourcing

/// What help says of options whose meaning a source decides: as the source that is mounted where none is named has it.
enum OptionTexts {
    private static var source: SourceDescription { SourceRegistry.standard.description }

    static var access: SourceAccess { source.access }

    /// Requests a second, in hundredths.
    static var rate: String {
        let hundredths = Int((access.rate * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    /// The renditions with their sizes: `regular (850 pixels), small or original`.
    static var renditions: String {
        let texts = source.renditions.map { facts in
            facts.rendition.rawValue + (facts.size.map { " (\($0))" } ?? "")
        }
        return texts.dropLast().joined(separator: ", ") + " or " + (texts.last ?? "")
    }
}

/// What may be a secret of any source.
enum Secrets {
    /// Whether a word may be one rather than a name or a value.
    static func mayBe(_ word: String) -> Bool {
        SourceRegistry.all.contains { $0.accounts?.looksLikeSecret(word) ?? false }
    }
}
