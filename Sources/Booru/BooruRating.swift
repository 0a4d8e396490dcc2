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

// MARK: - Booru rankings

/// The rankings that every image board can be asked for: the best of a day, week and month by score.
package enum BooruRankings {
    /// The rankings of a board whose first posts are of a day.
    package static func all(from day: Day) -> [RankingFacts] {
        [("day", RankingPeriod.day), ("week", .week), ("month", .month)].compactMap { name, period in
            RankingMode(rawValue: name).map { RankingFacts($0, firstDay: day, period: period) }
        }
    }

    /// What there is besides: nobody signs in, and artists are names alone.
    package static let abilities: Set<SourceAbility> = [.artists, .origins, .works, .search]
}

// MARK: - Booru limits

/// Bounds of what is believed and asked, each with its reason.
package enum BooruLimits {
    /// Tags of a post that are kept; the largest board's posts have about 30, few more than 200.
    package static let tags = 512
    /// Bytes of a tag; services allow 170 to 255 characters.
    package static let tagBytes = 512
    /// Tags of one kind in a name; further ones are counted.
    package static let namedTags = 3
    /// Bytes of a picture's address; decorated with every tag of a post, some have 700.
    package static let addressBytes = 2048
    /// Bytes of a reference: an original's address, and the parts of three others that differ.
    package static let referenceBytes = 8192
    /// Pages of a list: what the services tell to strangers, or more than they have.
    package static let pages = 1000
    /// Bytes of a search's or artist's words.
    package static let wordBytes = 1024
    /// Words of boards' addresses, which say nothing of a picture.
    package static let vocabulary: Set<String> = [
        "https", "http", "posts", "post", "json", "tags", "page", "limit", "order", "score", "rating", "api", "version",
        "include", "date", "id", "data", "preview", "sample", "original", "image", "jpeg", "g", "s",
    ]
}
