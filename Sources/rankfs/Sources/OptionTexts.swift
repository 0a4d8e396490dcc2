import Rankings
import Sourcing

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
