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
