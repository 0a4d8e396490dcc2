package import Glibc
internal import Synchronization

/// System calls on files: EINTR is handled, and failures are thrown where a method throws.
///
/// The calling thread waits for the disk, or for any other file of the descriptor. Of a path below a directory descriptor, a link
/// as the last name is never followed (openat(2)).
package enum Files {
    /// Bytes read at a time, few enough for a processor's cache.
    package static let blockSize = 128 << 10

    /// The bytes from the present place on, at most `limit` of them; fewer only at the end of the file.
    ///
    /// - Throws: The error of read(2); bytes read before the error are lost.
    package static func read(_ descriptor: Int32, upTo limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: max(1, min(limit, blockSize)))
        while bytes.count < limit {
            let wanted = min(piece.count, limit - bytes.count)
            let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, wanted) }
            if count == 0 { break }
            if count > 0 {
                bytes += piece[..<count]
            } else if errno != EINTR {
                throw .last()
            }
        }
        return bytes
    }

    /// The content of a file, at most `limit` bytes of it.
    ///
    /// - Throws: The error of open(2) or read(2).
    package static func read(_ path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
        let descriptor = Descriptors.own.open(path, O_RDONLY)
        guard descriptor >= 0 else { throw .last() }
        defer { close(descriptor) }
        return try read(descriptor, upTo: limit)
    }

    /// Reads up to `count` bytes; fewer only at the end of the file.
    package static func read(_ descriptor: Int32, at offset: Int64, count: Int) throws(SystemError) -> [UInt8] {
        try [UInt8](capacity: count) { output throws(SystemError) in
            unsafe try output.withUnsafeMutableBufferPointer { buffer, filled throws(SystemError) in
                filled = unsafe try read(descriptor, at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            }
        }
    }

    /// Fills a buffer from an offset of the file, as far as the file reaches; returns the number of bytes.
    package static func read(
        _ descriptor: Int32, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let got = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
            if got > 0 {
                filled += got
            } else if got == 0 {
                break
            } else if errno != EINTR {
                throw SystemError("reading")
            }
        }
        return filled
    }

    /// Reads the first `length` bytes of a file in blocks.
    package static func readAll(
        _ descriptor: Int32, length: Int64, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(SystemError) {
        // The disk reads on while the first blocks are hashed (posix_fadvise(2)).
        _ = posix_fadvise(descriptor, 0, off_t(length), POSIX_FADV_WILLNEED)
        // One buffer for all blocks, small enough for a processor's cache.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var offset: Int64 = 0
        while offset < length {
            let wanted = Int(min(Int64(blockSize), length - offset))
            let count = unsafe try read(
                descriptor, at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
            guard count == wanted else { throw SystemError("reading", code: EIO) }
            unsafe take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }

    /// Writes all bytes at the present place.
    ///
    /// - Returns: False after an error, with errno(3) set.
    @discardableResult
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        (try? write(bytes, to: descriptor, at: nil)) != nil
    }

    /// Writes all bytes at an offset of the file; nil for the present place.
    package static func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int64?) throws(SystemError) {
        try unsafe bytes.span.bytes.withUnsafeBytes { buffer throws(SystemError) in
            unsafe try write(buffer, to: descriptor, at: offset)
        }
    }

    /// Writes all bytes at an offset of the file; nil for the present place.
    package static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64?
    ) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            willChange(descriptor)
            let count =
                if let offset {
                    unsafe pwrite(descriptor, part.baseAddress, part.count, off_t(offset) + off_t(done))
                } else {
                    unsafe Glibc.write(descriptor, part.baseAddress, part.count)
                }
            if count > 0 {
                done += count
            } else if count == 0 || errno != EINTR {
                throw count == 0 ? SystemError("writing", code: ENOSPC) : SystemError("writing")
            }
        }
    }

    /// Replaces a file in one step, so that a crash leaves the old content or the new.
    ///
    /// - Parameters:
    ///   - path: The file, in a directory that exists.
    ///   - bytes: The new content, which only the user may read.
    ///   - temporary: The file in the same directory that is written first; by default the path with `.new`.
    ///   - isSynced: Whether the content is on the disk before it has the name.
    /// - Throws: The error of the call that failed; the temporary file is removed then.
    package static func replace(
        _ path: String, with bytes: [UInt8], by temporary: String? = nil, isSynced: Bool = false
    ) throws(SystemError) {
        let temporary = temporary ?? path + ".new"
        unsafe _ = unlink(temporary)
        let descriptor = Descriptors.own.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .last() }
        do throws(SystemError) {
            defer { close(descriptor) }
            // Sets the mode again, since a umask may have removed bits of it.
            guard write(bytes, to: descriptor), fchmod(descriptor, 0o600) == 0 else { throw .last() }
            guard !isSynced || fsync(descriptor) == 0 else { throw .last() }
            guard unsafe Glibc.rename(temporary, path) == 0 else { throw .last() }
        } catch {
            unsafe _ = unlink(temporary)
            throw error
        }
    }

    // MARK: - Below a directory

    /// Opens a file below a directory.
    package static func open(
        _ path: String, in directory: Int32, _ flags: Int32, mode: mode_t = 0o600
    ) throws(SystemError) -> Int32 {
        if flags & (O_CREAT | O_TRUNC) != 0 { willChange(directory) }
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
    package static func openDirectory(
        _ path: String, in parent: Int32
    ) throws(SystemError) -> (descriptor: Int32, isNew: Bool) {
        willChange(parent)
        let made = unsafe mkdirat(parent, path, 0o700)
        guard made == 0 || errno == EEXIST else { throw SystemError("making the directory \(path)") }
        return (try open(path, in: parent, O_RDONLY | O_DIRECTORY), made == 0)
    }

    /// The bytes of a file.
    package static func size(_ descriptor: Int32) throws(SystemError) -> Int64 {
        guard let status = fileStatus(open: descriptor) else { throw SystemError("looking at a file") }
        return Int64(status.st_size)
    }

    /// Bytes that a file takes on the disk; 0 if there is none.
    package static func bytesOnDisk(_ path: String, in directory: Int32) -> Int64 {
        fileStatus(link: path, in: directory).map { Int64($0.st_blocks) * 512 } ?? 0
    }

    /// Syncs the bytes of a file to the disk.
    package static func sync(_ descriptor: Int32) throws(SystemError) {
        try again("syncing") { fdatasync(descriptor) }
    }

    /// Syncs a directory to the disk: names that were made, changed and removed.
    package static func sync(directory: Int32) throws(SystemError) {
        try again("syncing a directory") { fsync(directory) }
    }

    /// Cuts a file to a length.
    package static func truncate(_ descriptor: Int32, to length: Int64) throws(SystemError) {
        willChange(descriptor)
        try again("cutting") { ftruncate(descriptor, off_t(length)) }
    }

    /// Repeats a call that a signal interrupts.
    private static func again(_ name: String, _ call: () -> Int32) throws(SystemError) {
        while call() != 0 {
            guard errno == EINTR else { throw SystemError(name) }
        }
    }

    /// Renames a file.
    package static func rename(
        _ from: String, in source: Int32, to: String, in target: Int32
    ) throws(SystemError) {
        willChange(source)
        guard unsafe renameat(source, from, target, to) == 0 else { throw SystemError("renaming") }
    }

    /// Removes a file; a missing file is no failure.
    package static func remove(_ path: String, in directory: Int32) {
        willChange(directory)
        _ = unsafe unlinkat(directory, path, 0)
    }

    /// The names in a directory, without `.` and `..`; empty if it cannot be read.
    package static func names(in directory: Int32) -> [String] {
        ((try? Directory.entries(of: directory)) ?? []).map(\.name)
    }

    /// The free bytes of the file system for an unprivileged process (statvfs(3)); nil if they cannot be determined.
    package static func freeBytes(_ descriptor: Int32) -> Int64? {
        var status = statvfs()
        guard unsafe fstatvfs(descriptor, &status) == 0 else { return nil }
        return Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    }

    // MARK: - Tests

    #if DEBUG
    private static let changes = Mutex<(@Sendable (Int32) -> Void)?>(nil)

    /// Sets a function that is called before each change below a descriptor: a kill leaves the state of that moment.
    package static func beforeChanges(_ work: (@Sendable (Int32) -> Void)?) { changes.withLock { $0 = work } }
    #endif

    @inline(__always)
    private static func willChange(_ descriptor: Int32) {
        #if DEBUG
        changes.withLock { $0 }?(descriptor)
        #endif
    }
}
