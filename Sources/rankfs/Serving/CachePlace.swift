import CLinux
import Glibc
import ImageCache

/// Where a mount keeps what it stores.
struct CachePlace: Hashable, Sendable {
    /// The root of it all, private to the user: the image cache's own directory, which marks it against backups.
    let directory: String

    /// The catalog's directory, and what it is called.
    var catalog: String { "\(directory)/\(Self.catalogName)" }
    static let catalogName = "catalog"
    var index: String { ImageCache.index(in: directory) }
    var catalogDatabase: String { catalog + "/catalog.sqlite" }
    /// The end of a cool-down that the service asked for, in Unix seconds.
    var coolDown: String { directory + "/cooldown" }
    /// The ends of cool-downs that image hosts asked for, in Unix seconds.
    var hostCoolDowns: String { directory + "/cooldown.hosts" }
    /// Which thumbnails in the user's home are of this cache's mounts.
    var thumbnails: String { "\(directory)/\(Self.thumbnailsName)" }
    static let thumbnailsName = "thumbnails.list"
    var log: String { directory + "/rankfs.log" }

    /// The place that settings name, or the default of the source; an origin of one's own has its own default.
    init(_ settings: Settings, source: SourceName, home: Home) throws(ProgramError) {
        if let named = settings.cacheDirectory {
            directory = named
            return
        }
        let origin = settings.apiURL.map { "-" + $0.authority.replacing(":", with: "_") } ?? ""
        guard let standard = home.cacheDirectory(named: source.rawValue + origin) else {
            throw ProgramError(.configuration, "there is no home directory to store pictures in; set cache_dir.")
        }
        directory = standard
    }

    /// Makes the directories and checks that they can be written.
    func prepare() throws(ProgramError) {
        guard Self.mayHoldCache((try? Files.names(in: directory)) ?? []) else {
            throw ProgramError(
                .cannotCreate,
                "the cache directory \(LogText.escaped(directory)) holds files that are not rankfs's; "
                    + "set cache_dir to an empty or a new folder.")
        }
        do throws(Files.Failure) {
            for path in [directory, catalog] {
                try Files.makeDirectories(path)
                // W_OK and X_OK: read-only file systems say no to root too.
                guard unsafe access(path, W_OK | X_OK) == 0 else { throw Files.Failure.last() }
            }
        } catch {
            throw ProgramError(
                .cannotCreate,
                "the cache directory \(LogText.escaped(directory)) cannot be written: \(error.text); "
                    + "change its permissions or set cache_dir to another one.")
        }
    }

    /// Whether a directory with these names is a cache, or may become one.
    ///
    /// A cache is private to the user and marked against backups: with `cache_dir=/etc` the system, and with a home its backups,
    /// would be lost.
    static func mayHoldCache(_ names: [String]) -> Bool {
        // The image cache's lock file; a cache that never got so far has only what others put there before.
        names.contains(".busy")
            || Set(names).isSubset(of: [
                "catalog", "cooldown", "cooldown.hosts", "thumbnails.list", "rankfs.log", "rankfs.log.1", "lost+found",
            ])
    }

    /// Refuses a cache that would lie inside its own mount, where no file could be written.
    func check(against mountPoint: String) throws(ProgramError) {
        let own = Files.canonicalBeginning(of: directory)
        guard own == mountPoint || own.hasPrefix(mountPoint + "/") else { return }
        throw ProgramError(
            .usage,
            "the cache directory \(LogText.escaped(directory)) lies inside the mount point; set cache_dir to another one."
        )
    }

    /// A cool-down left over from an earlier run.
    func storedCoolDown() -> Int64? {
        guard let bytes = try? Files.read(coolDown, limit: 32) else { return nil }
        return Int64(String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self))
    }

    /// Keeps a cool-down over restarts; a disk that is full costs only that.
    func store(coolDown seconds: Int64) {
        try? Files.replace(coolDown, with: Array("\(seconds)\n".utf8))
    }

    /// Cool-downs of image hosts left over from an earlier run; a line that makes no sense is none.
    func storedHostCoolDowns() -> [String: Int64] {
        guard let bytes = try? Files.read(hostCoolDowns, limit: 16 << 10) else { return [:] }
        var ends: [String: Int64] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 2, let end = Int64(words[1]) else { continue }
            ends[String(words[0])] = end
        }
        return ends
    }

    /// Keeps the cool-downs of image hosts over restarts; a disk that is full costs only that.
    func store(hostCoolDowns ends: [String: Int64]) {
        let lines = ends.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }
        try? Files.replace(hostCoolDowns, with: Array(lines.joined().utf8))
    }
}
