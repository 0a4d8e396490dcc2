import CLinux
import Glibc
import HTTP
import ImageCache
import System
import Rankings

/// The directory in which a mount stores its files.
struct CachePlace: Hashable, Sendable {
    /// The root of all stored files, private to the user: the image cache's own directory, which marks it against backups.
    let directory: String
    /// Whether it lies in memory because the disk has no room for a new cache; it is then removed with its mount.
    let isInMemory: Bool
    /// The source whose files these are.
    private let source: SourceName

    /// The catalog's directory.
    var catalog: String { "\(directory)/\(Self.catalogName)" }
    static let catalogName = "catalog"
    /// The catalog's directory and those within it for mounts with other than the usual choices, each with its name for texts.
    var catalogs: [(name: String, path: String)] {
        let others = ((try? LocalFiles.names(in: catalog)) ?? []).filter { $0.contains("=") }.sorted()
        return [("the catalog", catalog)] + others.map { ("the catalog of \($0)", "\(catalog)/\($0)") }
    }
    static func database(in catalog: String) -> String { catalog + "/catalog.sqlite" }
    /// The file with the end of a cool-down that the service requested, in Unix seconds.
    var coolDown: String { directory + "/cooldown" }
    /// The file with the pauses of hosts: those that the hosts requested, and those after a front turned the program away.
    var hostCoolDowns: String { directory + "/cooldown.hosts" }
    /// The file that lists the thumbnails in the user's home that belong to this cache's mounts.
    var thumbnails: String { "\(directory)/\(Self.thumbnailsName)" }
    static let thumbnailsName = "thumbnails.list"
    var log: String { directory + "/rankfs.log" }
    /// The file that names the source; a directory that only version 1.0.0 used has none.
    private static let ownerName = "source"

    /// The place that settings name, or the default of the source; a custom origin has a default of its own.
    ///
    /// A directory belongs to the source that used it first: numbers and paths of one source mean other pictures for the next. Each
    /// other source has a folder of its name there.
    ///
    /// - Parameters:
    ///   - settings: The settings of the mount.
    ///   - source: The source that is mounted.
    ///   - home: The environment.
    ///   - look: Returns what `look(at:)` does, or what is known without an answer of the file system.
    /// - Throws: configuration, without a home directory and a name.
    init(
        _ settings: Settings, source: SourceName, home: Home,
        look: (_ directory: String) -> (path: String, owner: String?) = Self.look
    ) throws(ProgramError) {
        let origin = settings.apiURL?.suffix ?? ""
        guard let named = settings.cacheDirectory ?? home.cacheDirectory(named: source.rawValue + origin) else {
            throw .configuration("there is no home directory to store pictures in; set cache_dir.")
        }
        let (base, owner) = look(named)
        // Version 1.0.0 left the source open: such pictures may be those of any service, and are never given to a demo.
        let isKept =
            settings.cacheDirectory != nil && source.isDemo && fileStatus(at: "\(base)/.busy") != nil
            && fileStatus(at: "\(base)/\(Self.ownerName)") == nil
        let isOwn = owner.map { $0 == source.rawValue } ?? !isKept
        self.init(isOwn ? base : look("\(base)/\(source.rawValue)").path, of: source)
    }

    private init(_ directory: String, of source: SourceName, isInMemory: Bool = false) {
        self.directory = directory
        self.source = source
        self.isInMemory = isInMemory
    }

    /// The path and the source of a directory.
    ///
    /// A link to it that is the user's, or root's, is followed here and nowhere later.
    ///
    /// - Returns: The path; the source that it belongs to, nil if no file there says so.
    static func look(at directory: String) -> (path: String, owner: String?) {
        var path = directory
        if let status = fileStatus(link: path), status.st_mode.isLink, [0, geteuid()].contains(status.st_uid) {
            path = LocalFiles.canonical(path) ?? path
        }
        return (path, owner(of: path))
    }

    /// The source that a directory belongs to; nil if no file there says so.
    static func owner(of directory: String) -> String? {
        guard let bytes = try? Files.read("\(directory)/\(ownerName)", upTo: 64) else { return nil }
        let name = String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }

    /// Makes the directory the source's, unless it is another's; false then.
    ///
    /// A full disk takes no note of it; that comes once the disk has room.
    @discardableResult
    func claim() -> Bool {
        // Mounts of several sources may begin at once.
        let folder = Descriptors.own.open(directory, O_RDONLY | O_DIRECTORY)
        defer { if folder >= 0 { close(folder) } }
        _ = flock(folder, LOCK_EX)
        if let owner = Self.owner(of: directory) { return owner == source.rawValue }
        try? Files.replace(
            "\(directory)/\(Self.ownerName)", with: Array("\(source.rawValue)\n".utf8), isSynced: true)
        return true
    }

    /// Six seconds in all: the five that a stopping daemon may keep the lock, and one more.
    private static let busyPatience: Duration = .seconds(6)
    /// Microseconds.
    private static let busyPause: UInt32 = 100_000

    /// The result of an action that needs the cache's lock, repeated for a while where another process holds it, which may be ending.
    ///
    /// - Parameters:
    ///   - isServing: Whether the process that holds the lock is known to go on.
    ///   - now: The time.
    ///   - action: The action.
    /// - Returns: The action's result.
    /// - Throws: The action's error.
    func waitingForEnd<Value>(
        unless isServing: () -> Bool = { false }, now: () -> ContinuousClock.Instant = { UptimeClock.now },
        _ action: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let end = now() + Self.busyPatience
        while true {
            do throws(Failure) { return try action() } catch {
                guard case .busy = error, now() < end, !isServing() else { throw error }
                usleep(Self.busyPause)
            }
        }
    }

    /// Makes the directories and checks that they can be written.
    ///
    /// - Returns: This place; a place in memory if the disk has no room for it.
    func prepared(_ home: Home) throws(ProgramError) -> CachePlace {
        guard Self.mayHoldCache((try? LocalFiles.names(in: directory)) ?? []) else {
            throw .cannotCreate(
                "the cache directory \(LogText.escaped(directory)) holds files that are not rankfs's; "
                    + "set cache_dir to an empty or a new folder.")
        }
        if let obstacle = Self.obstacle(in: directory) { throw .cannotCreate("the cache directory \(obstacle)") }
        guard let failure = make() else {
            // Another user may have made it since.
            if let obstacle = Self.obstacle(in: directory) { throw .cannotCreate("the cache directory \(obstacle)") }
            // Only now is it certain which of several mounts that began at once was the first.
            if claim() { return self }
            return try CachePlace(Self.look(at: "\(directory)/\(source.rawValue)").path, of: source).prepared(home)
        }
        if failure.code == ENOSPC || failure.code == EDQUOT, let place = inMemory(home) { return place }
        throw .cannotCreate(
            "the cache directory \(LogText.escaped(directory)) cannot be written: \(failure.text); "
                + "change its permissions or set cache_dir to another one.")
    }

    /// The reason why a cache is not the user's own, as a sentence with the remedy; nil if it is, or is not there.
    ///
    /// What another user has put there could lead this user's files, and root's, to any place.
    static func obstacle(in directory: String) -> String? {
        for path in [directory, "\(directory)/\(catalogName)"] {
            guard let status = fileStatus(link: path) else { continue }
            let shown = LogText.escaped(path)
            if status.st_mode.isLink {
                return "\(shown) is a link that is not followed: put a folder in its place, or set cache_dir."
            }
            // Servers of files may show another owner; only the owner may change the mode. Root may change any.
            if status.st_uid == geteuid() { continue }
            if geteuid() != 0, unsafe chmod(path, 0o700) == 0 { continue }
            let remedy = geteuid() == 0 ? "run the command as that user" : "`chown -R` it if it is yours"
            return "\(shown) belongs to user \(status.st_uid): \(remedy), or set cache_dir."
        }
        return nil
    }

    /// Makes missing directories; nil if all exist and can be written.
    private func make() -> SystemError? {
        do throws(SystemError) {
            for path in [directory, catalog] {
                try Directory.make(path)
                // W_OK and X_OK: read-only file systems refuse root too.
                guard unsafe access(path, W_OK | X_OK) == 0 else { throw SystemError.last() }
            }
        } catch {
            return error
        }
        // Other failures are reported by the parts that need the folder.
        guard let code = ImageCache.makeFolders(in: directory), code == ENOSPC || code == EDQUOT else { return nil }
        return SystemError(code: code)
    }

    /// The directory of the catalog for a mount's choices; a separate one for other than the usual choices.
    ///
    /// Works listed under one rating are never shown under another: not as a work, not as read last, not at random.
    ///
    /// - Parameter choices: The text that `SourceName.text(of:)` makes of them.
    /// - Returns: Its path; the directory exists.
    /// - Throws: cannotCreate, if it cannot be made.
    func catalog(showing choices: String) throws(ProgramError) -> String {
        guard !choices.isEmpty else { return catalog }
        let directory = "\(catalog)/\(choices)"
        do throws(SystemError) { try Directory.make(directory) } catch {
            throw .cannotCreate(
                "the directory \(LogText.escaped(directory)) cannot be made: \(error.text); check its owner and free space."
            )
        }
        return directory
    }

    /// Bytes of pictures that a place in memory may hold: the size of the largest possible picture.
    static let mostInMemory: Int64 = 256 << 20

    /// A place in a file system in memory, the same for each mount of this one; nil if there is none.
    private func inMemory(_ home: Home) -> CachePlace? {
        let name = "rankfs" + String(decoding: directory.utf8.suffix(200), as: UTF8.self).map { $0 == "/" ? "_" : $0 }
        for root in [home.variables["XDG_RUNTIME_DIR"], "/dev/shm"].compactMap({ $0 }) where root.hasPrefix("/") {
            let place = CachePlace("\(root)/\(name)", of: source, isInMemory: true)
            if place.isOwn, place.make() == nil { return place }
        }
        return nil
    }

    /// Makes the directory, or checks that it is this user's alone: where all users may write, the name may be another user's.
    private var isOwn: Bool {
        _ = unsafe mkdir(directory, 0o700)
        return fileStatus(link: directory).map { $0.st_mode & ~0o700 == S_IFDIR && $0.st_uid == geteuid() } ?? false
    }

    /// Removes a place in memory; a place on disk stays.
    func leave() {
        if isInMemory { LocalFiles.removeTree(directory) }
    }

    /// Whether a directory with these names is a cache, or may become one.
    ///
    /// A cache is made private to the user and marked against backups: with `cache_dir=/etc` the system would be lost, and with a
    /// home directory its backups.
    static func mayHoldCache(_ names: [String]) -> Bool {
        // The image cache's lock file; a cache that was never opened has only the files that other parts made before.
        if names.contains(".busy") { return true }
        var own: Set = [
            catalogName, "cooldown", "cooldown.hosts", thumbnailsName, "rankfs.log", "rankfs.log.1", "lost+found",
            ownerName,
        ]
        // Beside these, what is left of one of which the lock file was deleted.
        if names.contains(catalogName) || names.contains(ownerName) {
            own.formUnion(["v1", "v2", "CACHEDIR.TAG", ".nomedia", ".trackerignore"] + SourceName.all.map(\.rawValue))
        }
        return own.isSuperset(of: names)
    }

    /// Refuses a cache that would lie inside its own mount, where no file could be written.
    func check(against mountPoint: String) throws(ProgramError) {
        let own = LocalFiles.canonicalBeginning(of: directory)
        guard own.way(from: mountPoint) != nil else { return }
        throw .usage(
            "the cache directory \(LogText.escaped(directory)) lies inside the mount point; set cache_dir to another one."
        )
    }

    /// The cool-down of an earlier run.
    func storedCoolDown() -> Int64? {
        guard let bytes = try? Files.read(coolDown, upTo: 32) else { return nil }
        return Self.end(String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self))
    }

    /// The end of a stored pause, which lasts some hours: one more than a day ahead was stored under a fast clock, and counts as over.
    private static func end(_ text: some StringProtocol) -> Int64? {
        Int64(text).map { $0 > TimeSource.wallClock() + 86_400 ? 0 : $0 }
    }

    /// Stores a cool-down across restarts; a full disk loses only the cool-down.
    func store(coolDown seconds: Int64) {
        try? Files.replace(coolDown, with: Array("\(seconds)\n".utf8))
    }

    /// The pauses of hosts from an earlier run; lines that do not parse are skipped.
    func storedHostPauses() -> [String: HostPause] {
        guard let bytes = try? Files.read(hostCoolDowns, upTo: 16 << 10) else { return [:] }
        var pauses: [String: HostPause] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: false)
            guard words.count >= 2, let end = Self.end(words[1]) else { continue }
            var pause = HostPause(end: end)
            if words.count == 5, let refusal = FrontRefusal(rawValue: String(words[2])), let step = Int(words[3]) {
                pause.front = FrontStop(refusal: refusal, step: step, mark: String(words[4]))
            }
            pauses[String(words[0])] = pause
        }
        return pauses
    }

    /// The pauses that fronts caused, that have not ended, and that concern the hosts of the given addresses.
    func storedFronts(of addresses: [String]) -> [(key: String, value: HostPause)] {
        let hosts = Set(addresses.map(RequestQueue.host))
        return storedHostPauses().filter { host, pause in
            pause.front != nil && pause.end > TimeSource.wallClock() && hosts.contains(host)
        }.sorted { $0.key < $1.key }
    }

    /// Stores the pauses of hosts across restarts; a full disk loses only the pauses.
    func store(hostPauses pauses: [String: HostPause]) {
        let lines = pauses.sorted { $0.key < $1.key }.map { host, pause in
            let front = pause.front.map { " \($0.refusal.rawValue) \($0.step) \($0.mark)" } ?? ""
            return "\(host) \(pause.end)\(front)\n"
        }
        try? Files.replace(hostCoolDowns, with: Array(lines.joined().utf8))
    }
}
