internal import CLinux
internal import Glibc

/// A cache directory held for maintenance: rankfs's own beyond doubt, locked against daemons, reached by descriptors.
///
/// A directory is rankfs's own if it belongs to the user, carries a tag that rankfs wrote and the lock of a mount. Anything
/// else that an option may name by mistake is refused; a link is never followed.
///
/// ## Concurrency
///
/// One thread at a time. The lock is given up with the last reference.
final class OwnDirectory {
    let top: Int32
    private let lock: Int32

    /// - Throws: `.busy` if a daemon uses it, `.unusable` if it is not rankfs's own.
    init(_ directory: String) throws(ImageCacheError) {
        let top: Int32
        do throws(FileError) {
            top = try CacheFiles.open(directory, in: AT_FDCWD, O_RDONLY | O_DIRECTORY)
        } catch {
            throw .unusable("the cache directory \(directory) cannot be opened (\(error.text)); check cache_dir")
        }
        var status = stat()
        guard unsafe fstat(top, &status) == 0, status.st_uid == geteuid() else {
            Glibc.close(top)
            throw .unusable("the cache directory \(directory) belongs to somebody else; run this as its owner")
        }
        let lock = try? CacheFiles.open(PictureStore.lockName, in: top, O_RDWR)
        guard let lock, Marks.isOwn(top) else {
            if let lock { Glibc.close(lock) }
            Glibc.close(top)
            throw .unusable("\(directory) is no cache of rankfs, so nothing in it is touched; check cache_dir")
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            Glibc.close(lock)
            Glibc.close(top)
            throw .busy(directory: directory)
        }
        self.top = top
        self.lock = lock
        if let newer = PictureStore.newerFormat(in: top) { throw PictureStore.newer(newer, in: directory) }
    }

    deinit {
        // A process that was just started may still have the descriptor, until it becomes another program.
        _ = flock(lock, LOCK_UN)
        Glibc.close(lock)
        Glibc.close(top)
    }

    /// Removes a file, a link or a directory with everything in it; links are not followed, other file systems not entered.
    ///
    /// - Parameters:
    ///   - name: In `parent`.
    ///   - parent: A directory's descriptor.
    static func remove(_ name: String, in parent: Int32) {
        var status = stat()
        guard unsafe fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        if unsafe unlinkat(parent, name, 0) == 0 { return }
        var outer = stat()
        guard errno == EISDIR || errno == EPERM, unsafe fstat(parent, &outer) == 0, outer.st_dev == status.st_dev,
            let directory = try? CacheFiles.open(name, in: parent, O_RDONLY | O_DIRECTORY)
        else { return }
        defer { Glibc.close(directory) }
        for entry in CacheFiles.names(in: directory) { remove(entry, in: directory) }
        unsafe _ = unlinkat(parent, name, AT_REMOVEDIR)
    }
}

extension Marks {
    /// Whether the tag of a directory is one that rankfs wrote; other programs' caches have the signature too.
    static func isOwn(_ directory: Int32) -> Bool {
        guard let file = try? CacheFiles.open(tagName, in: directory, O_RDONLY | O_NONBLOCK) else { return false }
        defer { Glibc.close(file) }
        let text =
            (try? CacheFiles.read(file, at: 0, count: longestTag)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.hasPrefix(signature + "\n") && text.contains("rankfs")
    }

    /// Bytes of a tag that are looked at; ours has 200.
    private static let longestTag = 1024
}
