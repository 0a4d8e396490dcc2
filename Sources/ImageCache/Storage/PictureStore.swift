internal import CLinux
internal import Digests
internal import Glibc
internal import Posix
internal import Synchronization

/// The cache directory: locked, marked, and everything in it reached by descriptors.
///
/// Layout: `.busy` (the lock), `index.sqlite`, `v1/ab/<32 hex digits>` (pictures), `v1/partial/<name>` and
/// `<name>.state` (downloads that are not whole).
///
/// ## Concurrency
///
/// Any thread may call. Calls block on the disk; the mutex only guards which descriptors are current.
final class PictureStore: Sendable {
    static let version = "v1"
    static let partialName = "partial"
    static let lockName = ".busy"
    static let indexName = "index.sqlite"
    /// Bytes hashed at a time, and copied at a time.
    static let hashBlock = 128 << 10

    /// The open directories; closed with the last reference, so that a replaced root outlives calls that use it.
    final class Root: Sendable {
        let top: Int32
        let version: Int32
        let partial: Int32
        let lock: Int32

        init(top: Int32, version: Int32, partial: Int32, lock: Int32) {
            self.top = top
            self.version = version
            self.partial = partial
            self.lock = lock
        }

        deinit {
            for descriptor in [partial, version, top, lock] { close(descriptor) }
        }
    }

    let directory: String
    /// Names this boot; a partial file of another one may lack bytes that a power cut took.
    let boot: String
    private let report: @Sendable (ImageCacheEvent) -> Void
    private let current: Mutex<Root>

    init(directory: String, report: @escaping @Sendable (ImageCacheEvent) -> Void) throws(ImageCacheError) {
        self.directory = directory
        self.report = report
        boot = Self.readBoot()
        let root = try Self.openRoot(directory, report)
        current = Mutex(root)
    }

    var root: Root { current.withLock { $0 } }

    /// Makes the directory again after somebody deleted it.
    ///
    /// The lock stays with the directory as long as that is the same one.
    func reopen() throws(ImageCacheError) {
        let old = root
        guard isCurrent else {
            let root = try Self.openRoot(directory, report)
            current.withLock { $0 = root }
            return report(.directoryRemade(directory))
        }
        do throws(FileError) {
            let (version, partial) = try Self.openFolders(in: old.top)
            _ = Marks.setInherited(on: version) + Marks.setInherited(on: partial)
            let copies = [old.top, old.lock].map { old in Descriptors.own.take { fcntl(old, F_DUPFD_CLOEXEC, 0) } }
            let root = Root(top: copies[0], version: version, partial: partial, lock: copies[1])
            guard !copies.contains(where: { $0 < 0 }) else { throw FileError("copying a descriptor", EMFILE) }
            current.withLock { $0 = root }
        } catch {
            throw .unusable("the cache directory \(directory) cannot be mended (\(error.text)); restart rankfs")
        }
    }

    private var isCurrent: Bool {
        var named = stat()
        var held = stat()
        return unsafe stat(directory, &named) == 0 && fstat(root.top, &held) == 0 && named.st_ino == held.st_ino
            && named.st_dev == held.st_dev
    }

    private static func openRoot(
        _ directory: String, _ report: @Sendable (ImageCacheEvent) -> Void
    ) throws(ImageCacheError) -> Root {
        // Closed if not all can be opened: a lock that stays would be somebody else's to the next try.
        var opened: [Int32] = []
        do throws(FileError) {
            try makeParents(of: directory)
            let top = try CacheFiles.openDirectory(directory, in: AT_FDCWD).descriptor
            opened.append(top)
            guard fchmod(top, 0o700) == 0 else {
                throw FileError("setting the mode of the cache directory to 0700")
            }
            let lock = try CacheFiles.open(lockName, in: top, O_RDWR | O_CREAT)
            opened.append(lock)
            guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
                if errno == EWOULDBLOCK { throw FileError(lockName, EWOULDBLOCK) }
                throw FileError("locking the cache directory")
            }
            let (version, partial) = try openFolders(in: top)
            let missing = Marks.set(on: top) + Marks.setInherited(on: version) + Marks.setInherited(on: partial)
            for mark in Set(missing) { report(.unmarked(mark: mark.mark, reason: mark.reason)) }
            return Root(top: top, version: version, partial: partial, lock: lock)
        } catch {
            for descriptor in opened { close(descriptor) }
            if error == FileError(lockName, EWOULDBLOCK) { throw .busy(directory: directory) }
            throw .unusable(
                "the cache directory \(directory) cannot be used (\(error.text)); name another one with cache_dir")
        }
    }

    /// Opens the directories of pictures and of downloads, made if they are not there.
    private static func openFolders(in top: Int32) throws(FileError) -> (version: Int32, partial: Int32) {
        let version = try CacheFiles.openDirectory(Self.version, in: top).descriptor
        do throws(FileError) {
            return (version, try CacheFiles.openDirectory(partialName, in: version).descriptor)
        } catch {
            close(version)
            throw error
        }
    }

    private static func makeParents(of directory: String) throws(FileError) {
        var path = ""
        for part in directory.split(separator: "/").dropLast() {
            path += (path.isEmpty && !directory.hasPrefix("/") ? "" : "/") + part
            guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw FileError("making the directory \(path)")
            }
        }
    }

    private static func readBoot() -> String {
        guard let file = try? CacheFiles.open("/proc/sys/kernel/random/boot_id", in: AT_FDCWD, O_RDONLY) else {
            return ""
        }
        defer { close(file) }
        let bytes = (try? CacheFiles.read(file, at: 0, count: 36)) ?? []
        return String(decoding: bytes, as: UTF8.self)
    }

    var freeBytes: Int64? { CacheFiles.freeBytes(root.top) }

    // MARK: - Stored pictures

    /// What opening a stored picture found.
    enum Opened: Sendable {
        case file(StoredFile, length: Int64)
        /// No such file.
        case missing
        /// A file that is not what its name says; it has been removed.
        case broken(reason: String)
        /// The disk refused; the file may be good.
        case failed(FileError)
    }

    /// Opens a stored picture.
    ///
    /// - Parameters:
    ///   - name: The file's name.
    ///   - key: `PictureID.key`, which the file must hold.
    ///   - verify: Whether to read and hash the whole file, as at the first open after a start.
    /// - Returns: The open file, or why there is none.
    func open(_ name: FileKey, key: String, verify: Bool) -> Opened {
        let root = root
        let path = "\(name.fan)/\(name.name)"
        do throws(FileError) {
            let descriptor = try CacheFiles.open(path, in: root.version, O_RDONLY)
            let file = StoredFile(owning: descriptor, reopen: reopening(path, O_RDONLY))
            let reason: String
            do throws(BrokenFile) {
                return .file(file, length: try Self.check(descriptor, key: key, verify: verify))
            } catch { reason = error.reason }
            CacheFiles.remove(path, in: root.version)
            return .broken(reason: reason)
        } catch {
            if error.code == ENOENT { return .missing }
            if error.code == ELOOP {
                CacheFiles.remove(path, in: root.version)
                return .broken(reason: "a link lies in its place")
            }
            return .failed(error)
        }
    }

    /// How a file is opened again, by its path in the directory of pictures.
    func reopening(_ path: String, _ flags: Int32) -> StoredFile.Reopening {
        { [self] in
            let root = root
            defer { withExtendedLifetime(root) {} }
            return unsafe openat(root.version, path, flags | O_CLOEXEC | O_NOFOLLOW)
        }
    }

    /// Has the disk read a stored picture that will be wanted soon, so that it has more than one to do (posix_fadvise(2)).
    func readAhead(_ name: FileKey) {
        guard let file = try? CacheFiles.open("\(name.fan)/\(name.name)", in: root.version, O_RDONLY) else { return }
        defer { close(file) }
        _ = posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED)
    }

    /// Why a stored file is not right.
    struct BrokenFile: Error {
        let reason: String
    }

    /// Checks a stored file and returns the length of its picture.
    private static func check(_ descriptor: Int32, key: String, verify: Bool) throws(BrokenFile) -> Int64 {
        let footer: Footer?
        let size: Int64
        do throws(FileError) {
            size = try CacheFiles.size(descriptor)
            footer = Footer(try CacheFiles.read(descriptor, at: max(0, size - Int64(Footer.size)), count: Footer.size))
        } catch { throw BrokenFile(reason: error.text) }
        guard let footer, footer.length == size - Int64(Footer.size) else {
            throw BrokenFile(reason: "its footer is damaged")
        }
        guard footer.key == key else { throw BrokenFile(reason: "it holds another picture") }
        guard verify else { return footer.length }
        do throws(FileError) {
            guard try hash(descriptor, length: footer.length) == footer.hash else {
                throw FileError("its bytes do not fit their hash", 0)
            }
        } catch { throw BrokenFile(reason: error.code == 0 ? error.call : error.text) }
        return footer.length
    }

    /// Checks a stored file by the name alone, its bytes too, and returns the length of its picture.
    static func check(_ descriptor: Int32, named name: FileKey) throws(BrokenFile) -> Int64 {
        var key = ""
        if let size = try? CacheFiles.size(descriptor), size >= Int64(Footer.size),
            let bytes = try? CacheFiles.read(descriptor, at: size - Int64(Footer.size), count: Footer.size)
        {
            key = Footer(bytes)?.key ?? ""
        }
        let length = try check(descriptor, key: key, verify: true)
        guard FileKey(key: key) == name else { throw BrokenFile(reason: "it holds another picture") }
        return length
    }

    /// XXH3-64 of the first `length` bytes of a file.
    static func hash(_ descriptor: Int32, length: Int64) throws(FileError) -> UInt64 {
        let hash = XXH3()
        unsafe try readAll(descriptor, length: length) { unsafe hash.add($0) }
        guard let value = hash.value else { throw FileError("hashing", ENOMEM) }
        return value
    }

    /// The MD5 digest of the first `length` bytes of a file, as 32 hexadecimal digits.
    static func digest(_ descriptor: Int32, length: Int64) throws(FileError) -> String {
        var digest = MD5()
        unsafe try readAll(descriptor, length: length) { unsafe digest.add($0) }
        return digest.hex()
    }

    /// Reads the first `length` bytes of a file in blocks.
    private static func readAll(
        _ descriptor: Int32, length: Int64, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(FileError) {
        // The disk goes on while the first blocks are hashed; what is hashed now is read next (posix_fadvise(2)).
        _ = posix_fadvise(descriptor, 0, off_t(length), POSIX_FADV_WILLNEED)
        // One buffer for all blocks, small enough for a processor's own memory.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: hashBlock, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var offset: Int64 = 0
        while offset < length {
            let wanted = Int(min(Int64(hashBlock), length - offset))
            let count = unsafe try CacheFiles.read(
                descriptor, at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
            guard count == wanted else { throw FileError("reading", EIO) }
            unsafe take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }

    /// Whether a picture's file is there.
    func exists(_ name: FileKey) -> Bool {
        unsafe faccessat(root.version, "\(name.fan)/\(name.name)", F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Lets another daemon have the directory.
    func unlock() {
        _ = flock(root.lock, LOCK_UN)
    }

    func remove(_ name: FileKey) {
        CacheFiles.remove("\(name.fan)/\(name.name)", in: root.version)
    }

    /// Moves a whole partial file to its place: hash, footer, sync, rename.
    ///
    /// Blocks for the sync.
    func commit(
        _ file: StoredFile, as name: FileKey, key: String, length: Int64
    ) throws(FileError) -> UInt64 {
        let root = root
        return try file.use { descriptor throws(FileError) in
            let hash = try Self.hash(descriptor, length: length)
            try CacheFiles.truncate(descriptor, to: length)
            try CacheFiles.write(Footer(key: key, length: length, hash: hash).encoded, to: descriptor, at: length)
            try CacheFiles.sync(descriptor)
            let (fan, isNew) = try CacheFiles.openDirectory(name.fan, in: root.version)
            defer { close(fan) }
            if isNew { _ = Marks.setInherited(on: fan) }
            try CacheFiles.rename(name.name, in: root.partial, to: name.name, in: fan)
            file.move(reopening("\(name.fan)/\(name.name)", O_RDONLY))
            CacheFiles.remove("\(name.name).state", in: root.partial)
            return hash
        }
    }

    /// Where a stored picture's file is, for those who outlive this run.
    func path(of name: FileKey) -> String { "\(directory)/\(Self.version)/\(name.fan)/\(name.name)" }

    // MARK: - Walking

    /// The names of all stored files.
    func storedNames() -> [FileKey] {
        let root = root
        var names: [FileKey] = []
        for fan in CacheFiles.names(in: root.version) where fan.utf8.count == 2 {
            guard let directory = try? CacheFiles.open(fan, in: root.version, O_RDONLY | O_DIRECTORY) else { continue }
            defer { close(directory) }
            names += CacheFiles.names(in: directory).compactMap { FileKey(name: $0) }.filter { $0.fan == fan }
        }
        return names
    }

    /// The footer of a stored file, without hashing its bytes; nil if it is not one of ours.
    func footer(of name: FileKey) -> Footer? {
        guard let descriptor = try? CacheFiles.open("\(name.fan)/\(name.name)", in: root.version, O_RDONLY) else {
            return nil
        }
        defer { close(descriptor) }
        guard let size = try? CacheFiles.size(descriptor), size >= Int64(Footer.size),
            let bytes = try? CacheFiles.read(descriptor, at: size - Int64(Footer.size), count: Footer.size),
            let footer = Footer(bytes), footer.length == size - Int64(Footer.size), FileKey(key: footer.key) == name
        else { return nil }
        return footer
    }

    /// The names of downloads that are not whole, and the bytes that each may take.
    func partialNames() -> [(name: FileKey, bytes: Int64)] {
        let partial = root.partial
        return CacheFiles.names(in: partial).compactMap { FileKey(name: $0) }.map { name in
            var status = stat()
            let known = unsafe fstatat(partial, name.name, &status, AT_SYMLINK_NOFOLLOW) == 0
            return (name, known ? Int64(status.st_blocks) * 512 : 0)
        }
    }

    func removePartial(_ name: FileKey) {
        let partial = root.partial
        CacheFiles.remove(name.name, in: partial)
        CacheFiles.remove("\(name.name).state", in: partial)
    }
}
