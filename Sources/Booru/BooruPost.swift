package import Rankings
import Sourcing

/// A post of an image board, as both engines tell one.
package struct BooruPost: Hashable, Sendable {
    package var id: WorkID
    /// Nil for a letter that the service's scale does not have.
    package var rating: BooruRating?
    package var tags = PostTags()
    /// Nil for a post whose pictures cannot be had.
    package var files: PostFiles?
    /// Why they cannot; one short word.
    package var withheld: String?
    /// Pixels of the original; 0 if not told.
    package var width = 0
    package var height = 0
    /// The original's extension where it is told, also of a post without files.
    package var fileExtension: String?
    /// When the bytes came, in Unix seconds; 0 if not told.
    package var uploaded: Int64 = 0
    /// When the post was made, in Unix seconds.
    package var created: Int64?
    package var score: Int64?
    package var favourites: Int?
    /// Where the post says that it comes from: any text.
    package var source = ""
    /// The number of a work on pixiv that it comes from.
    package var pixivWork: Int64?
    package var isAI: Bool?

    package init(id: WorkID) {
        self.id = id
    }

    /// What a listing keeps of it.
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

    /// The entry that the post makes with what its record says of its files.
    ///
    /// - Parameters:
    ///   - address: Where the original is; nil for a post that is withheld.
    ///   - size: Bytes of the original, if told.
    ///   - hosts: Where pictures may be.
    ///   - withheld: Why there is no address.
    ///   - files: All files of the post, for its original; nil if nothing proves that.
    /// - Returns: `.unreadable` for an original of an unknown format.
    package func entry(
        original address: String?, size: Int64?, hosts: PictureHosts, withheld: @autoclosure () -> String,
        files: (PostFile) -> PostFiles?
    ) -> PostEntry {
        var post = self
        guard let address else {
            post.withheld = withheld()
            return .post(post)
        }
        guard let fileExtension = post.fileExtension, PostFormat.all.contains(fileExtension) else {
            return .unreadable
        }
        guard let place = hosts.place(address) else {
            post.withheld = Withholding.elsewhere
            return .post(post)
        }
        post.files = files(PostFile(place: place, fileExtension: fileExtension, size: size))
        if post.files == nil { post.withheld = Withholding.unproven }
        return .post(post)
    }

    /// The score, which is negative for a post that more people refuse than like; without one the favourites.
    private var ratings: Int? {
        score.map { Int(min(max($0, 0), AnswerBounds.counts.upperBound)) } ?? favourites
    }

    /// The page elsewhere that the post names.
    var origin: String? {
        PostOrigin.page(source: source, pixivWork: pixivWork)
    }
}

/// Why the pictures of a post cannot be had.
package enum Withholding {
    package static let banned = "banned"
    package static let deleted = "deleted"
    package static let held = "held"
    package static let expunged = "expunged"
    /// Above the option `rating`.
    package static let rating = "rating"
    /// On a host that is not listed.
    package static let elsewhere = "elsewhere"
    /// Of which no size is told, or no digest: nobody could say whether its bytes are the right ones.
    package static let unproven = "unproven"
    /// Without a reason that is told.
    package static let restricted = "restricted"
}

/// Where posts come from.
enum PostOrigin {
    /// The page that a source names: of pixiv's pictures the work's page, else an address of the web; nil for any other text.
    static func page(source: String, pixivWork: Int64?) -> String? {
        if let pixivWork, pixivWork > 0 { return work(String(pixivWork)) }
        let source = source.hasPrefix("//") ? "https:" + source : source
        guard let address = WebAddress(source) else { return nil }
        // `i.pximg.net/img-original/img/2024/05/01/00/00/00/118322354_p0.png`: nobody may look at it without a Referer.
        if address.host == "i.pximg.net" || address.host.hasSuffix(".pixiv.net") && address.path.contains("img") {
            let number = (address.path.last ?? "").prefix { $0.isASCII && $0.isNumber }
            return WebAddress.work(String(number)).flatMap { work(String($0.rawValue)) }
        }
        return source
    }

    private static func work(_ number: String) -> String? { "https://www.pixiv.net/artworks/\(number)" }
}

/// An entry of a list: each has a rank, whether it is shown or not.
package enum PostEntry: Hashable, Sendable {
    case post(BooruPost)
    /// A post in a format that no program plays: known, and left out.
    case unplayable
    /// It makes no sense.
    case unreadable

    package var post: BooruPost? {
        if case .post(let post) = self { post } else { nil }
    }
}

// MARK: - Post tags

/// What a tag tells of a post.
package enum TagKind: String, Hashable, Sendable, CaseIterable {
    case artist
    /// A group of artists.
    case circle
    case copyright
    case character
    /// Whatever shows in the picture, and tags of unknown types.
    case general
    /// About the file or the post.
    case meta
}

/// The tags of a post by kind, each kind in the service's order.
package struct PostTags: Hashable, Sendable {
    private var groups: [TagKind: [String]] = [:]
    private var seen: Set<String> = []

    package init() {}

    /// Adds the tags of a text with blanks between them.
    ///
    /// One that is there already stays what it is, one too long is no tag, those beyond `BooruLimits.tags` are left out.
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
    /// Tags that say something of artists and are none.
    private static let pseudoArtists: Set<String> = ["banned_artist"]

    /// The artists as people read them, or the circle; empty for none.
    package var artists: String {
        let named = self[.artist].filter { !Self.pseudoArtists.contains($0) }
        return Self.joined(named.isEmpty ? self[.circle] : named)
    }

    /// What a post is called: its characters, copyright and artists; empty if none of them is told.
    ///
    /// Never what shows in the picture: general tags may be words that nobody wants in a directory.
    package var name: String {
        [Self.joined(self[.character]), Self.joined(self[.copyright]), artists].filter { !$0.isEmpty }
            .joined(separator: " - ")
    }

    /// The first tags with blanks for underscores, and how many more there are.
    private static func joined(_ tags: [String]) -> String {
        let shown = tags.lazy.map(readable).filter { !$0.isEmpty }
        let more = shown.count - BooruLimits.namedTags
        return shown.prefix(BooruLimits.namedTags).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }

    /// A tag as people read it, without blanks at its ends.
    package static func readable(_ tag: String) -> String {
        tag.split(separator: "_").joined(separator: " ")
    }
}

// MARK: - Shown fields

extension JSON {
    /// A value that may be shown as it is: a number, flag, or text of a sane length; null for anything else.
    package var plain: JSON {
        switch self {
        case .string: words.map { .string($0) } ?? .null
        case .integer, .real, .bool: self
        case .null, .array, .object: .null
        }
    }
}

extension [(name: String, value: JSON)] {
    /// Those that tell something, as members of an object.
    package var shown: [JSON.Member] {
        filter { !$0.value.isNull && $0.value != .array([]) && $0.value != .object([]) }
            .map { JSON.Member(name: $0.name, value: $0.value) }
    }
}
