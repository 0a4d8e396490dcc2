internal import CLinux
internal import System
internal import Glibc
internal import Synchronization

extension StoredFile {
    /// Runs a function with the descriptor of the file, which is opened if necessary.
    func use<Value>(_ work: (Int32) throws(SystemError) -> Value) throws(SystemError) -> Value {
        let file: OpenFile
        do throws(SystemError) { file = try opened() } catch {
            throw SystemError("opening a file of the cache again", code: error.code)
        }
        defer { withExtendedLifetime(file) {} }
        return try work(file.descriptor)
    }
}

/// System calls on files, with EINTR handled and failures thrown with the name of the call.
///
/// Every path lies below a directory descriptor, and a link as the last name is never followed (openat(2)).
enum CacheFiles {
    #if DEBUG
    /// Called before each change below a descriptor, for tests: a kill leaves the state of that moment.
    static let willChange = Mutex<(@Sendable (Int32) -> Void)?>(nil)
    #endif

    @inline(__always)
    private static func note(_ descriptor: Int32) {
        #if DEBUG
        willChange.withLock { $0 }?(descriptor)
        #endif
    }

    static func open(
        _ path: String, in directory: Int32, _ flags: Int32, mode: mode_t = 0o600
    ) throws(SystemError) -> Int32 {
        if flags & (O_CREAT | O_TRUNC) != 0 { note(directory) }
        while true {
            let descriptor = Descriptors.own.take {
                unsafe openat(directory, path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
            }
            if descriptor >= 0 { return descriptor }
            guard errno == EINTR else { throw SystemError("opening \(path)") }
        }
    }

    /// Makes a directory with mode 0700 unless it exists, and opens it.
    ///
    /// - Returns: The descriptor, and whether the directory is new.
    static func openDirectory(_ path: String, in parent: Int32) throws(SystemError) -> (descriptor: Int32, isNew: Bool)
    {
        note(parent)
        let made = unsafe mkdirat(parent, path, 0o700)
        guard made == 0 || errno == EEXIST else { throw SystemError("making the directory \(path)") }
        return (try open(path, in: parent, O_RDONLY | O_DIRECTORY), made == 0)
    }

    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            note(descriptor)
            let count = unsafe pwrite(descriptor, part.baseAddress, part.count, off_t(offset) + off_t(done))
            if count > 0 {
                done += count
            } else if count == 0 || errno != EINTR {
                throw count == 0 ? SystemError("writing", code: ENOSPC) : SystemError("writing")
            }
        }
    }

    static func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int64) throws(SystemError) {
        try unsafe bytes.span.bytes.withUnsafeBytes { buffer throws(SystemError) in
            unsafe try write(buffer, to: descriptor, at: offset)
        }
    }

    static func size(_ descriptor: Int32) throws(SystemError) -> Int64 {
        guard let status = fileStatus(open: descriptor) else { throw SystemError("looking at a file") }
        return Int64(status.st_size)
    }

    /// Bytes that a file takes on the disk; 0 if there is none.
    static func bytesOnDisk(_ path: String, in directory: Int32) -> Int64 {
        var status = stat()
        return unsafe fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? Int64(status.st_blocks) * 512 : 0
    }

    static func sync(_ descriptor: Int32) throws(SystemError) {
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else { throw SystemError("syncing") }
        }
    }

    /// Syncs a directory to the disk: names that were made, changed and removed.
    static func sync(directory: Int32) throws(SystemError) {
        while fsync(directory) != 0 {
            guard errno == EINTR else { throw SystemError("syncing a directory") }
        }
    }

    static func truncate(_ descriptor: Int32, to length: Int64) throws(SystemError) {
        note(descriptor)
        while ftruncate(descriptor, off_t(length)) != 0 {
            guard errno == EINTR else { throw SystemError("cutting") }
        }
    }

    /// Renames a file within the cache.
    static func rename(
        _ from: String, in source: Int32, to: String, in target: Int32
    ) throws(SystemError) {
        note(source)
        guard unsafe renameat(source, from, target, to) == 0 else { throw SystemError("renaming") }
    }

    /// Removes a file; a missing file is no failure.
    static func remove(_ path: String, in directory: Int32) {
        note(directory)
        _ = unsafe unlinkat(directory, path, 0)
    }

    /// The names in a directory, without `.` and `..`; empty if it cannot be read.
    static func names(in directory: Int32) -> [String] {
        ((try? Directory.entries(of: directory)) ?? []).map(\.name)
    }

    /// The free bytes of the file system for an unprivileged process (statvfs(3)); nil if they cannot be determined.
    static func freeBytes(_ descriptor: Int32) -> Int64? {
        var status = statvfs()
        guard unsafe fstatvfs(descriptor, &status) == 0 else { return nil }
        return Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    }
}

// MARK: - Bytes of small files

/// Writes numbers and texts as bytes, little-endian.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    init() {}

    mutating func write(_ value: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift))) }
    }

    mutating func write(_ value: Int64) {
        write(UInt64(bitPattern: value))
    }

    /// Writes a text of at most 255 bytes, after its length.
    mutating func write(_ text: String) {
        let utf8 = Array(text.utf8.prefix(255))
        bytes.append(UInt8(utf8.count))
        bytes.append(contentsOf: utf8)
    }

    /// Fills up to `length` bytes, the last eight of which are the hash of those before.
    func sealed(length: Int) -> [UInt8] {
        var sealed = self
        sealed.bytes += Array(repeating: 0, count: max(0, length - 8 - bytes.count))
        sealed.write(XXH3.hash(sealed.bytes))
        return sealed.bytes
    }
}

/// Reads the output of `ByteWriter`; nil wherever the bytes do not suffice.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    /// Opens sealed bytes; nil if the hash at their end does not fit.
    init?(sealed bytes: [UInt8]) {
        guard bytes.count >= 8 else { return nil }
        rest = bytes.suffix(8)
        guard let hash = readNumber(), hash == XXH3.hash(Array(bytes.dropLast(8))) else { return nil }
        rest = bytes.dropLast(8)
    }

    mutating func readNumber() -> UInt64? {
        guard rest.count >= 8 else { return nil }
        let value = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        return value
    }

    mutating func readSigned() -> Int64? {
        readNumber().map { Int64(bitPattern: $0) }
    }

    mutating func readText() -> String? {
        guard let count = rest.first, rest.count > Int(count) else { return nil }
        let text = String(validating: rest.dropFirst().prefix(Int(count)), as: UTF8.self)
        rest = rest.dropFirst(Int(count) + 1)
        return text
    }
}

// MARK: - Marks against backups

/// The marks that make backup programs and indexers skip the cache.
///
/// No mark is understood by all of them: `CACHEDIR.TAG` by most backup programs (https://bford.info/cachedir/), the nodump flag
/// by dar, bsdtar and borg 2, `user.xdg.robots.*` by borg 2 and search tools, Apple's name by Duplicati, `.nomedia` and
/// `.trackerignore` by indexers.
enum Marks {
    /// The first 43 bytes that make a file a cache directory tag.
    static let signature = "Signature: 8a477f597d28d172789f06886806bc55"
    static let tagText = """
        \(signature)
        # This directory holds pictures that rankfs downloads again when they are missing.
        # Backup programs may leave it out; see https://bford.info/cachedir/
        """ + "\n"

    static let attributes: [(name: String, value: String)] = [
        ("user.xdg.robots.backup", "false"),
        ("user.xdg.robots.index", "false"),
        ("user.com.apple.MobileBackup", "1"),
    ]

    static let emptyFiles = [".nomedia", ".trackerignore"]
    static let tagName = "CACHEDIR.TAG"
    static let nodumpName = "nodump flag"

    /// A mark that is missing.
    struct Missing: Hashable, Sendable {
        var mark: String
        var reason: String
    }

    /// Puts every mark on the cache's own directory; marks that are already right are not written again.
    ///
    /// - Returns: The marks that could not be set.
    static func set(on directory: Int32) -> [Missing] {
        missing(on: directory).compactMap { set($0.mark, on: directory) }
    }

    /// Puts the marks that each directory below needs itself: attributes and the flag.
    static func setInherited(on directory: Int32) -> [Missing] {
        missingInherited(on: directory).compactMap { set($0.mark, on: directory) }
    }

    /// The marks that the cache's own directory lacks.
    static func missing(on directory: Int32) -> [Missing] {
        var missing: [Missing] = []
        if !hasTag(directory) { missing.append(Missing(mark: tagName, reason: "missing or with another signature")) }
        for name in emptyFiles where !exists(name, in: directory) {
            missing.append(Missing(mark: name, reason: "missing"))
        }
        return missing + missingInherited(on: directory)
    }

    private static func missingInherited(on directory: Int32) -> [Missing] {
        var missing: [Missing] = []
        for (name, value) in attributes where read(name, of: directory) != value {
            missing.append(Missing(mark: name, reason: "not set to \(value)"))
        }
        if rankfs_get_nodump(directory) != 1 { missing.append(Missing(mark: nodumpName, reason: "not set")) }
        return missing
    }

    /// Sets one mark; returns it if it cannot be set.
    private static func set(_ mark: String, on directory: Int32) -> Missing? {
        do throws(SystemError) {
            if mark == tagName {
                try writeTag(directory)
            } else if mark == nodumpName {
                guard rankfs_set_nodump(directory) == 0 else { throw SystemError("setting it") }
            } else if let value = attributes.first(where: { $0.name == mark }).map({ Array($0.value.utf8) }) {
                guard unsafe fsetxattr(directory, mark, value, value.count, 0) == 0 else {
                    throw SystemError("setting it")
                }
            } else {
                close(try CacheFiles.open(mark, in: directory, O_WRONLY | O_CREAT))
            }
            return nil
        } catch { return Missing(mark: mark, reason: error.text) }
    }

    private static func writeTag(_ directory: Int32) throws(SystemError) {
        let file = try CacheFiles.open(tagName, in: directory, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
        defer { close(file) }
        try CacheFiles.write(Array(tagText.utf8), to: file, at: 0)
    }

    private static func hasTag(_ directory: Int32) -> Bool {
        guard let file = try? CacheFiles.open(tagName, in: directory, O_RDONLY) else { return false }
        defer { close(file) }
        return (try? FileBytes.read(file, at: 0, count: signature.utf8.count)) == Array(signature.utf8)
    }

    private static func exists(_ name: String, in directory: Int32) -> Bool {
        unsafe faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    private static func read(_ name: String, of directory: Int32) -> String? {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = unsafe fgetxattr(directory, name, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
