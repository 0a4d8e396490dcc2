import Catalog
import CLinux
import Glibc
import ImageCache
import HTTP
import Rankings
import System

/// The findings on the storage of pictures and listings.
extension Finding {
    /// The state of the cache directory.
    enum DirectoryLook: Hashable, Sendable {
        /// The directory does not exist; whether the nearest existing folder above it can be written.
        case missing(canBeMade: Bool)
        case notADirectory
        /// The directory holds files that are not those of rankfs.
        case notOwn
        /// Another user's, with a link in it, or of a later format, with the sentence that a mount says.
        case foreign(String)
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
        func wrong(_ reason: String) -> [Finding] { [.wrong(subject, "\(shown) \(reason)")] }
        switch look {
        case .missing(canBeMade: true): return [.ok(subject, "\(shown) does not exist yet; the first mount makes it.")]
        case .missing: return wrong("cannot be made: change the rights above it, or set cache_dir.")
        case .notADirectory: return wrong("is no directory: remove it, or set cache_dir.")
        case .notOwn: return wrong("holds files that are not rankfs's: set cache_dir to an empty or new folder.")
        case .foreign(let obstacle): return [.wrong(subject, obstacle)]
        case .unwritable(let code):
            return wrong("cannot be written (\(SystemError(code: code).text)): change its rights, or set cache_dir.")
        case .silent: return wrong("does not answer: look after the file system it is on, or set cache_dir.")
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

    /// The finding on the stored and the free bytes.
    ///
    /// - Parameters:
    ///   - used: The stored bytes.
    ///   - budget: The value of `cache_size`.
    ///   - free: The free bytes of the file system; nil if it does not report them.
    ///   - floor: The value of `cache_free`.
    /// - Returns: Whether there is room for pictures.
    static func space(used: Int64, budget: Int64, free: Int64?, floor: Int64) -> Finding {
        let subject = "cache space"
        if let free, free < floor {
            return .wrong(
                subject,
                "only \(SizeText.text(free)) of the disk are free, so that pictures are not stored: make room, or "
                    + "lower cache_free (\(SizeText.text(floor))).")
        }
        if used > budget {
            return .note(
                subject,
                "\(SizeText.text(used)) are stored, more than cache_size "
                    + "(\(SizeText.text(budget))): `rankfs cache prune` or the next mount shrinks it, to what is pinned at least "
                    + "(`rankfs unpin`).")
        }
        let rest = free.map { ", \(SizeText.text($0)) of the disk are free" } ?? ""
        return .ok(subject, "\(SizeText.text(used)) of \(SizeText.text(budget)) are used\(rest).")
    }

    /// The finding on a database.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - check: The damage that SQLite's quick check found, nil for none; nil if reading it exceeded the time limit.
    /// - Returns: Whether it is sound.
    static func database(_ name: String, _ check: Result<String?, DatabaseError>?) -> Finding {
        let subject = "database"
        func damaged(_ reason: String) -> Finding {
            .wrong(
                subject,
                "\(name) is damaged (\(LogText.escaped(reason))): `rankfs cache verify` or the next mount begins a new one."
            )
        }
        switch check {
        case .success(let damage): return damage.map(damaged) ?? .ok(subject, "\(name) is sound.")
        case .failure(let error) where error.code.meansUnusable: return damaged(error.description)
        case .failure(let error) where error.code == .newerSchema:
            return .wrong(subject, "\(name): \(LogText.escaped(error.description)), or set cache_dir.")
        case .failure(let error):
            return .wrong(
                subject,
                "\(name) cannot be read (\(LogText.escaped(error.description))): check its rights, the disk and its free space."
            )
        case nil: return .note(subject, "\(name) is large and was not read whole: `rankfs cache verify` does that.")
        }
    }

    /// The size in bytes of a log of years at the level info.
    static let largeLog: Int64 = 64 << 20

    /// The findings on the remains of earlier processes.
    ///
    /// - Parameters:
    ///   - temporaries: Temporary files of processes that have ended.
    ///   - setAside: Damaged databases that were set aside.
    ///   - logBytes: The size of the log.
    /// - Returns: One finding per kind that is there.
    static func leftovers(temporaries: [String], setAside: [String], logBytes: Int64) -> [Finding] {
        var findings: [Finding] = []
        func names(_ files: [String]) -> String { files.map { LogText.escaped($0) }.joined(separator: ", ") }
        if !temporaries.isEmpty {
            findings.append(
                .note(
                    "leftovers", "a crash left \(names(temporaries)): `rankfs doctor --fix` removes that.",
                    repair: .remove(files: temporaries)))
        }
        if !setAside.isEmpty {
            findings.append(
                .note("leftovers", "damaged databases were set aside: remove \(names(setAside)) if nobody wants them."))
        }
        if logBytes > largeLog {
            findings.append(
                .note("log", "it has \(SizeText.text(logBytes)): unmount and remove it, or set log=warning."))
        }
        return findings
    }

    // MARK: - Log file

    /// Checks the file of the option `log_file`, without which nothing is mounted.
    static func logFile(_ context: DoctorContext) -> [Finding] {
        guard let path = context.settings.logFile else { return [] }
        let cache = context.place.directory
        if path.way(from: cache) != nil, fileStatus(at: cache) == nil {
            return [.ok("log file", "\(LogText.escaped(path)) is made by the first mount, with the cache.")]
        }
        let obstacle = BlockingCall.run(within: patience) { LogFile.obstacle(at: path) }
        return [logFile(path, obstacle ?? "its file system does not answer")]
    }

    /// The finding on the file of the option `log_file`.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - obstacle: The reason why it cannot be written; nil if it can.
    /// - Returns: Whether a mount can write it.
    static func logFile(_ path: String, _ obstacle: String?) -> Finding {
        let shown = LogText.escaped(path)
        return obstacle.map {
            .wrong("log file", "\(shown) cannot be written (\($0)): set log_file to a file that can be.")
        } ?? .ok("log file", "\(shown) can be written.")
    }

    // MARK: - Check

    // The check of the cache directory, on a thread that may be abandoned, since the file system may not answer.

    /// The time limit of one step: a local disk answers in milliseconds, a disk over the network in a second or so.
    private static let patience: Duration = .seconds(5)
    /// The time limit for a database: reading a hundred thousand works takes a second.
    private static let databasePatience: Duration = .seconds(10)

    /// Checks the cache directory, its space, its databases, and what crashes left in it.
    static func cache(_ context: DoctorContext) -> [Finding] {
        let (place, settings) = (context.place, context.settings)
        let path = place.directory
        let look = BlockingCall.run(within: patience) { DirectoryLook.at(path) } ?? .silent
        var findings = directory(path, look)
        guard case .usable = look else { return findings }
        if let space = BlockingCall.run(within: patience, { space(path, settings) }) { findings.append(space) }
        for catalog in BlockingCall.run(within: patience, { place.catalogs }) ?? [] {
            let path = CachePlace.database(in: catalog.path)
            guard unsafe access(path, F_OK) == 0 else { continue }
            let found = BlockingCall.run(within: databasePatience) { Catalog.check(database: path) }
            findings.append(database(catalog.name, found))
        }
        return findings + (BlockingCall.run(within: patience) { leftovers(place) } ?? [])
    }

    private static func space(_ path: String, _ settings: Settings) -> Finding {
        var disk = statvfs()
        let isKnown = unsafe statvfs(path, &disk) == 0
        let found = try? ImageCache.inspect(directory: path)
        return space(
            used: (found?.bytes ?? 0) + (found?.partialBytes ?? 0), budget: settings.cacheSize,
            free: isKnown ? Int64(clamping: UInt64(disk.f_bavail) * UInt64(disk.f_frsize)) : nil,
            floor: settings.cacheFree)
    }

    /// The age in seconds from which a temporary file is a leftover: it is written and renamed within milliseconds.
    private static let leftAfter: Int64 = 60

    private static func leftovers(_ place: CachePlace) -> [Finding] {
        let setAside = ([place.directory] + place.catalogs.map(\.path)).flatMap { directory in
            ((try? LocalFiles.names(in: directory)) ?? [])
                .filter { $0.contains(".sqlite.damaged-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
                .map { "\(directory)/\($0)" }
        }
        let temporaries = [place.coolDown + ".new", place.hostCoolDowns + ".new"].filter { path in
            fileStatus(link: path).map {
                $0.st_mode.isFile && Int64($0.st_mtim.tv_sec) + leftAfter < TimeSource.wallClock()
            }
                ?? false
        }
        let logBytes = fileStatus(at: place.log).map { Int64($0.st_size) } ?? 0
        return leftovers(temporaries: temporaries, setAside: setAside.sorted(), logBytes: logBytes)
    }
}

extension Finding.DirectoryLook {
    /// Examines a directory as a mount does; blocks as long as its file system does.
    static func at(_ path: String) -> Self {
        guard let status = fileStatus(link: path) else {
            return errno == ENOENT ? .missing(canBeMade: canBeMade(path)) : .unwritable(errno)
        }
        guard status.st_mode.isDirectory || status.st_mode.isLink else { return .notADirectory }
        // The mount's own test, and first: neither the owner nor the marks of such a folder may be changed.
        guard CachePlace.mayHoldCache((try? LocalFiles.names(in: path)) ?? []) else { return .notOwn }
        if let obstacle = CachePlace.obstacle(in: path) { return .foreign(obstacle) }
        // A read-only file system refuses root too.
        guard unsafe access(path, W_OK | X_OK) == 0 else { return .unwritable(errno) }
        do throws(Failure) { return .usable(missingMarks: try ImageCache.inspect(directory: path).missingMarks) } catch
        {
            return .foreign("\(error.cause).")
        }
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
}
