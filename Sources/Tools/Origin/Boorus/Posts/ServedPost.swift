/// All that the origin knows about a post, but for its tags.
struct ServedPost: Sendable {
    let slot: PostSlot
    let id: Int64
    /// Unix milliseconds.
    let created: Int64
    var file: ServedPostFile
    var rating: ServedRating
    var upScore: Int
    /// At most 0.
    var downScore: Int
    var uploader: Int
    var source: ServedPostSource
    var parent: Int64?
    var hasChildren = false
    /// Removed because the artist asked: no address is told.
    var isBanned = false
    /// For paying members only: no address is told, and nothing says why.
    var isRestricted = false
    var isDeleted = false
    var isPending = false
    var isFlagged = false
    /// Danbooru has no renditions any more; Moebooru shows it in no index.
    var isExpunged = false
    /// Moebooru keeps it back until somebody says otherwise.
    var isHeld = false

    var score: Int { upScore + downScore }

    var model: PostModel { PostModel.all[file.model] }

    /// The kind of the original.
    var format: ServedFormat { model.format }

    /// Pixels of the original.
    var pixels: PixelSize { model.pixels }

    /// Whether Danbooru tells where the files are.
    var isVisible: Bool { !isBanned && !isRestricted }
}

/// Where a post says that it comes from.
enum ServedPostSource: Sendable {
    case nothing
    /// A page elsewhere.
    case page(Int)
    /// An original on pixiv's image host.
    case pixivOriginal(Int64)
    /// A page of pixiv.
    case pixivPage(Int64)
    /// No address at all: a magazine or a fair.
    case text(Int)

    /// As the record has it.
    var text: String {
        switch self {
        case .nothing: ""
        case .page(let number):
            Self.pages[number % Self.pages.count] + "\(1_700_000_000_000_000_000 + number * 7_919)"
        case .pixivOriginal(let work):
            "https://i.pximg.net/img-original/img/2024/04/\(11 + work % 19)/00/\(10 + work % 50)/12/"
                + "\(work)_p0.png"
        case .pixivPage(let work): "https://www.pixiv.net/artworks/\(work)"
        case .text(let number): Self.texts[number % Self.texts.count]
        }
    }

    /// The work of pixiv's that the source names.
    var pixivID: Int64? {
        switch self {
        case .pixivOriginal(let work), .pixivPage(let work): work
        case .nothing, .page, .text: nil
        }
    }

    private static let pages = Words.list("sources.pages")
    private static let texts = Words.list("sources.texts")
}
