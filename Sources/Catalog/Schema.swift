import Rankings
import SQLite

/// The tables of the catalog; only appended to.
enum Schema {
    static let migrations = [
        Migration(
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
            """)
    ]

    /// U+001F, which no tag holds; it is taken out of any that does.
    static let tagSeparator: Character = "\u{1F}"
}

extension ListingKey {
    /// The key as text: `ranking/daily/2024-05-01`, `author/11`.
    var text: String {
        switch self {
        case .ranking(let mode, let day): "ranking/\(mode.rawValue)/\(day)"
        case .author(let author): "author/\(author.rawValue)"
        }
    }

    /// Reads the text back; nil for one that this version does not know.
    init?(text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        switch (parts.first, parts.count) {
        case ("ranking", 3):
            guard let mode = RankingMode(rawValue: String(parts[1])), let day = Day(String(parts[2])) else {
                return nil
            }
            self = .ranking(mode, day)
        case ("author", 2):
            guard let number = Int64(parts[1]) else { return nil }
            self = .author(UserID(rawValue: number))
        default:
            return nil
        }
    }
}
