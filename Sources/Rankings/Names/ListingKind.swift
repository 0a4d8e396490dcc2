/// A kind of listing: all that distinguishes it from other kinds is its row (`facts`).
///
/// The order of the cases is that of their directories in the root.
package enum ListingKind: Int, CaseIterable, Hashable, Sendable {
    case ranking
    case author
    case artist
    case work
    case search
    case series
    case family
    case favorites
    case pool
    case poolsOfPost
    case favoriteGroup
    case hot
    case bookmarks
    case following
    case feed
    case feedR18
    case related
    case collection
    case authorTags
    case authorTag
    case bookmarksPrivate
    case bookmarkTags
    case bookmarkTag
    case bookmarkMonths
    case bookmarkMonth

    /// The row of the kind.
    package var facts: ListingFacts { Self.table[rawValue] }

    private static let table = allCases.map(\.row)

    private var row: ListingFacts {
        switch self {
        case .ranking:
            ListingFacts("ranking", by: .day, at: .rankings, order: .ranked, freshness: .calendar, sharedUnder: "days")
        case .author:
            // The works of an author.
            // Three requests ahead, because five thousand works are fifty requests.
            ListingFacts(
                "author", by: .number, at: .folder("users"), isIndexed: true, ahead: 3, most: 5000, freshness: .halfDay,
                sharedUnder: "authors", mayBeAbsent: true, seen: .author)
        case .artist:
            // The works of an artist known by name alone.
            ListingFacts(
                "artists", by: .name, at: .folder("artists"), freshness: .halfDay, sharedUnder: "artists",
                mayBeAbsent: true)
        case .work:
            // The pages of one work, as the author uploaded them; its answers are records.
            ListingFacts(
                "work", by: .number, at: .folder("works"), order: .given, contents: .pages, most: 1,
                freshness: .halfDay,
                sharedUnder: "works", mayBeAbsent: true, seen: .work)
        case .search:
            // The results of a search by the user, independent of the spelling of its words.
            ListingFacts("search", by: .name, at: .folder("search"), audience: .owner)
        case .series:
            // A series of an author's works, each under its number in the series; the last ones come first.
            ListingFacts(
                "series", by: .number, at: .folder("series"), order: .lastFirst, freshness: .halfDay,
                sharedUnder: "series", mayBeAbsent: true)
        case .family:
            // The posts that belong together: a post without a parent and its children.
            // One page holds any family.
            ListingFacts(
                "family", by: .number, at: .folder("family"), most: 1, sharedUnder: "family", mayBeAbsent: true)
        case .favorites:
            // The posts that a user of a board likes, the last one that was liked first.
            ListingFacts("favorites", by: .name, at: .folder("favorites"), order: .given, audience: .owner)
        case .pool:
            // The posts of a pool of a board, each under its number in the pool; the subject is the pool's number or its name.
            ListingFacts(
                "pools", by: .name, at: .folder("pools"), order: .ranked, freshness: .halfDay, sharedUnder: "pools",
                mayBeAbsent: true)
        case .poolsOfPost:
            // The pools that contain a post, by number and name; no directory shows them, an attribute of the post does.
            ListingFacts(
                "pools-of", by: .number, at: .inside(.work, "pools"), order: .given, contents: .authors, most: 1,
                freshness: .halfDay, sharedUnder: "pools-of")
        case .favoriteGroup:
            // The posts of a user's group of favourites, each under its number in the group.
            ListingFacts(
                "favgroups", by: .number, at: .folder("favgroups"), order: .ranked, freshness: .halfDay,
                sharedUnder: "favgroups", mayBeAbsent: true)
        case .hot:
            // The posts of the last two days that users like now; there is one such listing, number 1.
            ListingFacts(
                "hot", by: .number, at: .root, ownName: "hot", order: .given, isSnapshot: true, freshness: .minutes,
                sharedUnder: "hot")
        case .bookmarks:
            // The public bookmarks of a user.
            ListingFacts(
                "bookmarks", by: .number, at: .inside(.author, "bookmarks"), ownName: "bookmarks", order: .given,
                audience: .session)
        case .following:
            // The authors that a user follows.
            // Three requests ahead, because two thousand authors are eighty-four.
            ListingFacts(
                "following", by: .number, at: .root, ownName: "following", order: .given, contents: .authors, ahead: 3,
                audience: .session)
        case .feed:
            // The new works of the authors that a user follows.
            // The service has 35 pages of them.
            ListingFacts(
                "feed", by: .number, at: .root, ownName: "feed", most: 35, freshness: .minutes,
                audience: .session)
        case .feedR18:
            // The R-18 works among them; an account without R-18 has none.
            ListingFacts(
                "feed-r18", by: .number, at: .root, ownName: "feed-r18", most: 35, freshness: .minutes,
                audience: .session, mayBeAbsent: true)
        case .related:
            // The works that the service relates to a work, which are others on another day.
            ListingFacts(
                "related", by: .number, at: .folder("related"), order: .given, isIndexed: true, isSnapshot: true,
                most: 20,
                freshness: .day, sharedUnder: "related", mayBeAbsent: true)
        case .collection:
            // The works of a collection, by their places in it; its number is too long for a number.
            ListingFacts(
                "collection", by: .name, at: .folder("collections"), order: .given, isSnapshot: true, most: 1,
                freshness: .halfDay, sharedUnder: "collections", mayBeAbsent: true, mayBeEmpty: true)
        case .authorTags:
            // The tags of an author's works; one answer names all.
            ListingFacts(
                "author-tags", by: .number, at: .folder("author-tags"), order: .given, contents: .listings,
                isSnapshot: true,
                most: 1, freshness: .halfDay, sharedUnder: "author-tags", mayBeAbsent: true)
        case .authorTag:
            // The works of an author with a tag: the subject is the author's number, a slash and the tag.
            ListingFacts(
                "author-tag", by: .name, at: .among(.authorTags), freshness: .halfDay, sharedUnder: "author-tag",
                mayBeAbsent: true)
        case .bookmarksPrivate:
            // The bookmarks that only the user sees.
            ListingFacts(
                "bookmarks-private", by: .number, at: .root, ownName: "bookmarks-private", order: .given,
                audience: .session,
                isSecret: true)
        case .bookmarkTags:
            // The tags that a user gave to public bookmarks, and the months of these.
            ListingFacts(
                "bookmark-tags", by: .number, at: .root, ownName: "bookmark-tags", order: .given, contents: .listings,
                isSnapshot: true, most: 1, audience: .session, isSecret: true)
        case .bookmarkMonths:
            ListingFacts(
                "bookmark-months", by: .number, at: .root, ownName: "bookmark-months", order: .given,
                contents: .listings,
                isSnapshot: true, most: 1, audience: .session, isSecret: true)
        case .bookmarkTag:
            // The public bookmarks with a tag, or of a month: the subject is the user's number, a slash and the name.
            ListingFacts(
                "bookmark-tag", by: .name, at: .among(.bookmarkTags), order: .given, audience: .session,
                mayBeAbsent: true,
                isSecret: true)
        case .bookmarkMonth:
            ListingFacts(
                "bookmark-month", by: .name, at: .among(.bookmarkMonths), order: .given, audience: .session,
                mayBeAbsent: true,
                isSecret: true)
        }
    }
}

/// The row of a kind of listing: its facts, which tree, catalogue, tier and program read.
package final class ListingFacts: Sendable {
    /// The parameter that distinguishes the listings of a kind.
    package enum SubjectForm: Hashable, Sendable {
        /// A ranking and a day of it.
        case day
        /// The number of a work or a user.
        case number
        /// A text.
        case name
    }

    /// The place of the listings' directories.
    package enum Place: Hashable, Sendable {
        /// Below `ranking/`, by ranking and day.
        case rankings
        /// In a directory of this name in the root, each under its subject; the directory lists those that were opened.
        case folder(String)
        /// Under this name in the directory of another kind with the same subject.
        case inside(ListingKind, String)
        /// In the directory of another kind, whose listings name them; the subject begins with the other one's, and a slash.
        case among(ListingKind)
        /// In the root alone, under `ownName`.
        case root
    }

    package enum Order: Hashable, Sendable {
        /// By rank, which begins each name.
        case ranked
        /// By rank as well, the last one first: further entries have lower ranks.
        case lastFirst
        /// Newest first: further entries have lower numbers.
        case newestFirst
        /// The order of the service, which says nothing about entries to come.
        case given
    }

    package enum Contents: Hashable, Sendable {
        case works
        /// The pages of one work.
        case pages
        /// Authors, or pools; their numbers take the place of works' numbers.
        case authors
        /// Listings of the kind that stands among these; the places of their names take the place of works' numbers.
        case listings
    }

    /// The time for which a stored listing is shown without a comparison with the service's.
    package enum Freshness: Hashable, Sendable {
        /// By the age of the ranking's day (`RankingCalendar.Change`).
        case calendar
        case seconds(Int64)

        /// Six hours, for a few requests a day.
        static let halfDay = Freshness.seconds(6 * 3600)
        /// An hour, since users open these listings for their new entries.
        static let hour = Freshness.seconds(3600)
        /// A day, for lists that the service makes anew.
        static let day = Freshness.seconds(86_400)
        /// Five minutes, for lists that change all day.
        static let minutes = Freshness.seconds(300)
    }

    /// The entries of the kind's directory besides the listings that were opened.
    package enum Seen: Hashable, Sendable {
        /// The authors of the pictures that were read last.
        case author
        /// The works of the pictures that were read last.
        case work
    }

    /// The beginning of keys in databases; never changes.
    package let word: String
    package let form: SubjectForm
    package let place: Place
    /// The name in the root under which the signed-in user's own listing stands, or the only one; nil for none.
    package let ownName: String?
    package let order: Order
    package let contents: Contents
    /// Whether the first answer names all works; their records are then requested by number.
    package let isIndexed: Bool
    /// Whether a later answer replaces the list; otherwise its new entries join those that are stored.
    package let isSnapshot: Bool
    /// Requests at once for a reader that continues after the first page; rankings have those of their source.
    package let ahead: Int
    /// An upper bound of the pages.
    package let most: Int
    package let freshness: Freshness
    package let audience: Audience
    /// The beginning of the names of its documents on the tier; nil if its answers are for this user alone.
    package let sharedUnder: String?
    /// Whether only an answer of the service shows that a listing exists.
    package let mayBeAbsent: Bool
    /// Whether a listing that may be absent exists although its first page is empty, which otherwise means that it does not.
    package let mayBeEmpty: Bool
    /// Whether the names below its directory in the root are the user's secret, which no log, status or metric shows.
    package let isSecret: Bool
    package let seen: Seen?

    /// Whether another answer takes the place of a list as a whole: the list has ranks, or is a snapshot.
    package var isReplaced: Bool { order == .ranked || isSnapshot }

    fileprivate init(
        _ word: String, by form: SubjectForm, at place: Place, ownName: String? = nil, order: Order = .newestFirst,
        contents: Contents = .works, isIndexed: Bool = false, isSnapshot: Bool = false,
        ahead: Int = 1, most: Int = 1000,
        freshness: Freshness = .hour, audience: Audience = .everybody, sharedUnder: String? = nil,
        mayBeAbsent: Bool = false, mayBeEmpty: Bool = false, isSecret: Bool = false, seen: Seen? = nil
    ) {
        self.word = word
        self.form = form
        self.place = place
        self.ownName = ownName
        self.order = order
        self.contents = contents
        self.isIndexed = isIndexed
        self.isSnapshot = isSnapshot
        self.ahead = ahead
        self.most = most
        self.freshness = freshness
        self.audience = audience
        self.sharedUnder = sharedUnder
        self.mayBeAbsent = mayBeAbsent
        self.mayBeEmpty = mayBeEmpty
        self.isSecret = isSecret
        self.seen = seen
    }
}

/// The users that can see a node on a mount that other users can access.
package enum Audience: Hashable, Sendable {
    case everybody
    /// The owner and root.
    case owner
    /// The owner and root; the name is not listed for other users, since a session adds it to a directory that they can see.
    case session
}

extension ListingKind {
    /// The name of the directory in the root that has these listings; nil if there is none.
    package var folder: String? {
        if case .folder(let name) = facts.place { name } else { nil }
    }

    /// The kinds with directories in the directory of this kind, with the names of these.
    package var inside: [(kind: ListingKind, name: String)] {
        Self.allCases.compactMap { kind in
            if case .inside(self, let name) = kind.facts.place { (kind, name) } else { nil }
        }
    }

    /// The kind with directories under the names in listings of this kind; nil if there is none.
    package var among: ListingKind? { Self.allCases.first { $0.facts.place == .among(self) } }

    /// Whether names begin with places in the list, or are those of pages, and not the numbers of works.
    package var namesArePlaces: Bool {
        self == .collection || facts.contents == .pages || [.ranked, .lastFirst].contains(facts.order)
    }

    /// Whether the entries are pictures.
    package var showsPictures: Bool { facts.contents != .authors && facts.contents != .listings }
}
