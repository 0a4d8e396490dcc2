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
}

/// What is to go to the store, on the disk, so that a restart forgets nothing.
///
/// ## Concurrency
///
/// An actor on a queue of its own, which may wait for the disk.
actor UploadList {
    /// Pictures that wait at most; a store that is away for weeks costs the oldest ones.
    private static let most = 20_000

    private static let migrations = [
        Migration(
            "uploads",
            """
            CREATE TABLE uploads(
                number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
                length INTEGER NOT NULL, hash INTEGER NOT NULL) STRICT;
            """)
    ]

    private let queue = SerialQueueExecutor(label: "rankfs.tier.uploads")
    private let connection: Connection

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    /// Opens the list; a damaged one is set aside, which costs uploads and nothing else.
    init(path: String) throws(DatabaseError) {
        connection = try Connection.openOrSetAside(path: path, migrations: Self.migrations, inMemoryIfFull: true)
            .connection
    }

    /// Adds an upload, in place of an older one of the same picture.
    func add(_ upload: Upload) {
        try? connection.run(
            "INSERT OR REPLACE INTO uploads(key, path, length, hash) VALUES(?, ?, ?, ?)", .text(upload.key.text),
            .text(upload.path), .integer(upload.length), .integer(Int64(bitPattern: upload.hash)))
        try? connection.run(
            "DELETE FROM uploads WHERE number <= (SELECT max(number) FROM uploads) - ?", .integer(Int64(Self.most)))
    }

    /// Takes an upload off the list.
    func remove(_ upload: Upload) {
        try? connection.run("DELETE FROM uploads WHERE key = ?", .text(upload.key.text))
    }

    /// The oldest ones.
    func first(_ count: Int) -> [Upload] {
        var uploads: [Upload] = []
        try? connection.rows(
            "SELECT key, path, length, hash FROM uploads ORDER BY number LIMIT ?", .integer(Int64(count))
        ) { row in
            guard let key = ObjectKey(row.text(0)) else { return }
            uploads.append(
                Upload(key: key, path: row.text(1), length: row.int64(2), hash: UInt64(bitPattern: row.int64(3))))
        }
        return uploads
    }

    /// How many wait.
    var count: Int {
        let count = try? connection.first("SELECT count(*) FROM uploads") { row in row.int64(0) }
        return Int(count ?? 0)
    }

    func close() { connection.close() }
}
