import Rankings

/// Posts of every universe, whatever its seed, that hold what tests and demonstrations look for.
///
/// They are the first of 2024-04-30 and its best, in this order: the best has 5000 points, each other one ten fewer. All have the
/// rating that everybody sees. Number `n` of this table is post ``first(_:)`` + `n`.
enum PostLandmark: Int, CaseIterable, Sendable {
    /// A JPEG with every rendition, tags of every type and a child.
    case plain
    /// Removed because the artist asked (Danbooru): no `md5`, no addresses, tag `banned_artist`.
    case banned
    /// Deleted: still there on Danbooru; on Moebooru without addresses, and in no list unless asked for by number.
    case deleted
    case mp4
    case webm
    /// An animation's archive on Danbooru; a GIF on Moebooru, which has none.
    case zip
    case webp
    /// A GIF on Moebooru.
    case avif
    /// No artist is named.
    case withoutArtist
    /// Tags that file names must survive.
    case hostileTags
    /// A PNG in no way special, for scripts that break it.
    case breakable
    /// 600 pixels wide: Danbooru has no sample of it.
    case small
    case gif
    /// Three artists.
    case threeArtists
    /// A child of ``plain``.
    case child
    /// For paying members only (Danbooru): as ``banned``, but nothing says why.
    case restricted
    /// `media_asset.variants` is empty (Danbooru); not shown in the index (Moebooru).
    case expunged
    case pixivOriginal
    case pixivPage
    case freeText
    case noSource
    /// Held back (Moebooru); pending (both).
    case pending
    /// Flagged.
    case flagged
    /// More tags than any name has room for.
    case manyTags
    /// The original is a PNG of 2400 x 1350 pixels.
    case large

    /// The day of all of them.
    static let day = Day(ordinal: 19_843)  // 2024-04-30

    /// The number of ``plain`` on a site.
    static func first(_ site: ServedSite) -> Int64 {
        PostSlot(day: day.ordinal - site.firstDay.ordinal, number: 0).id(site)
    }

    /// The post's number.
    func id(_ site: ServedSite) -> Int64 {
        Self.first(site) + Int64(rawValue)
    }

    /// The landmark of a place.
    init?(_ slot: PostSlot, _ site: ServedSite) {
        guard slot.day == Self.day.ordinal - site.firstDay.ordinal else { return nil }
        self.init(rawValue: slot.number)
    }

    /// A tag whose search takes too long for Danbooru.
    static let slowTag = "slow_query"
    /// An artist of many posts.
    static let busyArtist = "busy_artist"

    /// Makes a post what it is for; leaves all others alone.
    static func furnish(_ post: inout ServedPost, _ site: ServedSite) {
        guard let mark = PostLandmark(post.slot, site) else { return }
        post.rating = site.isDanbooru ? .general : .sensitive
        post.upScore = 5000 - 10 * mark.rawValue
        post.downScore = 0
        post.parent = mark == .child ? plain.id(site) : nil
        post.hasChildren = mark == .plain
        post.isBanned = mark == .banned && site.isDanbooru
        post.isRestricted = mark == .restricted && site.isDanbooru
        post.isDeleted = mark == .deleted
        post.isPending = mark == .pending
        post.isFlagged = mark == .flagged
        post.isExpunged = mark == .expunged
        post.isHeld = mark == .pending && !site.isDanbooru
        switch mark {
        case .pixivOriginal: post.source = .pixivOriginal(118_000_001)
        case .pixivPage: post.source = .pixivPage(118_000_002)
        case .freeText: post.source = .text(0)
        case .noSource: post.source = .nothing
        default: post.source = .page(mark.rawValue)
        }
    }

    /// Gives a post's file the kind that it is for.
    static func furnish(_ file: inout ServedPostFile, _ slot: PostSlot, _ site: ServedSite) {
        guard let mark = PostLandmark(slot, site) else { return }
        let models = PostModel.numbers(mark.format(site))
        // small ones come first in the table, the largest last
        file.model = (mark == .small || mark == .webp ? models.first : models.last) ?? 0
        if mark.format(site) == .jpg, mark != .small { file.model = 3 + mark.rawValue % 13 }
        if mark == .breakable { file.model = (models.first ?? 0) + 1 }
    }

    private func format(_ site: ServedSite) -> ServedFormat {
        switch self {
        case .mp4: .mp4
        case .webm: .webm
        case .zip: site.isDanbooru ? .zip : .gif
        case .webp: .webp
        case .avif: site.isDanbooru ? .avif : .gif
        case .gif: .gif
        case .breakable, .large: .png
        default: .jpg
        }
    }
}
