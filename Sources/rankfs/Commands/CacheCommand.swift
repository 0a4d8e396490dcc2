import Rankings
import Glibc
import HTTP
import Catalog
import ImageCache
import Sourcing
import System
import RankFS

extension Command {
    /// `rankfs cache`: inspects and maintains the stored pictures, without a mount.
    ///
    /// Only `info` works beside a running mount. The other actions hold the cache's lock, which a mount holds for its whole
    /// lifetime; a mount checks, prunes and repairs the files that it uses itself.
    static let cache = Command(
        name: "cache", words: "info|verify|prune|clear [SOURCE] [-o cache_dir=DIR]", brief: "info|verify|prune|clear",
        summary: "what is stored: look at, check, shrink or remove it",
        details: """
              info     prints what is stored and whether backups pass it by; also while it is mounted
              verify   reads every stored picture and the databases, and removes what is not right
              prune    brings the cache to cache_size, and to cache_free on the disk, least recently used pictures first
              clear    removes what is stored of SOURCE: pictures, pinned ones too, unfinished downloads, listings, and the
                       thumbnails that rankfs wrote for file managers

            verify, prune and clear are refused while SOURCE is mounted, and work only in a directory that rankfs marked as its own.
            clear leaves the directory, its log, a cool-down of the service, and the session: `rankfs logout` removes that.
            Exit status: 0 done and all was right, 1 verify found something wrong and removed it, 64 usage, 69 nothing is stored, it is
            mounted or it is not rankfs's.
            """,
        run: { arguments throws(ProgramError) in try maintain(arguments.positions[0], arguments.request) })

    /// The mistakes that a long report lists at most.
    static let mostLines = 20

    private static func maintain(_ action: String, _ request: MountRequest) throws(ProgramError) {
        let (settings, _, home) = try SettingsLoader.load(request)
        let place = try CachePlace(settings, source: request.source, home: home)
        let shown = LogText.escaped(place.directory)
        guard unsafe access(place.directory, F_OK) == 0 else {
            throw .unavailable("nothing is stored: \(shown) does not exist; name another one with -o cache_dir=.")
        }
        if action != "info", let obstacle = CachePlace.obstacle(in: place.directory) {
            throw .unavailable("the cache directory \(obstacle)")
        }
        let mistakes: Int
        var holder: (mountPoint: String, processID: Int32)?
        var silence: ProgramError?
        do throws(Failure) {
            let isServing = {
                // Each look at a mount that does not answer takes as long as the end of one that stops.
                guard silence == nil else { return false }
                do throws(ProgramError) { holder = try StatusDocument.holder(of: place.directory) } catch {
                    silence = error
                }
                return holder != nil
            }
            mistakes = try place.waitingForEnd(unless: isServing) {
                () throws(Failure) in
                switch action {
                case "info": try printInfo(place, settings, shown)
                case "verify": return try verify(place, shown)
                case "prune": try prune(place, settings, shown)
                default: try clear(place, shown)
                }
                return 0
            }
        } catch .busy {
            throw .unavailable(silence.map { "another rankfs uses \(shown), and \($0.message)" } ?? busy(shown, holder))
        } catch .unusable(let sentence) {
            throw .unavailable("\(LogText.escaped(sentence, limit: LogText.longestLine)).")
        } catch {
            throw .unavailable("\(shown) cannot be used: \(error.cause).")
        }
        // The mistakes are listed already; scripts check the exit status.
        if mistakes > 0 { throw .incomplete() }
    }

    /// The holder of the lock and the remedy, as a sentence.
    private static func busy(_ shown: String, _ holder: (mountPoint: String, processID: Int32)?) -> String {
        guard let holder else {
            return "another rankfs uses \(shown); wait until it has ended, or unmount what it serves."
        }
        let mountPoint = LogText.escaped(holder.mountPoint)
        return "\(shown) is used by the mount on \(mountPoint) (process \(holder.processID)); unmount it first with "
            + "`rankfs unmount \(LogText.word(holder.mountPoint))`, or drop single pictures with `rankfs evict`."
    }

    // MARK: - Actions

    private static func printInfo(_ place: CachePlace, _ settings: Settings, _ shown: String) throws(Failure) {
        guard CachePlace.mayHoldCache((try? LocalFiles.names(in: place.directory)) ?? []) else {
            throw .unusable("\(place.directory) holds files that are not rankfs's; name another one with -o cache_dir=")
        }
        let found = try ImageCache.inspect(directory: place.directory)
        let thumbnails = ThumbnailLedger(path: place.thumbnails).survey()
        Output.print(text(of: found, thumbnails: thumbnails, directory: shown, budget: settings.cacheSize))
    }

    /// Checks pictures and listings and prints the mistakes; returns their number.
    private static func verify(_ place: CachePlace, _ shown: String) throws(Failure) -> Int {
        var found = try ImageCache.verify(directory: place.directory)
        do throws(DatabaseError) {
            for catalog in place.catalogs {
                guard let aside = try Connection.setAsideIfDamaged(CachePlace.database(in: catalog.path)) else {
                    continue
                }
                let name = aside.path.split(separator: "/").last ?? ""
                found.mistakes.append(
                    CacheVerification.Mistake(
                        path: "catalog",
                        reason: "\(aside.reason); it was set aside as \(name), listings are asked for anew"))
            }
        } catch {
            throw .unusable(
                "the listings in \(place.directory) cannot be read (\(error.description)); check the disk and its free space"
            )
        }
        Output.print(text(of: found, directory: shown))
        return found.mistakes.count
    }

    private static func prune(_ place: CachePlace, _ settings: Settings, _ shown: String) throws(Failure) {
        try ImageCache.checkIsOwn(directory: place.directory)
        let before = try ImageCache.inspect(directory: place.directory)
        let cache = try ImageCache(
            CacheConfiguration(
                directory: place.directory, budget: settings.cacheSize, freeFloor: settings.cacheFree, preload: 0,
                timeout: settings.timeout, networkTimeout: settings.timeout, now: TimeSource.wallClock),
            host: ImageHost(OfflineNetwork())
        ) { event in
            if case .notStoring(let reason) = event {
                Output.complain("the cache may not grow further: \(reason).", as: "rankfs")
            }
        }
        BlockingCall.wait {
            await cache.prune()
            await cache.close()
        }
        let after = try ImageCache.inspect(directory: place.directory)
        Output.print(text(pruned: before, to: after, directory: shown, budget: settings.cacheSize))
    }

    private static func clear(_ place: CachePlace, _ shown: String) throws(Failure) {
        // Thumbnails of removed pictures are useless; their ledger lies in the same directory.
        try ImageCache.checkIsOwn(directory: place.directory)
        for catalog in place.catalogs {
            let path = CachePlace.database(in: catalog.path)
            guard case .failure(let error) = Catalog.check(database: path), error.code == .newerSchema else { continue }
            throw .unusable("\(path) is not removed: \(error.description)")
        }
        let thumbnails = ThumbnailLedger(path: place.thumbnails).clear()
        let removal = try ImageCache.clear(
            directory: place.directory, others: [CachePlace.catalogName, CachePlace.thumbnailsName])
        Output.print(text(of: removal, thumbnails: thumbnails, directory: shown))
    }

    // MARK: - Texts

    /// The report of `info`, for the terminal.
    static func text(
        of found: CacheInspection, thumbnails: ThumbnailLedger.Tally, directory: String, budget: Int64
    ) -> String {
        let marks = found.missingMarks.map { LogText.escaped($0) }.joined(separator: ", ")
        return [
            "directory  \(directory)",
            "pictures   \(found.pictures) stored, \(SizeText.text(found.bytes)) of the "
                + "\(SizeText.text(budget)) that cache_size allows",
            "partial    \(found.partialPictures) unfinished, \(SizeText.text(found.partialBytes)) of them received",
            "thumbnails \(thumbnails.files) made for file managers, \(SizeText.text(thumbnails.bytes))",
            "backups    " + (marks.isEmpty ? "every mark that keeps them away is set" : "missing marks: \(marks)"),
        ].joined(separator: "\n")
    }

    private static func text(of found: CacheVerification, directory: String) -> String {
        var lines = found.mistakes.prefix(mostLines).map { mistake in
            (mistake.isKept ? "unread     " : "removed    ")
                + "\(LogText.escaped(mistake.path, limit: LogText.longestLine)): \(LogText.escaped(mistake.reason))"
        }
        if found.mistakes.count > mostLines { lines.append("           and \(found.mistakes.count - mostLines) more") }
        lines.append(
            "in order   \(found.pictures) pictures, \(SizeText.text(found.bytes)), and "
                + "\(found.partialPictures) unfinished ones in \(directory)")
        return lines.joined(separator: "\n")
    }

    private static func text(
        pruned before: CacheInspection, to after: CacheInspection, directory: String, budget: Int64
    ) -> String {
        let pictures = before.pictures - after.pictures
        let partials = before.partialPictures - after.partialPictures
        let bytes = before.bytes + before.partialBytes - after.bytes - after.partialBytes
        let pinned = after.pinned > 0 ? " (\(after.pinned) of them pinned)" : ""
        return "removed \(pictures) pictures and \(partials) unfinished ones, \(SizeText.text(bytes)); "
            + "\(after.pictures) pictures stay\(pinned), \(SizeText.text(after.bytes)) of "
            + "\(SizeText.text(budget)), in \(directory)"
    }

    private static func text(
        of removal: CacheInspection, thumbnails: ThumbnailLedger.Tally, directory: String
    ) -> String {
        let pinned = removal.pinned > 0 ? " (\(removal.pinned) of them pinned)" : ""
        return "removed \(removal.pictures) pictures\(pinned), \(SizeText.text(removal.bytes)), "
            + "\(removal.partialPictures) unfinished ones and every listing from \(directory), and "
            + "\(thumbnails.files) thumbnails for file managers, \(SizeText.text(thumbnails.bytes))"
    }
}
