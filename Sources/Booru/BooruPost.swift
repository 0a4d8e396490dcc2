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
