internal import ObjectStore
internal import SQLite

/// A picture that is to go to the store.
struct Upload: Hashable, Sendable {
    var key: ObjectKey
    /// The file that begins with its bytes.
    var path: String
    /// Bytes.
    var length: Int64
    /// What they add up to.
    var hash: UInt64
    /// How often it was tried in vain.
    var tries = 0
}

/// What is to go to the store, on the disk, so that a restart forgets nothing.
///
/// ## Concurrency
///
/// An actor on a queue of its own, which may wait for the disk.
actor UploadList {
    /// Pictures that wait at most; a store that is away for weeks costs the oldest ones.
    static let most = 20_000

    private static let migrations = [
        Migration(
            "uploads",
            """
            CREATE TABLE uploads(
                number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
                length INTEGER NOT NULL, hash INTEGER NOT NULL) STRICT;
            """),
        Migration(
            "tries of uploads",
            """
            ALTER TABLE uploads ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE uploads ADD COLUMN due INTEGER NOT NULL DEFAULT 0;
            """),
    ]

    private let queue = SerialQueueExecutor(label: "rankfs.tier.uploads")
    private let connection: Connection
    private let most: Int

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    /// Opens the list; a damaged one is set aside, which costs uploads and nothing else.
    init(path: String, most: Int = UploadList.most) throws(DatabaseError) {
        self.most = most
        connection = try Connection.openOrSetAside(path: path, migrations: Self.migrations, inMemoryIfFull: true)
            .connection
        // Counted from the start of another run.
        try? connection.run("UPDATE uploads SET due = 0")
    }

    /// Adds an upload, in place of an older one of the same picture.
    ///
    /// - Returns: The keys of those for which there is no room any more.
    func add(_ upload: Upload) -> [ObjectKey] {
        try? connection.run(
            "INSERT OR REPLACE INTO uploads(key, path, length, hash) VALUES(?, ?, ?, ?)", .text(upload.key.text),
            .text(upload.path), .integer(upload.length), .integer(Int64(bitPattern: upload.hash)))
        var cut: [ObjectKey] = []
        try? connection.rows(
            "DELETE FROM uploads WHERE number <= (SELECT max(number) FROM uploads) - ? RETURNING key",
            .integer(Int64(most))
        ) { row in
            if let key = ObjectKey(row.text(0)) { cut.append(key) }
        }
        return cut
    }

    /// Leaves an upload for later, once more in vain.
    ///
    /// - Parameters:
    ///   - upload: Which.
    ///   - due: When it is tried again, in seconds since the start.
    func postpone(_ upload: Upload, until due: Int64) {
        try? connection.run(
            "UPDATE uploads SET tries = tries + 1, due = ? WHERE key = ?", .integer(due), .text(upload.key.text))
    }

    /// Takes an upload off the list.
    func remove(_ upload: Upload) {
        try? connection.run("DELETE FROM uploads WHERE key = ?", .text(upload.key.text))
    }

    /// The oldest ones whose time has come, in seconds since the start.
    func first(_ count: Int, dueBy now: Int64) -> [Upload] {
        var uploads: [Upload] = []
        try? connection.rows(
            "SELECT key, path, length, hash, tries FROM uploads WHERE due <= ? ORDER BY number LIMIT ?", .integer(now),
            .integer(Int64(count))
        ) { row in
            guard let key = ObjectKey(row.text(0)) else { return }
            uploads.append(
                Upload(
                    key: key, path: row.text(1), length: row.int64(2), hash: UInt64(bitPattern: row.int64(3)),
                    tries: Int(clamping: row.int64(4))))
        }
        return uploads
    }

    /// When the time of the next one comes, in seconds since the start; nil if none waits.
    var nextDue: Int64? {
        let due = try? connection.first("SELECT due FROM uploads ORDER BY due LIMIT 1") { row in row.int64(0) }
        return due.flatMap { $0 }
    }

    /// How many wait.
    var count: Int {
        let count = try? connection.first("SELECT count(*) FROM uploads") { row in row.int64(0) }
        return Int(count ?? 0)
    }

    func close() { connection.close() }
}
