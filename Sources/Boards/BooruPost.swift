package import Rankings
import Sourcing

/// A post of an image board, in the form shared by both engines.
package struct BooruPost: Hashable, Sendable {
    package var id: WorkID
    /// The place of the rating on the service's scale; nil for a letter that the scale does not have.
    package var rating: Int?
    package var tags = PostTags()
    /// The files; nil if the pictures are not available.
    package var files: PostFiles?
    /// The reason why they are not available; one short word.
    package var withheld: String?
    /// The size of the original, in pixels; 0 if unknown.
    package var width = 0
    package var height = 0
    /// The original's extension where it is known, also of a post without files.
    package var fileExtension: String?
    /// The time of the upload, in Unix seconds; 0 if unknown.
    package var uploaded: Int64 = 0
    /// The time at which the post was created, in Unix seconds.
    package var created: Int64?
    package var score: Int64?
    package var favourites: Int?
    /// The origin that the post states: any text.
    package var source = ""
    /// The number of the work on pixiv that is the post's origin.
    package var pixivWork: Int64?
    package var isAI: Bool?

    /// The work that a listing stores for the post.
    package var work: Work {
        let name = tags.name
        let isHidden = files == nil || withheld != nil
        return Work(
            id: id, title: name.isEmpty ? String(id.rawValue) : name, author: UserID(rawValue: 0),
            authorName: tags.artists, tags: tags.all,
            kind: fileExtension.map { PostFormat.animations.contains($0) } ?? false ? .animation : .illustration,
            width: width, height: height, pageCount: 1, uploaded: uploaded, views: nil, ratings: ratings,
            picture: isHidden ? "" : files.map { PostReference.text(of: $0) } ?? "",
            withheld: isHidden ? withheld ?? Withholding.restricted : nil, isAI: isAI, origin: origin)
    }

    /// The entry of a record: what all boards tell in the same way, and what `read` and `files` add.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - scale: The ratings of the board.
    ///   - hosts: The hosts from which pictures are accepted.
    ///   - withheld: The reason why there is no address of the original.
    ///   - read: Reads the rest of the post.
    ///   - files: Adds the renditions to an original with a size and a digest.
    /// - Returns: `.unreadable` for an original of an unknown format.
    package static func entry(
        _ record: JSON, scale: RatingScale, hosts: PictureHosts, withheld: (JSON) -> String,
        read: (inout BooruPost) -> Void, files: (inout PostFiles) -> Void
    ) -> PostEntry {
        guard let id = record["id"].number, id > 0 else { return .unreadable }
        let address = record["file_url"].words
        let told = record["file_ext"].text.flatMap { PostFormat.plain($0) }
        // Older sites lack the field.
        let fileExtension = told ?? address.flatMap { PostFormat.ofAddress($0) }
        if fileExtension == PostFormat.flash { return .unplayable }
        var post = BooruPost(id: WorkID(rawValue: id))
        post.rating = scale.place(ofLetter: record["rating"].text)
        post.fileExtension = fileExtension
        post.score = record["score"].number
        post.source = record["source"].text ?? ""
        read(&post)
        guard let address else {
            post.withheld = withheld(record)
            return .post(post)
        }
        guard let fileExtension, PostFormat.all.contains(fileExtension) else { return .unreadable }
        guard let place = hosts.place(address) else {
            post.withheld = Withholding.elsewhere
            return .post(post)
        }
        let original = PostFile(place: place, fileExtension: fileExtension, size: record["file_size"].number)
        guard var found = PostFiles(original: original, md5: record["md5"].text) else {
            post.withheld = Withholding.unproven
            return .post(post)
        }
        files(&found)
        post.files = found
        return .post(post)
    }

    /// The score, or 0 for a negative score (more votes against than for); without a score the number of favourites.
    private var ratings: Int? {
        score.map { Int(min(max($0, 0), AnswerBounds.counts.upperBound)) } ?? favourites
    }

    /// The web page that the post states as its origin.
    ///
    /// For pixiv's pictures it is the work's page, else a web address; nil for any other text.
    var origin: String? {
        if let pixivWork, pixivWork > 0 { return Self.pixivPage(pixivWork) }
        let source = source.hasPrefix("//") ? "https:" + source : source
        guard let address = WebAddress(source) else { return nil }
        // `i.pximg.net/img-original/img/2024/05/01/00/00/00/118322354_p0.png` is refused without a `Referer`.
        if address.host == "i.pximg.net" || address.host.hasSuffix(".pixiv.net") && address.path.contains("img") {
            let number = (address.path.last ?? "").prefix { $0.isASCII && $0.isNumber }
            return WebAddress.work(String(number)).map { Self.pixivPage($0.rawValue) }
        }
        return source
    }

    private static func pixivPage(_ work: Int64) -> String { "https://www.pixiv.net/artworks/\(work)" }
}

/// The reasons why the pictures of a post are not available.
package enum Withholding {
    package static let banned = "banned"
    package static let deleted = "deleted"
    package static let held = "held"
    package static let expunged = "expunged"
    /// The rating is above the option `rating`.
    package static let rating = "rating"
    /// The pictures are on a host that is not listed.
    package static let elsewhere = "elsewhere"
    /// The size or the digest is missing: the bytes cannot be verified.
    package static let unproven = "unproven"
    /// No post of a list can be shown.
    package static let all = "none can be shown"
    /// The service states no reason.
    package static let restricted = "restricted"
}

/// An entry of a list: each has a rank, whether it is shown or not.
package enum PostEntry: Hashable, Sendable {
    case post(BooruPost)
    /// A post in a format that no program plays: recognized, and left out.
    case unplayable
    /// An entry that cannot be decoded.
    case unreadable

    package var post: BooruPost? {
        if case .post(let post) = self { post } else { nil }
    }
}

// MARK: - Post tags

/// The subject of a tag.
package enum TagKind: String, Hashable, Sendable, CaseIterable {
    case artist
    /// A group of artists.
    case circle
    case copyright
    case character
    /// Content of the picture, and tags of unknown types.
    case general
    /// Facts of the file or the post.
    case meta
}

/// The tags of a post by kind, each kind in the service's order.
package struct PostTags: Hashable, Sendable {
    private var groups: [TagKind: [String]] = [:]
    private var seen: Set<String> = []

    package init() {}

    /// Adds the tags of a text with blanks between them.
    ///
    /// A tag that is already present keeps its kind; tags that are too long, and those beyond `BooruLimits.tags`, are left out.
    package mutating func add(_ text: String, as kind: (String) -> TagKind) {
        for tag in text.split(whereSeparator: \.isWhitespace) {
            guard seen.count < BooruLimits.tags else { return }
            let tag = String(tag)
            guard tag.utf8.count <= BooruLimits.tagBytes, seen.insert(tag).inserted else { continue }
            groups[kind(tag), default: []].append(tag)
        }
    }

    package subscript(kind: TagKind) -> [String] { groups[kind] ?? [] }

    /// All of them, by kind.
    package var all: [String] { TagKind.allCases.flatMap { self[$0] } }

    package func contains(_ tag: String) -> Bool { seen.contains(tag) }
}

// MARK: - Names

extension PostTags {
    /// Tags of the kind artist that name no artist.
    private static let pseudoArtists: Set<String> = ["banned_artist"]

    /// The artists in readable form, or the circle; empty for none.
    package var artists: String {
        let named = self[.artist].filter { !Self.pseudoArtists.contains($0) }
        return Self.joined(named.isEmpty ? self[.circle] : named)
    }

    /// The name of a post: its characters, copyright and artists; empty if it has none of them.
    ///
    /// General tags are never part of it: they may be words that are unwanted in a directory.
    package var name: String {
        [Self.joined(self[.character]), Self.joined(self[.copyright]), artists].filter { !$0.isEmpty }
            .joined(separator: " - ")
    }

    /// The first tags with blanks for underscores, and the number of further ones.
    private static func joined(_ tags: [String]) -> String {
        let shown = tags.lazy.map(readable).filter { !$0.isEmpty }
        let more = shown.count - BooruLimits.namedTags
        return shown.prefix(BooruLimits.namedTags).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }

    /// A tag in readable form: blanks for underscores, none at its ends.
    package static func readable(_ tag: String) -> String {
        tag.split(separator: "_").joined(separator: " ")
    }
}

// MARK: - Shown fields

extension JSON {
    /// The value if it may be shown unchanged: a number, flag, or text of acceptable length; null for anything else.
    package var plain: JSON {
        switch self {
        case .string: words.map { .string($0) } ?? .null
        case .integer, .real, .bool: self
        case .null, .array, .object: .null
        }
    }
}

extension [(name: String, value: JSON)] {
    /// The members that have a value, as members of an object.
    package var shown: [JSON.Member] {
        filter { !$0.value.isNull && $0.value != .array([]) && $0.value != .object([]) }
            .map { JSON.Member(name: $0.name, value: $0.value) }
    }
}
