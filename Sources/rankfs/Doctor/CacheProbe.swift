import CLinux
import Glibc
import ImageCache
import SQLite

/// Looks at the cache directory; on a thread that may be left behind, for the file system may not answer.
enum CacheProbe {
    /// A local disk answers in milliseconds, one over the network in a second or so.
    private static let patience: Duration = .seconds(5)
    /// Reading a database of a hundred thousand works takes a second.
    private static let databasePatience: Duration = .seconds(10)

    static func findings(_ place: CachePlace, _ settings: Settings) -> [Finding] {
        let path = place.directory
        let look = BlockingCall.run(within: patience) { directory(path) } ?? .silent
        var findings = Finding.directory(path, look)
        guard case .usable = look else { return findings }
        if let space = BlockingCall.run(within: patience, { space(path, settings) }) { findings.append(.space(space)) }
        let catalogs = BlockingCall.run(within: patience) { place.catalogs } ?? []
        let databases = catalogs.map { ($0.name, CachePlace.database(in: $0.path)) }
        for (name, path) in databases {
            let look = BlockingCall.run(within: databasePatience) { database(path) } ?? .unfinished
            if let finding = Finding.database(name, look) { findings.append(finding) }
        }
        if let look = BlockingCall.run(within: patience, { leftovers(place) }) { findings += Finding.leftovers(look) }
        return findings
    }

    static func directory(_ path: String) -> Finding.DirectoryLook {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            return errno == ENOENT ? .missing(canBeMade: canBeMade(path)) : .unwritable(errno)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return .notADirectory }
        // The mount's own test, and first: nobody is to change the owner or the marks of such a folder.
        guard CachePlace.mayHoldCache((try? LocalFiles.names(in: path)) ?? []) else { return .notOwn }
        guard status.st_uid == geteuid() else { return .foreign(user: status.st_uid) }
        // Read-only file systems say no to root too.
        guard unsafe access(path, W_OK | X_OK) == 0 else { return .unwritable(errno) }
        return .usable(missingMarks: (try? ImageCache.inspect(directory: path).missingMarks) ?? [])
    }

    /// Whether the nearest folder that is there can be written.
    private static func canBeMade(_ path: String) -> Bool {
        var path = path
        while let parent = LocalFiles.parent(of: path) {
            if unsafe access(parent, F_OK) == 0 { return unsafe access(parent, W_OK | X_OK) == 0 }
            path = parent
        }
        return false
    }

    private static func space(_ path: String, _ settings: Settings) -> Finding.SpaceLook {
        var disk = statvfs()
        let isKnown = unsafe statvfs(path, &disk) == 0
        let found = try? ImageCache.inspect(directory: path)
        return Finding.SpaceLook(
            used: (found?.bytes ?? 0) + (found?.partialBytes ?? 0), budget: settings.cacheSize,
            free: isKnown ? Int64(clamping: UInt64(disk.f_bavail) * UInt64(disk.f_frsize)) : nil,
            floor: settings.cacheFree)
    }

    /// Only reads, so that a mount may go on with it.
    private static func database(_ path: String) -> Finding.DatabaseLook {
        guard unsafe access(path, F_OK) == 0 else { return .missing }
        do throws(DatabaseError) {
            let connection = try Connection(path: path, access: .readOnly)
            defer { connection.close() }
            return try connection.quickCheck().map { .damaged($0) } ?? .sound
        } catch {
            return error.code.meansDamage ? .damaged(error.description) : .unreadable(error.description)
        }
    }

    /// Temporary files are written and renamed within milliseconds: one that is older than this was left.
    private static let leftAfter: Int64 = 60

    private static func leftovers(_ place: CachePlace) -> Finding.LeftoverLook {
        var look = Finding.LeftoverLook()
        for directory in [place.directory] + place.catalogs.map(\.path) {
            for name in (try? LocalFiles.names(in: directory)) ?? [] where name.contains(".sqlite.damaged-") {
                if !name.hasSuffix("-wal"), !name.hasSuffix("-shm") { look.setAside.append("\(directory)/\(name)") }
            }
        }
        look.setAside.sort()
        look.temporaries = [place.coolDown + ".new", place.hostCoolDowns + ".new"].filter { isOld($0) }
        var status = stat()
        if unsafe stat(place.log, &status) == 0 { look.logBytes = Int64(status.st_size) }
        return look
    }

    private static func isOld(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && Int64(status.st_mtim.tv_sec) + leftAfter < WallClock.now()
    }
}
