package import Rankings

/// For whom a post is; each service has its own letters for these.
package enum BooruRating: Int, Hashable, Comparable, Sendable, CaseIterable {
    case general
    case sensitive
    case questionable
    case explicit

    package static func < (left: BooruRating, right: BooruRating) -> Bool { left.rawValue < right.rawValue }
}

/// What a service calls its ratings: the words of the option `rating`, each of which means "up to".
package struct RatingScale: Sendable {
    /// One rating of the service.
    package struct Step: Sendable {
        /// The option's word, which `info.json` shows too.
        package let word: String
        /// What posts have in `rating`.
        package let letter: String
        package let rating: BooruRating
        /// What a search is limited with; nil for no limit.
        package let tag: String?

        package init(_ word: String, letter: String, _ rating: BooruRating, tag: String?) {
            self.word = word
            self.letter = letter
            self.rating = rating
            self.tag = tag
        }
    }

    /// From the mildest on, which is the default.
    package let steps: [Step]

    package init(_ steps: [Step]) {
        self.steps = steps
    }

    /// The option's name.
    package static let option = "rating"

    /// The option of a source with this scale.
    package var choice: SourceChoice {
        SourceChoice(
            Self.option, words: steps.map(\.word), help: "the most daring rating that is shown; milder ones are too")
    }

    /// The step that an option's value names; the mildest for none, and for a word that is none of the service's.
    package func step(_ word: String?) -> Step? {
        steps.first { $0.word == word } ?? steps.first
    }

    /// The rating of a post's letter; nil for an unknown one, which is to be hidden.
    package func step(letter: String?) -> Step? {
        steps.first { $0.letter == letter }
    }
}
