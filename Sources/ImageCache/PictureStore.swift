internal import CLinux
internal import System
internal import Dispatch
internal import Glibc
package import Rankings
internal import Synchronization

/// The cache directory: locked, marked, and with all its contents reached by descriptors.
///
/// A stored picture's file holds its bytes, and the file's name is its record: the directory is the index. Below the cache
/// directory are:
///
/// | name | content |
/// | --- | --- |
/// | `.busy` | the lock |
/// | `v2/ab/KEY.LENGTH.HASH` | a stored picture (``StoredPicture``); `ab` is its key's directory (`PictureID.fan`) |
/// | `v2/partial/KEY`, `KEY.state` | a download that is not whole, and its known state (``PartialState``) |
/// | `v2/pinned/KEY` | an empty file: the picture is pinned, stored or not |
/// | `v2/uses` | the hashes of stored pictures, eight bytes each, in the order of their last use |
///
/// `v2` is the version of this format; ``OlderFormat`` takes over the one before. Which pictures are unread, and which belong
/// to lists of the user alone, is known in memory only.
///
/// ## Durability
///
/// Every change of the stored pictures is one rename(2) or unlink(2), so kill -9 leaves a picture whole in one place or the
/// other, together with its record. A power cut may lose the last of these changes: bytes are synced before their file gets its
/// name, and a file without the length or the hash of its name is removed when it is first opened. A pin is durable once
/// `write(pins:)` returns, also after a power cut. Last uses are written many at a time; losing them costs the order of
/// eviction, and pictures without one count as new.
///
/// ## Concurrency
///
/// Any thread may call. Calls block on the disk; the mutex only guards which descriptors are current.
final class PictureStore: Sendable {
    static let version = "v\(format)"
    private static let format = 2
    /// The directories of pictures that may exist: of this format, and of the one before.
    static let formats = [version, OlderFormat.version]
    static let partialName = "partial"
    static let pinnedName = "pinned"
    static let usesName = "uses"
    static let lockName = ".busy"

    /// The open directories and the lock, each closed with its last reference: a replaced root outlives calls that use it.
    final class Root: Sendable {
        fileprivate let files: [OpenFile]
        var top: Int32 { files[0].descriptor }
        var lock: Int32 { files[1].descriptor }
        var version: Int32 { files[2].descriptor }
        var partial: Int32 { files[3].descriptor }

        fileprivate init(_ files: [OpenFile]) {
            self.files = files
        }
    }

    let directory: String
    /// Identifies this boot; a partial file of another boot may lack bytes that a power cut took.
    let boot: String
    private let report: @Sendable (ImageCacheEvent) -> Void
    private let current: Mutex<Root>
    /// Whether the directory was made again since the last query.
    private let wasRemade = Atomic(false)

    init(directory: String, report: @escaping @Sendable (ImageCacheEvent) -> Void) throws(Failure) {
        self.directory = directory
        self.report = report
        boot = Self.readBoot()
        let root = try Self.openRoot(directory, report)
        current = Mutex(root)
    }

    var root: Root { current.withLock { $0 } }

    /// Makes the directory again after it was deleted.
    ///
    /// The lock stays with the directory as long as that is the same one and has it by its name.
    func reopen() throws(Failure) {
        let old = root
        guard isCurrent else {
            let root = try Self.openRoot(directory, report)
            current.withLock { $0 = root }
            wasRemade.store(true, ordering: .relaxed)
            return report(.directoryRemade(directory))
        }
        do throws(SystemError) {
            let (folders, isNew) = try Self.openFolders(in: old.top)
            if isNew { wasRemade.store(true, ordering: .relaxed) }
            for folder in folders { _ = Marks.setInherited(on: folder.descriptor) }
            current.withLock { $0 = Root(old.files[..<2] + folders) }
        } catch {
            throw .unusable("the cache directory \(directory) cannot be mended (\(error.text)); restart rankfs")
        }
    }

    /// Whether the directory was made again, so that stored pictures may be gone; reported once.
    func takeRemade() -> Bool { wasRemade.exchange(false, ordering: .relaxed) }

    private var isCurrent: Bool {
        let root = root
        return isSame(fileStatus(at: directory), fileStatus(open: root.top)) && !hasLostLock
    }

    /// Whether the lock has lost its name in the directory, as when all in it was deleted: another process could lock it.
    var hasLostLock: Bool {
        let root = root
        return !isSame(fileStatus(link: Self.lockName, in: root.top), fileStatus(open: root.lock))
    }

    private func isSame(_ one: stat?, _ other: stat?) -> Bool {
        guard let one, let other else { return false }
        return one.st_ino == other.st_ino && one.st_dev == other.st_dev
    }

    private static func openRoot(
        _ directory: String, _ report: @Sendable (ImageCacheEvent) -> Void
    ) throws(Failure) -> Root {
        do throws(SystemError) {
            try Directory.make(directory)
            let top = OpenFile(owning: try Files.openDirectory(directory, in: AT_FDCWD).descriptor)
            // Of other users than root, fchmod(2) refuses where the owner is another; servers of files may show a wrong one.
            guard geteuid() != 0 || fileStatus(open: top.descriptor)?.st_uid == 0 else {
                throw SystemError("it is another user's", code: 0)
            }
            if let newer = newerFormat(in: top.descriptor) { throw SystemError(newer, code: EPROTO) }
            guard fchmod(top.descriptor, 0o700) == 0 else {
                throw SystemError("setting the mode of the cache directory to 0700")
            }
            // Some file systems without rights say that they have set them.
            if (fileStatus(open: top.descriptor)?.st_mode ?? 0) & 0o077 != 0 {
                report(.readableByOthers(directory: directory))
            }
            let lock = OpenFile(owning: try Files.open(lockName, in: top.descriptor, O_RDWR | O_CREAT))
            guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else {
                if errno == EWOULDBLOCK { throw SystemError(lockName, code: EWOULDBLOCK) }
                throw SystemError("locking the cache directory")
            }
            let (folders, _) = try openFolders(in: top.descriptor)
            let missing = Marks.set(on: top.descriptor) + folders.flatMap { Marks.setInherited(on: $0.descriptor) }
            for (mark, reason) in Dictionary(missing, uniquingKeysWith: { first, _ in first }) {
                report(.unmarked(mark: mark, reason: reason))
            }
            return Root([top, lock] + folders)
        } catch {
            if error == SystemError(lockName, code: EWOULDBLOCK) { throw .busy(directory: directory) }
            if error.code == EPROTO { throw newer(error.call, in: directory) }
            throw .unusable(
                "the cache directory \(directory) cannot be used (\(error.text)); name another one with cache_dir")
        }
    }

    /// The directory of pictures that a later rankfs made beside or in place of this format's; nothing is touched then.
    static func newerFormat(in top: Int32) -> String? {
        Files.names(in: top).first { $0.first == "v" && Int($0.dropFirst()).map { $0 > format } == true }
    }

    /// The error for a directory with a later format.
    static func newer(_ format: String, in directory: String) -> Failure {
        .unusable(
            "the cache directory \(directory) was written by a later rankfs (its format is \(format), this one knows "
                + "\(version)); update rankfs, or name another one with cache_dir")
    }

    /// Opens the directories of pictures and of downloads, which are made if they do not exist.
    ///
    /// - Returns: Both directories, and whether the directory of pictures did not exist.
    static func openFolders(in top: Int32) throws(SystemError) -> (folders: [OpenFile], isNew: Bool) {
        OlderFormat.takeOver(in: top)
        let (descriptor, isNew) = try Files.openDirectory(Self.version, in: top)
        let version = OpenFile(owning: descriptor)
        let partial = try Files.openDirectory(partialName, in: version.descriptor).descriptor
        return ([version, OpenFile(owning: partial)], isNew)
    }

    private static func readBoot() -> String {
        String(decoding: (try? Files.read("/proc/sys/kernel/random/boot_id", upTo: 36)) ?? [], as: UTF8.self)
    }

    var freeBytes: Int64? { Files.freeBytes(root.top) }

    // MARK: - Stored pictures

    /// The result of opening a stored picture.
    enum Opened: Sendable {
        case file(StoredFile)
        /// No such file.
        case missing
        /// A file that does not match its name; it has been removed.
        case broken(reason: String)
        /// The disk refused; the file may be good.
        case failed(SystemError)
    }

    /// Opens a stored picture.
    ///
    /// - Parameters:
    ///   - picture: The index's record of the picture.
    ///   - verify: Whether to read and hash the whole file, as at the first open after a start.
    /// - Returns: The open file, or the reason why there is none.
    func open(_ picture: StoredPicture, verify: Bool) -> Opened {
        let root = root
        let path = picture.path
        do throws(SystemError) {
            // A pipe in its place must not block the open.
            let descriptor = try Files.open(path, in: root.version, O_RDONLY | O_NONBLOCK)
            let file = StoredFile(owning: descriptor, reopen: reopening(path, O_RDONLY))
            guard let reason = try Self.mistake(in: descriptor, of: picture, below: root.version, verify: verify) else {
                return .file(file)
            }
            Files.remove(path, in: root.version)
            return .broken(reason: reason)
        } catch {
            if error.code == ENOENT { return .missing }
            if error.code == ELOOP {
                Files.remove(path, in: root.version)
                return .broken(reason: "a link lies in its place")
            }
            return .failed(error)
        }
    }

    /// Opens a file again by its path in the directory of pictures.
    func reopening(_ path: String, _ flags: Int32) -> StoredFile.Reopening {
        { [self] in
            let root = root
            defer { withExtendedLifetime(root) {} }
            return unsafe openat(root.version, path, flags | O_CLOEXEC | O_NOFOLLOW)
        }
    }

    /// Starts the read-ahead of a stored picture, so that the disk has more than one read to do (posix_fadvise(2)).
    func readAhead(_ picture: StoredPicture) {
        guard let file = try? Files.open(picture.path, in: root.version, O_RDONLY) else { return }
        defer { close(file) }
        _ = posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED)
    }

    /// The reason why a file is not the picture that its name declares; nil if it is.
    ///
    /// - Throws: If the disk does not give the file out, which then may be good.
    private static func mistake(
        in descriptor: Int32, of picture: StoredPicture, below version: Int32, verify: Bool
    ) throws(SystemError) -> String? {
        guard let status = fileStatus(open: descriptor) else { throw SystemError("looking at it") }
        guard status.st_mode.isFile else { return "it is no file" }
        let size = Int64(status.st_size)
        guard verify else { return size == picture.length ? nil : "it has \(size) bytes, not \(picture.length)" }
        // The footer of an older format, which a kill has left.
        if size > picture.length { try cut(picture, below: version) }
        guard size >= picture.length else { return "it has \(size) bytes, not \(picture.length)" }
        return try hash(descriptor, length: picture.length) == picture.hash ? nil : "its bytes do not fit their hash"
    }

    /// Cuts a file to the length in its name.
    static func cut(_ picture: StoredPicture, below version: Int32) throws(SystemError) {
        let descriptor = try Files.open(picture.path, in: version, O_WRONLY | O_NONBLOCK)
        defer { close(descriptor) }
        try Files.truncate(descriptor, to: picture.length)
    }

    /// XXH3-64 of the first `length` bytes of a file.
    static func hash(_ descriptor: Int32, length: Int64) throws(SystemError) -> UInt64 {
        let hash = XXH3()
        unsafe try Files.readAll(descriptor, length: length) { unsafe hash.add($0) }
        guard let value = hash.value else { throw SystemError("hashing", code: ENOMEM) }
        return value
    }

    /// The MD5 digest of the first `length` bytes of a file, as 32 hexadecimal digits.
    static func digest(_ descriptor: Int32, length: Int64) throws(SystemError) -> String {
        var digest = MD5()
        unsafe try Files.readAll(descriptor, length: length) { unsafe digest.add($0) }
        return digest.hex()
    }

    /// Releases the lock, so that another daemon may use the directory.
    func unlock() {
        _ = flock(root.lock, LOCK_UN)
    }

    func remove(_ picture: StoredPicture) {
        Files.remove(picture.path, in: root.version)
    }

    /// Moves a whole partial file to its place: hash, sync, rename.
    ///
    /// Blocks for the sync.
    ///
    /// - Returns: The stored picture.
    func commit(_ file: StoredFile, as id: PictureID, length: Int64) throws(SystemError) -> StoredPicture {
        let root = root
        return try file.use { descriptor throws(SystemError) in
            let picture = StoredPicture(key: id, length: length, hash: try Self.hash(descriptor, length: length))
            try Files.truncate(descriptor, to: length)
            try Files.sync(descriptor)
            let (fan, isNew) = try Files.openDirectory(id.fan, in: root.version)
            defer { close(fan) }
            if isNew { _ = Marks.setInherited(on: fan) }
            try Files.rename(id.key, in: root.partial, to: picture.name, in: fan)
            file.move(reopening(picture.path, O_RDONLY))
            Files.remove("\(id.key).state", in: root.partial)
            return picture
        }
    }

    /// The path of a stored picture's file, for uses that outlive this run.
    func path(of picture: StoredPicture) -> String { "\(directory)/\(Self.version)/\(picture.path)" }

    // MARK: - Pins and last uses

    /// Saves which pictures are pinned from now on and which are no longer; one sync for all of them.
    func write(pins: [PictureID: Bool]) throws(SystemError) {
        let root = root
        let (folder, isNew) = try Files.openDirectory(Self.pinnedName, in: root.version)
        defer { close(folder) }
        if isNew {
            _ = Marks.setInherited(on: folder)
            try Files.sync(directory: root.version)
        }
        for (id, isPinned) in pins {
            if isPinned {
                close(try Files.open(id.key, in: folder, O_WRONLY | O_CREAT))
            } else {
                Files.remove(id.key, in: folder)
            }
        }
        try Files.sync(directory: folder)
    }

    /// Saves the hashes of stored pictures in the order of their last use, in place of the earlier list.
    func write(uses: [UInt64]) throws(SystemError) {
        let root = root
        let name = Self.usesName + ".new"
        let file = try Files.open(name, in: root.version, O_WRONLY | O_CREAT | O_TRUNC)
        defer { close(file) }
        var writer = ByteWriter()
        for hash in uses { writer.write(Int64(bitPattern: hash)) }
        try Files.write(writer.bytes, to: file, at: 0)
        try Files.rename(name, in: root.version, to: Self.usesName, in: root.version)
    }

    // MARK: - Walking

    /// The contents of a directory of pictures.
    struct Contents: Sendable {
        var pictures: [StoredPicture] = []
        /// Pictures that are still to be converted from an older format.
        var older: [OlderName: OlderFormat.Row] = [:]
        var pins: Set<PictureID> = []
        /// The place of a picture's hash in the order of last use.
        var uses: [UInt64: Int] = [:]
    }

    /// Reads the stored pictures from the names alone.
    func contents() -> Contents { Self.contents(of: root.version, in: directory) }

    /// Reads the contents of an open directory of pictures; its subdirectories are read concurrently.
    static func contents(of version: Int32, in directory: String) -> Contents {
        let fans = Files.names(in: version).filter { $0.utf8.count == 2 }
        let found = Mutex<(pictures: [StoredPicture], older: [OlderName])>(([], []))
        DispatchQueue.concurrentPerform(iterations: fans.count) { index in
            guard let fan = try? Files.open(fans[index], in: version, O_RDONLY | O_DIRECTORY) else { return }
            defer { close(fan) }
            var pictures: [StoredPicture] = []
            var older: [OlderName] = []
            try? unsafe Directory.names(of: fan) { name in
                if let picture = unsafe StoredPicture(name: name) {
                    pictures.append(picture)
                } else if let name = unsafe OlderName(name), name.path.hasPrefix(fans[index]) {
                    older.append(name)
                }
            }
            found.withLock {
                $0.pictures += pictures
                $0.older += older
            }
        }
        let (pictures, older) = found.withLock { $0 }
        var contents = Contents(pictures: pictures, older: OlderFormat.rows(older, below: version, in: directory))
        if let folder = try? Files.open(pinnedName, in: version, O_RDONLY | O_DIRECTORY) {
            defer { close(folder) }
            contents.pins = Set(Files.names(in: folder).compactMap { PictureID(name: $0.utf8) })
        }
        if let file = try? Files.open(usesName, in: version, O_RDONLY | O_NONBLOCK) {
            defer { close(file) }
            let bytes = (try? Files.read(file, at: 0, count: min(pictures.count * 2, mostUses) * 8)) ?? []
            contents.uses.reserveCapacity(bytes.count / 8)
            var reader = ByteReader(bytes)
            while let hash = reader.number() { contents.uses[UInt64(bitPattern: hash)] = contents.uses.count }
        }
        return contents
    }

    /// The largest number of uses read, more than any cache holds: a bound on memory whatever the file contains.
    private static let mostUses = 8 << 20

    /// The unfinished downloads, and the bytes that each takes on disk; other leftovers are removed.
    func partials() -> [PictureID: Int64] {
        let partial = root.partial
        OlderFormat.convertPartials(in: partial)
        let names = Set(Files.names(in: partial))
        var found: [PictureID: Int64] = [:]
        for name in names {
            let file = name.hasSuffix(".state") ? String(name.dropLast(6)) : name
            guard names.contains(file), let key = PictureID(name: file.utf8) else {
                Files.remove(name, in: partial)
                continue
            }
            if file == name { found[key] = Files.bytesOnDisk(name, in: partial) }
        }
        return found
    }

    func removePartial(_ id: PictureID) {
        let partial = root.partial
        Files.remove(id.key, in: partial)
        Files.remove("\(id.key).state", in: partial)
    }
}

// MARK: - Names of files

/// A picture's key names its files: numbers and one word, so that no text from outside ever becomes a path.
///
/// `97973029_p0_original_1651244415`, at most 72 bytes: the file name of unfinished downloads and pins.
extension PictureID {
    /// Decodes `key`; nil for any other text.
    package init?(name: some Sequence<UInt8>) {
        var reader = NameReader(name)
        guard let picture = reader.key(), reader.isAtEnd else { return nil }
        self = picture
    }

    /// The directory, one of 256, of the picture's file: the first two hexadecimal digits of its key's 128-bit XXH3.
    var fan: String {
        let digits = String(XXH3.hash128(key).high >> 56, radix: 16)
        return digits.utf8.count < 2 ? "0" + digits : digits
    }
}

/// A stored picture: its file holds the picture's bytes and nothing else, and its name holds the rest.
///
/// The whole key is in the name, so two pictures never have one name, whatever their hashes.
struct StoredPicture: Hashable, Sendable {
    /// The longest accepted file, in bytes: millions of such lengths can be added up.
    static let longest: Int64 = 1 << 40

    let key: PictureID
    /// The picture's length in bytes.
    let length: Int64
    /// The 64-bit XXH3 of the bytes.
    let hash: UInt64

    /// Key, length in bytes and hash, `97973029_p0_original_1651244415.1482301.00c7f2d0a8b1e394`: at most 103 bytes.
    var name: String { "\(key.key).\(length).\(XXH3.hex(hash))" }

    /// The path of its file below the directory of pictures.
    var path: String { "\(key.fan)/\(name)" }
}

extension StoredPicture {
    /// Decodes `name`; nil for any other text.
    init?(name: some Sequence<UInt8>) {
        var reader = NameReader(name)
        guard let key = reader.key(), reader.skip("."), let length = reader.number(),
            (0...Self.longest).contains(length), reader.skip("."), let hash = reader.hash(), reader.isAtEnd
        else { return nil }
        self.init(key: key, length: length, hash: hash)
    }
}

/// Reads a file's name from its front; accepts each value only in the one spelling that is written.
///
/// A start reads a hundred thousand names, so this works on bytes.
struct NameReader {
    private var rest: ArraySlice<UInt8>

    init(_ name: some Sequence<UInt8>) {
        rest = ArraySlice(name)
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard let first = rest.first, UInt32(first) == character.value else { return false }
        rest.removeFirst()
        return true
    }

    /// Reads a picture's key; nil if none comes next.
    mutating func key() -> PictureID? {
        guard let work = number(), skip("_"), skip("p"), let page = number(), skip("_") else { return nil }
        let word = rest.prefix { (97...122).contains($0) }
        rest.removeFirst(word.count)
        guard let rendition = Rendition(rawValue: String(decoding: word, as: UTF8.self)), skip("_"),
            let uploaded = number()
        else { return nil }
        return PictureID(work: WorkID(rawValue: work), page: Int(page), rendition: rendition, uploaded: uploaded)
    }

    /// Reads a decimal number without a plus or leading zeros.
    mutating func number() -> Int64? {
        let isNegative = skip("-")
        let digits = rest.prefix { $0.isDigit }
        guard let first = digits.first, first != 48 || digits.count == 1 && !isNegative else { return nil }
        rest.removeFirst(digits.count)
        var value: Int64 = 0
        for digit in digits {
            // In negative numbers, of which there is one more.
            let (tens, isTooLong) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = tens.subtractingReportingOverflow(Int64(digit - 48))
            guard !isTooLong, !isTooLarge else { return nil }
            value = sum
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// Reads 16 lower-case hexadecimal digits.
    mutating func hash() -> UInt64? {
        let digits = rest.prefix(16)
        guard digits.count == 16, digits.allSatisfy({ $0.isDigit || (97...102).contains($0) }) else {
            return nil
        }
        rest.removeFirst(16)
        return digits.reduce(0) { $0 << 4 | UInt64($1 < 97 ? $1 - 48 : $1 - 87) }
    }
}

extension SystemError {
    /// Whether something of another kind lies in the place of a file or folder, which says nothing of other files.
    var isOfOneName: Bool { [EISDIR, ENOTDIR, EEXIST, ENOTEMPTY, ELOOP].contains(code) }
}
