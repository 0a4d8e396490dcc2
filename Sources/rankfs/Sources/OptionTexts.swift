import Rankings
import Sourcing

/// What help says of options whose meaning a source decides: of each source, where they differ.
enum OptionTexts {
    static var userAgent: String { SourceChoices.text { $0.access.userAgentText } }
    static var apiURL: String { SourceChoices.text { $0.access.apiURL } }
    static var imageURL: String { SourceChoices.text { $0.access.imageURL } }
    static var burst: String { SourceChoices.text { String($0.access.burst) } }

    /// Requests a second, in hundredths.
    static var rate: String {
        SourceChoices.text { source in
            let hundredths = Int((source.access.rate * 100).rounded())
            return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
        }
    }

    /// What is shown where nothing else is asked for.
    static var rendition: String { SourceChoices.text { $0.standardRendition.rawValue } }

    /// The renditions with their sizes: `regular (850 pixels), small or original`.
    static var renditions: String {
        SourceChoices.text { source in
            let texts = source.renditions.map { facts in
                facts.rendition.rawValue + (facts.size.map { " of \($0)" } ?? "")
            }
            return texts.dropLast().joined(separator: ", ") + " or " + (texts.last ?? "")
        }
    }
}

/// What may be a secret of any source.
enum Secrets {
    /// Whether a word may be one rather than a name or a value.
    static func mayBe(_ word: String) -> Bool {
        SourceRegistry.all.contains { $0.accounts?.looksLikeSecret(word) ?? false }
    }
}
