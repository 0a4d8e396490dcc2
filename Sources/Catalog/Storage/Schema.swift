import Rankings
import System

/// The tables of the catalog; migrations are only appended.
enum Schema {
    static let migrations: [Migration] = [
        (
            "listings, entries, works, sizes, newest days",
            """
            -- One row a directory. `next_page` is the page to append next, `remaining` an author's works not yet asked for
            -- (64-bit little-endian), `entry_count` how many rows of `entries` there must be.
            CREATE TABLE listings(
                id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, complete INTEGER NOT NULL, next_page INTEGER NOT NULL,
                last_page INTEGER, entry_count INTEGER NOT NULL, fetched INTEGER NOT NULL, remaining BLOB NOT NULL
            ) STRICT;
            -- What was frozen when an entry was first listed.
            CREATE TABLE entries(
                listing INTEGER NOT NULL REFERENCES listings(id) ON DELETE CASCADE, position INTEGER NOT NULL,
                rank INTEGER, previous_rank INTEGER, work INTEGER NOT NULL, name TEXT NOT NULL,
                uploaded INTEGER NOT NULL, reference TEXT NOT NULL, withheld INTEGER NOT NULL,
                PRIMARY KEY(listing, position)
            ) STRICT, WITHOUT ROWID;
            -- The newest record of every work ever listed; tags are separated by U+001F.
            CREATE TABLE works(
                id INTEGER PRIMARY KEY, title TEXT NOT NULL, author INTEGER NOT NULL, author_name TEXT NOT NULL,
                tags TEXT NOT NULL, kind INTEGER NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
                page_count INTEGER NOT NULL, uploaded INTEGER NOT NULL, views INTEGER, ratings INTEGER,
                picture TEXT NOT NULL, withheld TEXT
            ) STRICT;
            CREATE TABLE sizes(
                work INTEGER NOT NULL, page INTEGER NOT NULL, rendition TEXT NOT NULL, uploaded INTEGER NOT NULL,
                size INTEGER NOT NULL CHECK(size > 0), PRIMARY KEY(work, page, rendition, uploaded)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE newest(mode TEXT PRIMARY KEY, day INTEGER NOT NULL, asked INTEGER NOT NULL) STRICT, WITHOUT ROWID;
            """
        ),
        (
            "pages and renditions of entries, texts, recent pictures",
            """
            -- The page of an entry, and its rendition where it is not the mount's.
            ALTER TABLE entries ADD COLUMN page INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE entries ADD COLUMN rendition TEXT;
            -- Where a stored picture is listed.
            CREATE INDEX entries_by_work ON entries(work);
            -- Whether it was made with AI; null if nobody told.
            ALTER TABLE works ADD COLUMN ai INTEGER;
            CREATE INDEX works_by_author_name ON works(author_name);
            -- Full records, profiles, animations, followed authors: one text each, with the times it was
            -- asked for and last changed.
            CREATE TABLE texts(key TEXT PRIMARY KEY, text TEXT NOT NULL, fetched INTEGER NOT NULL,
                changed INTEGER NOT NULL) STRICT, WITHOUT ROWID;
            -- What was read last: the path below the mount point, and its place in the order of reading, which no
            -- clock tells: many are read in one second, and clocks are set back.
            CREATE TABLE recent(place INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, opened INTEGER NOT NULL) STRICT;
            """
        ),
        (
            "origins of works",
            """
            -- The page elsewhere that the service names as a work's source.
            ALTER TABLE works ADD COLUMN origin TEXT;
            """
        ),
        (
            "series of works",
            """
            -- The number of the author's series that contains a work; null if nobody named one.
            ALTER TABLE works ADD COLUMN series INTEGER;
            """
        ),
        (
            "works of recent pictures",
            """
            -- The work and the page of a picture that was read, which has another name once its listing was requested anew.
            ALTER TABLE recent ADD COLUMN work INTEGER;
            ALTER TABLE recent ADD COLUMN page INTEGER NOT NULL DEFAULT 0;
            """
        ),
        (
            "listings with unreadable entries",
            """
            -- The version of the program that could not decode some entries, which are missing; null if there were none.
            ALTER TABLE listings ADD COLUMN unread_by TEXT;
            """
        ),
    ]

    /// U+001F, which no tag contains; it is removed from any tag that does.
    static let tagSeparator: Character = "\u{1F}"
}

/// The set of listings of a database that a mount uses.
///
/// Names of originals have extensions of their own, and in some sources those of other renditions do too.
struct StoredVariant: Hashable, Sendable {
    /// The beginning of keys of this set; empty where names are the same for all renditions but originals.
    private let prefix: String

    init(_ view: ListingView) {
        prefix = view.rendition == .original || view.hasOwnNames ? "\(view.rendition.rawValue)/" : ""
    }

    /// The stored form of a key: what a user was shown begins with `@<user id>/`.
    func text(of key: StoredKey) -> String {
        let text = key.listing.isSameInEveryView ? key.listing.text : prefix + key.listing.text
        return switch key.audience {
        case .everybody: text
        case .user(let user): "\(Self.user)\(user.rawValue)/\(text)"
        }
    }

    /// The key of this variant that a text stands for; nil for any other text.
    func key(_ text: String) -> StoredKey? {
        guard text.first == Self.user, let slash = text.firstIndex(of: "/") else {
            return listing(text).map { StoredKey(listing: $0) }
        }
        guard let user = Int64(text[..<slash].dropFirst()), let listing = listing(String(text[slash...].dropFirst()))
        else { return nil }
        return StoredKey(listing: listing, audience: .user(UserID(rawValue: user)))
    }

    private static let user: Character = "@"

    private func listing(_ text: String) -> ListingKey? {
        if !prefix.isEmpty, let text = text.rest(after: prefix) { return ListingKey(text: text) }
        guard let key = ListingKey(text: text), prefix.isEmpty || key.isSameInEveryView else { return nil }
        return key
    }
}
