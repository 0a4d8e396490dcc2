internal import CSQLite
internal import Glibc

/// One connection to a database file, in WAL mode, with its prepared statements kept.
///
/// ## Concurrency
///
/// Belongs to one thread or actor at a time (the handle is opened without SQLite's own mutex); not Sendable on purpose. Calls
/// block on the disk: keep it on an actor with a ``SerialQueueExecutor``, never on the cooperative pool.
package final class Connection {
    /// The time that a statement waits for another process's lock, in milliseconds.
    ///
    /// It is longer than any transaction of rankfs takes, and short enough for a start to fail while the user is watching.
    package static let busyTimeout: Int32 = 250

    /// The path of the open file.
    package let path: String
    private var handle: DatabaseHandle?
    private var statements: [String: Statement] = [:]
    /// Device and inode of the file; nil for a database in memory, and for one that is only read.
    private var identity: [UInt64]?

    /// Opens a file and sets WAL, `synchronous=NORMAL` and foreign keys.
    ///
    /// NORMAL in WAL mode never damages the file; a power cut may lose the last transactions (https://www.sqlite.org/wal.html).
    ///
    /// - Parameters:
    ///   - path: The file, which is made if it is missing.
    ///   - isReadOnly: Whether the file is only read; a missing file is then an error. Nothing is created beside a file that was
    ///     closed in order.
    /// - Throws: `DatabaseError` if the file cannot be opened, or is a link.
    package init(path: String, isReadOnly: Bool = false) throws(DatabaseError) {
        self.path = path
        let flags =
            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
            | (isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        guard fileStatus(link: path)?.st_mode.isLink != true else {
            throw DatabaseError(code: .cannotOpen, message: "\(path) is a link, which is not followed; remove it")
        }
        let handle =
            isReadOnly && fileStatus(link: path + "-wal") == nil
            ? try DatabaseHandle(path: Self.immutable(Self.direct(path)), flags: flags | SQLITE_OPEN_URI)
            : try DatabaseHandle(path: Self.direct(path), flags: flags)
        self.handle = handle
        unsafe sqlite3_busy_timeout(handle.pointer, Self.busyTimeout)
        try execute("PRAGMA foreign_keys=ON")
        guard !isReadOnly else { return }
        try execute("PRAGMA journal_mode=WAL")
        try execute("PRAGMA synchronous=NORMAL")
        identity = Self.identity(of: path)
    }

    /// Closes the file; every later call throws `.misuse`.
    ///
    /// The write-ahead log is folded into the file and removed unless another connection is open.
    package func close() {
        statements.removeAll()
        handle = nil
    }

    // MARK: - Statements

    /// The kept statement for a text, ready to be bound; prepared on first use.
    ///
    /// The same text gives the same statement: do not request it again while stepping through it.
    package func statement(_ sql: String) throws(DatabaseError) -> Statement {
        if let statement = statements[sql] {
            statement.reset()
            return statement
        }
        let statement = try Statement(sql, on: opened())
        statements[sql] = statement
        return statement
    }

    /// Runs one statement to its end with values for its parameters.
    package func run(_ sql: String, _ values: SQLValue...) throws(DatabaseError) {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() {}
    }

    /// Calls `body` with each row of a statement.
    package func rows(
        _ sql: String, _ values: SQLValue..., body: (Statement) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() { try body(statement) }
    }

    /// The result of `read` for the first row; nil without a row.
    package func first<Value>(
        _ sql: String, _ values: SQLValue..., read: (Statement) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value? {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(values)
        guard try statement.step() else { return nil }
        return try read(statement)
    }

    /// Runs a text of any number of statements that take no parameters; their rows are ignored.
    package func execute(_ sql: String) throws(DatabaseError) {
        let handle = try opened()
        let code = unsafe sqlite3_exec(handle.pointer, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw handle.error(code, sql: sql) }
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    package var changes: Int {
        guard let handle else { return 0 }
        return unsafe Int(sqlite3_changes(handle.pointer))
    }

    // MARK: - Transactions

    /// Runs `body` in a transaction that is committed if it returns and undone if it throws.
    ///
    /// It begins with the write lock, so that a transaction never fails half-way because of another writer. Transactions do not
    /// nest.
    package func transaction<Value>(
        _ body: () throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value {
        try execute("BEGIN IMMEDIATE")
        do throws(DatabaseError) {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            // After some errors (a full disk) SQLite has already rolled back, and there is nothing to undo.
            if let handle, unsafe sqlite3_get_autocommit(handle.pointer) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }

    // MARK: - A file that was removed

    /// The path with the links of its directory resolved: SQLite's flag refuses those too, and they are the user's own.
    private static func direct(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex,
            let resolved = unsafe realpath(String(path[..<slash]), nil)
        else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(validatingCString: resolved).map { $0 + path[slash...] } ?? path
    }

    /// The URI of a file without a write-ahead log, which SQLite creates otherwise and a reader cannot remove.
    private static func immutable(_ path: String) -> String {
        let special = "%?#".unicodeScalars
        let parts = path.unicodeScalars.map { special.contains($0) ? "%" + String($0.value, radix: 16) : String($0) }
        return "file:\(parts.joined())?immutable=1"
    }

    private static func identity(of path: String) -> [UInt64]? {
        fileStatus(at: path).map { [UInt64($0.st_dev), UInt64($0.st_ino)] }
    }

    /// Whether the file has lost its name while it is open: written data would be lost with the connection.
    package var isAstray: Bool { identity != nil && Self.identity(of: path) != identity }

    /// Writes the whole database to its path again, with the directories above it, and closes this connection.
    ///
    /// - Returns: A connection to the new file.
    /// - Throws: `DatabaseError` if another file has the name meanwhile, or no file can be made; this connection then stays open.
    package func restored() throws(DatabaseError) -> Connection {
        if let slash = path.lastIndex(of: "/") { try? Directory.make(String(path[..<slash])) }
        guard fileStatus(link: path) == nil, errno == ENOENT else {
            throw DatabaseError(code: .cannotOpen, message: "the place of \(path) is taken, or cannot be reached")
        }
        // A remaining log of the old file does not belong to the new one.
        for companion in ["-wal", "-shm"] { _ = unsafe unlink(path + companion) }
        do throws(DatabaseError) {
            try run("VACUUM INTO ?", .text(Self.direct(path)))
            let connection = try Connection(path: path)
            close()
            return connection
        } catch {
            // The next attempt would take an incomplete file for a foreign one.
            _ = unsafe unlink(path)
            throw error
        }
    }

    // MARK: - Health

    /// The first finding of a check; nil for a sound file.
    ///
    /// - Parameter check: `quick_check`, which reads the whole file, or `integrity_check`, which reads it more than once and checks
    ///   the indexes as well.
    /// - Returns: The finding.
    /// - Throws: `DatabaseError` if the file cannot be read.
    package func finding(of check: String) throws(DatabaseError) -> String? {
        let finding = try first("PRAGMA \(check)(1)") { row in row.text(0) }
        return finding == "ok" ? nil : finding ?? "no answer"
    }

    // MARK: - Schema

    /// Brings the database to the newest schema, a list of named steps to which new ones are only appended.
    ///
    /// Runs the missing steps, all in one transaction; throws `.newerSchema` for a file with steps that this program does not know.
    package func migrate(_ migrations: [Migration]) throws(DatabaseError) {
        try execute(
            "CREATE TABLE IF NOT EXISTS migrations(position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT")
        let missing = try missing(of: migrations)
        guard !missing.isEmpty else { return }
        try transaction { () throws(DatabaseError) in
            for (position, migration) in missing {
                try execute(migration.sql)
                try run(
                    "INSERT INTO migrations(position, name) VALUES(?, ?)", .integer(position), .text(migration.name))
            }
        }
    }

    /// The steps of a schema that have not been run, with their places; throws `.newerSchema` like `migrate`.
    package func missing(of migrations: [Migration]) throws(DatabaseError) -> [(Int, Migration)] {
        var applied: [String] = []
        try rows("SELECT name FROM migrations ORDER BY position") { row in applied.append(row.text(0)) }
        let known = migrations.map(\.name)
        guard known.starts(with: applied) else {
            let steps = applied.filter { !known.contains($0) }.joined(separator: ", ")
            throw DatabaseError(
                code: .newerSchema, message: "it was written by a later rankfs (\(steps)); update rankfs")
        }
        return Array(migrations.enumerated().dropFirst(applied.count).map { ($0, $1) })
    }

    private func opened() throws(DatabaseError) -> DatabaseHandle {
        guard let handle else { throw DatabaseError(code: .misuse, message: "the database is closed") }
        return handle
    }
}

/// One step of a schema: its name, and statements without parameters; once released, neither ever changes.
package typealias Migration = (name: String, sql: String)
