internal import SQLite

/// The index as a database: one row a picture, so that a start need not look at every file.
///
/// The files are the truth; a row without its file, or a file without its row, is mended when met.
///
/// ## Concurrency
///
/// Belongs to the cache's disk queue after the start.
// Unchecked: `connection` is not Sendable; it is used by `init` and then only on one serial queue.
final class IndexFile: @unchecked Sendable {
    private static let migrations = [
        Migration(
            "pictures",
            """
            CREATE TABLE pictures(
                high INTEGER NOT NULL, low INTEGER NOT NULL, length INTEGER NOT NULL, used INTEGER NOT NULL,
                pinned INTEGER NOT NULL, PRIMARY KEY(high, low)) WITHOUT ROWID, STRICT;
            CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID, STRICT;
            """)
    ]

    /// What a start found.
    struct Loaded {
        var entries: [FileKey: StoredIndex.Entry]
        /// Why the files must be looked at; nil after a clean end.
        var suspicion: String?
    }

    private var connection: Connection

    private let setAside: SetAside?

    /// Opens the database; a damaged or newer one is set aside and an empty one takes its place.
    init(path: String) throws(DatabaseError) {
        let opened = try Connection.openOrSetAside(path: path, migrations: Self.migrations)
        connection = opened.connection
        setAside = opened.setAside
    }

    /// Reads every row and marks the database as in use, so that a crash is noticed.
    func load() throws(DatabaseError) -> Loaded {
        let wasClean = try connection.first("SELECT value FROM state WHERE name = 'clean'") { row in row.int64(0) == 1 }
        var entries: [FileKey: StoredIndex.Entry] = [:]
        let count = try connection.first("SELECT count(*) FROM pictures") { row in row.int64(0) } ?? 0
        entries.reserveCapacity(Int(count))
        try connection.rows("SELECT high, low, length, used, pinned FROM pictures") { row in
            let key = FileKey(
                high: UInt64(bitPattern: row.int64(0)), low: UInt64(bitPattern: row.int64(1)))
            entries[key] = StoredIndex.Entry(
                length: row.int64(2), used: row.int64(3), isPinned: row.int64(4) != 0)
        }
        try setClean(false)
        let suspicion: String? =
            switch wasClean {
            case true: nil
            case false: "the last run did not end cleanly"
            default: setAside.map { "the index was unusable: \($0.reason)" } ?? "there was no index"
            }
        return Loaded(entries: entries, suspicion: suspicion)
    }

    /// Whether somebody removed it while it is open.
    var isAstray: Bool { connection.isAstray }

    /// Puts it back in its place.
    func restore() throws(DatabaseError) { connection = try connection.restored() }

    /// Writes changed and removed entries in one transaction.
    func write(_ changed: [FileKey: StoredIndex.Entry], removed: [FileKey]) throws(DatabaseError) {
        guard !changed.isEmpty || !removed.isEmpty else { return }
        try connection.transaction { () throws(DatabaseError) in
            for key in removed {
                try connection.run(
                    "DELETE FROM pictures WHERE high = ? AND low = ?", .integer(Int64(bitPattern: key.high)),
                    .integer(Int64(bitPattern: key.low)))
            }
            for (key, entry) in changed {
                try connection.run(
                    "INSERT OR REPLACE INTO pictures(high, low, length, used, pinned) VALUES(?, ?, ?, ?, ?)",
                    .integer(Int64(bitPattern: key.high)), .integer(Int64(bitPattern: key.low)),
                    .integer(entry.length), .integer(entry.used), .integer(entry.isPinned ? 1 : 0))
            }
        }
    }

    func setClean(_ isClean: Bool) throws(DatabaseError) {
        try connection.run("INSERT OR REPLACE INTO state(name, value) VALUES('clean', ?)", .integer(isClean ? 1 : 0))
    }

    func close() {
        connection.close()
    }
}
