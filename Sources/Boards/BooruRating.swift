package import Rankings

/// The names of a service's ratings: the words of the option `rating`, each of which means "up to".
package struct RatingScale: Sendable {
    /// One rating of the service: the word of the option, also shown in `info.json`; the value of `rating` in posts; and the tag that
    /// limits a search to the rating, nil for no limit.
    package typealias Step = (word: String, letter: String, tag: String?)

    /// The steps from the mildest on, which is the default.
    package let steps: [Step]

    /// The option's name.
    package static let option = "rating"

    /// The option of a source with this scale.
    package var choice: SourceChoice {
        (Self.option, words: steps.map(\.word), help: "the most daring rating that is shown; milder ones are too")
    }

    /// The place on the scale of an option's value; that of the mildest for none, and for a word that is not on it.
    package func place(ofWord word: String?) -> Int { steps.firstIndex { $0.word == word } ?? 0 }

    /// The place on the scale of a post's letter; nil for an unknown letter, which means that the post is to be hidden.
    package func place(ofLetter letter: String?) -> Int? { steps.firstIndex { $0.letter == letter } }
}

// MARK: - Booru limits

/// Bounds of accepted values and of requests, each with its reason.
package enum BooruLimits {
    /// The most tags of a post that are kept; the largest board's posts have about 30, few more than 200.
    package static let tags = 512
    /// The most generations of a family that are looked up, as many as a board admits (`post.rb`).
    static let generations = 4
    /// The most bytes of a tag; services allow 170 to 255 characters.
    package static let tagBytes = 512
    /// The most tags of one kind in a name; further ones are counted.
    package static let namedTags = 3
    /// The most bytes of a picture's address; addresses with every tag of a post have up to 700.
    package static let addressBytes = 2048
    /// The most bytes of a reference: an original's address, and the differing parts of three others.
    package static let referenceBytes = 8192
    /// The most pages of a list: as many as the services return without an account, or more.
    package static let pages = 1000
    /// The most bytes of the words of a search or an artist.
    package static let wordBytes = 1024
    /// Words of boards' addresses, which contain nothing about a picture.
    package static let vocabulary: Set<String> = [
        "https", "http", "posts", "post", "json", "tags", "page", "limit", "order", "score", "rating", "api", "version",
        "include", "date", "id", "data", "preview", "sample", "original", "image", "jpeg", "g", "s",
    ]
}
