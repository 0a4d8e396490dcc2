import CLinux
import Glibc
import ImageCache
import Posix
import SQLite

/// The findings on the storage of pictures and listings.
extension Finding {
    /// The state of the cache directory.
    enum DirectoryLook: Hashable, Sendable {
        /// The directory does not exist; whether the nearest existing folder above it can be written.
        case missing(canBeMade: Bool)
        case notADirectory
        /// The directory holds files that are not those of rankfs.
        case notOwn
        case foreign(user: UInt32)
        /// Not writable, with the errno.
        case unwritable(Int32)
        /// Usable, with the missing marks against backups and the reason for each.
        case usable(missingMarks: [String])
        /// No answer in time, not even an error.
        case silent
    }

    static func directory(_ path: String, _ look: DirectoryLook) -> [Finding] {
        let subject = "cache directory"
        let shown = LogText.escaped(path)
        switch look {
        case .missing(canBeMade: true): return [.ok(subject, "\(shown) does not exist yet; the first mount makes it.")]
        case .missing:
            return [.wrong(subject, "\(shown) cannot be made: change the rights above it, or set cache_dir.")]
        case .notADirectory: return [.wrong(subject, "\(shown) is no directory: remove it, or set cache_dir.")]
        case .notOwn:
            return [
                .wrong(
                    subject, "\(shown) holds files that are not rankfs's: set cache_dir to an empty or new folder.")
            ]
        case .foreign(let user):
            return [
                .wrong(subject, "\(shown) belongs to user \(user): change its owner with `chown -R`, or set cache_dir.")
            ]
        case .unwritable(let code):
            return [
                .wrong(
                    subject,
                    "\(shown) cannot be written (\(LocalFiles.Failure(code: code).text)): change its rights, or set cache_dir."
                )
            ]
        case .silent:
            return [.wrong(subject, "\(shown) does not answer: look after the file system it is on, or set cache_dir.")]
        case .usable(let missing): return [.ok(subject, "\(shown) can be written."), marks(path, missing)]
        }
    }

    /// The finding on the marks: most backup programs obey the tag; each of the other marks matters to single programs.
    private static func marks(_ path: String, _ missing: [String]) -> Finding {
        guard !missing.isEmpty else { return .ok("cache marks", "every mark that keeps backups away is set.") }
        // Each mark is `MARK: REASON`; a second colon after the marks would be one too many.
        let marks = missing.map { mark in
            let parts = mark.split(separator: ":", maxSplits: 1).map { LogText.escaped(String($0.drop { $0 == " " })) }
            return parts.count == 2 ? "\(parts[0]) (\(parts[1]))" : LogText.escaped(mark)
        }
        let text =
            "not in order are \(marks.joined(separator: ", ")): `rankfs doctor --fix` and "
            + "every mount set what the file system can hold."
        return missing.contains { $0.hasPrefix("CACHEDIR.TAG") }
            ? .wrong("cache marks", text, repair: .mark(directory: path))
            : .note("cache marks", text, repair: .mark(directory: path))
    }

    /// The stored and the free bytes, and the bounds that the options set.
    struct SpaceLook: Hashable, Sendable {
        var used: Int64
        var budget: Int64
        /// Nil if the file system does not report it.
        var free: Int64?
        var floor: Int64
    }

    static func space(_ look: SpaceLook) -> Finding {
        let subject = "cache space"
        if let free = look.free, free < look.floor {
            return .wrong(
                subject,
                "only \(ValueParsers.sizeText(free)) of the disk are free, so that pictures are not stored: make room, or "
                    + "lower cache_free (\(ValueParsers.sizeText(look.floor))).")
        }
        if look.used > look.budget {
            return .note(
                subject,
                "\(ValueParsers.sizeText(look.used)) are stored, more than cache_size "
                    + "(\(ValueParsers.sizeText(look.budget))): `rankfs cache prune` or the next mount shrinks it.")
        }
        let free = look.free.map { ", \(ValueParsers.sizeText($0)) of the disk are free" } ?? ""
        return .ok(
            subject, "\(ValueParsers.sizeText(look.used)) of \(ValueParsers.sizeText(look.budget)) are used\(free).")
    }

    /// The state of a database.
    enum DatabaseLook: Hashable, Sendable {
        case sound
        case missing
        case damaged(String)
        case unreadable(String)
        /// Reading it exceeded the time limit.
        case unfinished
    }

    static func database(_ name: String, _ look: DatabaseLook) -> Finding? {
        switch look {
        case .missing: nil
        case .sound: .ok("database", "\(name) is sound.")
        case .damaged(let reason):
            .wrong(
                "database",
                "\(name) is damaged (\(LogText.escaped(reason))): `rankfs cache verify` or the next mount begins a new one."
            )
        case .unreadable(let reason):
            .wrong("database", "\(name) cannot be read (\(LogText.escaped(reason))): check its rights and the disk.")
        case .unfinished: .note("database", "\(name) is large and was not read whole: `rankfs cache verify` does that.")
        }
    }

    /// The remains of earlier processes in the cache directory.
    struct LeftoverLook: Hashable, Sendable {
        /// Temporary files of processes that have ended.
        var temporaries: [String] = []
        /// Damaged databases that were set aside.
        var setAside: [String] = []
        var logBytes: Int64 = 0
    }

    /// The size in bytes of a log of years at the level info.
    static let largeLog: Int64 = 64 << 20

    static func leftovers(_ look: LeftoverLook) -> [Finding] {
        var findings: [Finding] = []
        if !look.temporaries.isEmpty {
            let names = look.temporaries.map { LogText.escaped($0) }.joined(separator: ", ")
            findings.append(
                .note(
                    "leftovers", "a crash left \(names): `rankfs doctor --fix` removes that.",
                    repair: .remove(files: look.temporaries)))
        }
        if !look.setAside.isEmpty {
            let names = look.setAside.map { LogText.escaped($0) }.joined(separator: ", ")
            findings.append(
                .note("leftovers", "damaged databases were set aside: remove \(names) if nobody wants them."))
        }
        if look.logBytes > largeLog {
            findings.append(
                .note(
                    "log", "it has \(ValueParsers.sizeText(look.logBytes)): unmount and remove it, or set log=warning.")
            )
        }
        return findings
    }
}

// MARK: - Cache probe

/// Examines the cache directory, on a thread that may be abandoned, since the file system may not answer.
enum CacheProbe {
    /// The time limit of one check: a local disk answers in milliseconds, a disk over the network in a second or so.
    private static let patience: Duration = .seconds(5)
    /// The time limit for a database: reading a hundred thousand works takes a second.
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
        // The mount's own test, and first: neither the owner nor the marks of such a folder may be changed.
        guard CachePlace.mayHoldCache((try? LocalFiles.names(in: path)) ?? []) else { return .notOwn }
        guard status.st_uid == geteuid() else { return .foreign(user: status.st_uid) }
        // A read-only file system refuses root too.
        guard unsafe access(path, W_OK | X_OK) == 0 else { return .unwritable(errno) }
        return .usable(missingMarks: (try? ImageCache.inspect(directory: path).missingMarks) ?? [])
    }

    /// Whether the nearest existing folder above a path can be written.
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

    /// Checks a database without writing, so that a mount may continue to use it.
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

    /// The age in seconds from which a temporary file is a leftover: it is written and renamed within milliseconds.
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
