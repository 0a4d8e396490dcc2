internal import Glibc

/// An open database, the unusable file that was set aside, and whether it is in memory because the disk has no room for it.
package typealias OpenedDatabase = (connection: Connection, setAside: SetAside?, isInMemory: Bool)

/// The new path of an unusable database file that was moved out of the way, and the reason.
package typealias SetAside = (path: String, reason: String)

extension Connection {
    /// The size in bytes up to which a check costs little (a few milliseconds).
    static let smallFile: off_t = 4 << 20

    /// The most damaged files that are kept; after that the last is replaced.
    static let damagedFilesKept = 9

    /// Opens a database and brings its schema up to date; sets a damaged one aside and begins a new one.
    ///
    /// The damaged file, or what else lies in its place, is renamed to `<path>.damaged-<n>`, with its `-wal` and `-shm`. A file that is locked by another process,
    /// not readable, on a failing disk or of a newer program is an error: setting it aside would lose sound data.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which is made if it is missing.
    ///   - migrations: The steps of its schema.
    ///   - inMemoryIfFull: Whether a database in memory takes its place when the disk has no room for it.
    /// - Returns: The database, and the file that was set aside.
    /// - Throws: `DatabaseError` if the file can neither be used nor set aside.
    package static func openOrSetAside(
        path: String, migrations: [Migration], inMemoryIfFull: Bool = false
    ) throws(DatabaseError) -> OpenedDatabase {
        if let mode = fileStatus(at: path)?.st_mode, !mode.isFile {
            let aside = (path: try moveAside(path), reason: somethingElse)
            return (try openChecked(path, migrations), aside, false)
        }
        do throws(DatabaseError) {
            return (try openChecked(path, migrations), nil, false)
        } catch {
            guard error.code.meansUnusable else {
                guard inMemoryIfFull, hasNoRoom(beside: path) else { throw error }
                return (try openChecked(inMemory, migrations), nil, true)
            }
            let aside = (path: try moveAside(path), reason: error.description)
            return (try openChecked(path, migrations), aside, false)
        }
    }

    private static let somethingElse = "something else lies in its place"

    /// SQLite's name for a database that is no file (https://www.sqlite.org/inmemorydb.html).
    private static let inMemory = ":memory:"

    /// Bytes that a small database needs with its log and the log's index.
    private static let roomForSmall: UInt64 = 1 << 20

    /// Whether the disk of a file has no room for another one.
    private static func hasNoRoom(beside path: String) -> Bool {
        let parent = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        var status = statvfs()
        guard unsafe statvfs(parent.isEmpty ? "/" : parent, &status) == 0 else { return false }
        let (free, isMuch) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return !isMuch && free < roomForSmall || status.f_files > 0 && status.f_favail == 0
    }

    /// Renames a damaged database with its companions and returns its new path.
    package static func moveAside(_ path: String) throws(DatabaseError) -> String {
        let free = (1..<damagedFilesKept).first { unsafe access("\(path).damaged-\($0)", F_OK) != 0 }
        let target = "\(path).damaged-\(free ?? damagedFilesKept)"
        guard unsafe rename(path, target) == 0 else {
            throw DatabaseError(
                code: .cannotOpen, message: "cannot rename \(path) to \(target): errno \(errno); remove it by hand")
        }
        for companion in ["-wal", "-shm"] where unsafe rename(path + companion, target + companion) != 0 {
            // The companion is missing or in the way: a new database must not read the old one's log.
            unsafe unlink(path + companion)
            unsafe unlink(target + companion)
        }
        return target
    }

    /// Checks a whole database for damage, and renames a damaged one like `openOrSetAside`.
    ///
    /// - Parameter path: A database that no other process uses.
    /// - Returns: The file that was set aside; nil if the file is sound or missing.
    /// - Throws: `DatabaseError` if it cannot be read for other reasons, or not be renamed.
    package static func setAsideIfDamaged(_ path: String) throws(DatabaseError) -> SetAside? {
        guard let status = fileStatus(link: path) else { return nil }
        guard status.st_mode.isFile else { return (path: try moveAside(path), reason: somethingElse) }
        let reason: String
        do throws(DatabaseError) {
            let connection = try Connection(path: path)
            defer { connection.close() }
            guard let finding = try connection.finding(of: "integrity_check") else { return nil }
            reason = finding
        } catch {
            guard error.code.meansUnusable else { throw error }
            reason = error.description
        }
        return (path: try moveAside(path), reason: reason)
    }

    /// Opens a database, checked if its last owner did not close it or if it is small: a large file closed in order is not.
    private static func openChecked(_ path: String, _ migrations: [Migration]) throws(DatabaseError) -> Connection {
        let hasLog = unsafe access(path + "-wal", F_OK) == 0
        let isDoubtful = hasLog || fileStatus(at: path)?.st_size ?? 0 <= smallFile
        let connection = try Connection(path: path)
        if isDoubtful, let finding = try connection.finding(of: "quick_check") {
            connection.close()
            throw DatabaseError(code: .corrupt, message: finding)
        }
        do throws(DatabaseError) {
            try connection.migrate(migrations)
        } catch {
            connection.close()
            throw error
        }
        return connection
    }
}
