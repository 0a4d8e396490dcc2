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
            ListingFacts(
                word: "ranking", form: .day, place: .rankings, order: .ranked, freshness: .calendar,
                sharedUnder: "days")
        case .author:
            // The works of an author.
            // Three requests ahead, because five thousand works are fifty requests.
            ListingFacts(
                word: "author", form: .number, place: .folder("users"), isIndexed: true, ahead: 3, most: 5000,
                freshness: .halfDay, sharedUnder: "authors", mayBeAbsent: true, listsSeen: true)
        case .artist:
            // The works of an artist known by name alone.
            ListingFacts(
                word: "artists", form: .name, place: .folder("artists"), freshness: .halfDay, sharedUnder: "artists",
                mayBeAbsent: true)
        case .work:
            // The pages of one work, as the author uploaded them; its answers are records.
            ListingFacts(
                word: "work", form: .number, place: .folder("works"), order: .given, contents: .pages, most: 1,
                freshness: .halfDay, sharedUnder: "works", mayBeAbsent: true, listsSeen: true)
        case .search:
            // The results of a search by the user, independent of the spelling of its words.
            ListingFacts(word: "search", form: .name, place: .folder("search"), audience: .owner)
        case .series:
            // A series of an author's works, each under its number in the series; the last ones come first.
            ListingFacts(
                word: "series", form: .number, place: .folder("series"), order: .lastFirst, freshness: .halfDay,
                sharedUnder: "series", mayBeAbsent: true)
        case .family:
            // The posts that belong together: a post without a parent and its children.
            // One page holds any family.
            ListingFacts(
                word: "family", form: .number, place: .folder("family"), most: 1, sharedUnder: "family",
                mayBeAbsent: true)
        case .favorites:
            // The posts that a user of a board likes, the last one that was liked first.
            ListingFacts(word: "favorites", form: .name, place: .folder("favorites"), order: .given, audience: .owner)
        case .pool:
            // The posts of a pool of a board, each under its number in the pool; the subject is the pool's number or its name.
            ListingFacts(
                word: "pools", form: .name, place: .folder("pools"), order: .ranked, freshness: .halfDay,
                sharedUnder: "pools", mayBeAbsent: true)
        case .poolsOfPost:
            // The pools that contain a post, by number and name; no directory shows them, an attribute of the post does.
            ListingFacts(
                word: "pools-of", form: .number, place: .inside(.work, "pools"), order: .given, contents: .authors,
                most: 1, freshness: .halfDay, sharedUnder: "pools-of")
        case .favoriteGroup:
            // The posts of a user's group of favourites, each under its number in the group.
            ListingFacts(
                word: "favgroups", form: .number, place: .folder("favgroups"), order: .ranked, freshness: .halfDay,
                sharedUnder: "favgroups", mayBeAbsent: true)
        case .hot:
            // The posts of the last two days that users like now; there is one such listing, number 1.
            ListingFacts(
                word: "hot", form: .number, place: .root, ownName: "hot", order: .given, isSnapshot: true,
                freshness: .minutes, sharedUnder: "hot")
        case .bookmarks:
            // The public bookmarks of a user.
            ListingFacts(
                word: "bookmarks", form: .number, place: .inside(.author, "bookmarks"), ownName: "bookmarks",
                order: .given, audience: .session)
        case .following:
            // The authors that a user follows.
            // Three requests ahead, because two thousand authors are eighty-four.
            ListingFacts(
                word: "following", form: .number, place: .root, ownName: "following", order: .given,
                contents: .authors, ahead: 3, audience: .session)
        case .feed:
            // The new works of the authors that a user follows.
            // The service has 35 pages of them.
            ListingFacts(
                word: "feed", form: .number, place: .root, ownName: "feed", most: 35, repeatsLastPage: true,
                freshness: .minutes, audience: .session)
        case .feedR18:
            // The R-18 works among them; an account without R-18 has none.
            ListingFacts(
                word: "feed-r18", form: .number, place: .root, ownName: "feed-r18", most: 35, repeatsLastPage: true,
                freshness: .minutes, audience: .session, mayBeAbsent: true)
        case .related:
            // The works that the service relates to a work, which are others on another day.
            ListingFacts(
                word: "related", form: .number, place: .folder("related"), order: .given, isIndexed: true,
                isSnapshot: true, most: 20, freshness: .day, sharedUnder: "related", mayBeAbsent: true)
        case .collection:
            // The works of a collection, by their places in it; its number is too long for a number.
            ListingFacts(
                word: "collection", form: .name, place: .folder("collections"), order: .given, isSnapshot: true,
                most: 1, freshness: .halfDay, sharedUnder: "collections", mayBeAbsent: true, mayBeEmpty: true)
        case .authorTags:
            // The tags of an author's works; one answer names all.
            ListingFacts(
                word: "author-tags", form: .number, place: .folder("author-tags"), order: .given, contents: .listings,
                isSnapshot: true, most: 1, freshness: .halfDay, sharedUnder: "author-tags", mayBeAbsent: true)
        case .authorTag:
            // The works of an author with a tag: the subject is the author's number, a slash and the tag.
            ListingFacts(
                word: "author-tag", form: .name, place: .among(.authorTags), freshness: .halfDay,
                sharedUnder: "author-tag", mayBeAbsent: true)
        case .bookmarksPrivate:
            // The bookmarks that only the user sees.
            ListingFacts(
                word: "bookmarks-private", form: .number, place: .root, ownName: "bookmarks-private", order: .given,
                audience: .session, isSecret: true)
        case .bookmarkTags:
            // The tags that a user gave to public bookmarks, and the months of these.
            ListingFacts(
                word: "bookmark-tags", form: .number, place: .root, ownName: "bookmark-tags", order: .given,
                contents: .listings, isSnapshot: true, most: 1, audience: .session, isSecret: true)
        case .bookmarkMonths:
            ListingFacts(
                word: "bookmark-months", form: .number, place: .root, ownName: "bookmark-months", order: .given,
                contents: .listings, isSnapshot: true, most: 1, audience: .session, isSecret: true)
        case .bookmarkTag:
            // The public bookmarks with a tag, or of a month: the subject is the user's number, a slash and the name.
            ListingFacts(
                word: "bookmark-tag", form: .name, place: .among(.bookmarkTags), order: .given, audience: .session,
                mayBeAbsent: true, isSecret: true)
        case .bookmarkMonth:
            ListingFacts(
                word: "bookmark-month", form: .name, place: .among(.bookmarkMonths), order: .given, audience: .session,
                mayBeAbsent: true, isSecret: true)
        }
    }
}

/// The row of a kind of listing: its facts, which tree, catalogue, tier and program read.
package struct ListingFacts: Sendable {
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
        package static let minutes = Freshness.seconds(300)
    }

    /// The beginning of keys in databases; never changes.
    package let word: String
    package let form: SubjectForm
    package let place: Place
    /// The name in the root under which the signed-in user's own listing stands, or the only one; nil for none.
    package fileprivate(set) var ownName: String?
    package fileprivate(set) var order = Order.newestFirst
    package fileprivate(set) var contents = Contents.works
    /// Whether the first answer names all works; their records are then requested by number.
    package fileprivate(set) var isIndexed = false
    /// Whether a later answer replaces the list; otherwise its new entries join those that are stored.
    package fileprivate(set) var isSnapshot = false
    /// Requests at once for a reader that continues after the first page; rankings have those of their source.
    package fileprivate(set) var ahead = 1
    /// An upper bound of the pages.
    package fileprivate(set) var most = 1000
    /// Whether the service shows the last page once more in place of those after it, and has no other sign of the end.
    package fileprivate(set) var repeatsLastPage = false
    package fileprivate(set) var freshness = Freshness.hour
    package fileprivate(set) var audience = Audience.everybody
    /// The beginning of the names of its documents on the tier; nil if its answers are for this user alone.
    package fileprivate(set) var sharedUnder: String?
    /// Whether only an answer of the service shows that a listing exists.
    package fileprivate(set) var mayBeAbsent = false
    /// Whether a listing that may be absent exists although its first page is empty, which otherwise means that it does not.
    package fileprivate(set) var mayBeEmpty = false
    /// Whether the names below its directory in the root are the user's secret, which no log, status or metric shows.
    package fileprivate(set) var isSecret = false
    /// Whether the directory of the kind also lists the authors or the works of the pictures that were read last.
    package fileprivate(set) var listsSeen = false

    /// Whether another answer takes the place of a list as a whole: the list has ranks, or is a snapshot.
    package var isReplaced: Bool { order == .ranked || isSnapshot }
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

    /// The kind in whose directories those of this kind stand; nil for a kind with directories elsewhere, or with none.
    package var holder: ListingKind? {
        switch facts.place {
        case .among(let kind): kind
        case .inside(let kind, _): showsPictures ? kind : nil
        case .rankings, .folder, .root: nil
        }
    }

    /// The kind with directories under the names in listings of this kind; nil if there is none.
    package var among: ListingKind? { Self.inner[self] }

    private static let inner = Dictionary(
        uniqueKeysWithValues: allCases.compactMap { kind in
            if case .among(let outer) = kind.facts.place { (outer, kind) } else { nil }
        })

    /// Whether names begin with places in the list, or are those of pages, and not the numbers of works.
    package var namesArePlaces: Bool {
        self == .collection || facts.contents == .pages || [.ranked, .lastFirst].contains(facts.order)
    }

    /// Whether the entries are pictures.
    package var showsPictures: Bool { facts.contents != .authors && facts.contents != .listings }
}
