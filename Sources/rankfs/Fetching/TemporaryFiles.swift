import CLinux
import Glibc
import Posix
import Synchronization

/// The unfinished files of this process, so that a Ctrl-C leaves none behind.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the set; a file is opened under it, so that none appears once all were removed.
final class TemporaryFiles: Sendable {
    /// Nil once everything was removed.
    private let paths = Mutex<Set<String>?>([])

    /// Opens one for writing and takes note of it; nil once the process is stopping.
    ///
    /// - Returns: The descriptor, which is locked against other processes and empty.
    /// - Throws: EBUSY if another process is writing it.
    func open(_ path: String) throws(LocalFiles.Failure) -> Int32? {
        let result = paths.withLock { paths -> Result<Int32?, LocalFiles.Failure> in
            guard paths != nil else { return .success(nil) }
            do throws(LocalFiles.Failure) {
                let descriptor = try Self.openLocked(path)
                paths?.insert(path)
                return .success(descriptor)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Takes a file off the list: it was renamed.
    func forget(_ path: String) {
        paths.withLock { _ = $0?.remove(path) }
    }

    /// Removes one.
    func remove(_ path: String) {
        unsafe _ = unlink(path)
        forget(path)
    }

    /// Removes all; from then on none can be opened.
    func removeAll() {
        let left = paths.withLock { paths in
            defer { paths = nil }
            return paths ?? []
        }
        for path in left { unsafe _ = unlink(path) }
    }

    private static func openLocked(_ path: String) throws(LocalFiles.Failure) -> Int32 {
        // A second try for a file that its writer renamed between open and lock.
        for _ in 0..<2 {
            let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
            guard descriptor >= 0 else { throw .last() }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                throw LocalFiles.Failure(code: EBUSY)
            }
            var opened = stat()
            var named = stat()
            guard unsafe fstat(descriptor, &opened) == 0, unsafe lstat(path, &named) == 0,
                opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
            else {
                close(descriptor)
                continue
            }
            guard ftruncate(descriptor, 0) == 0 else {
                let failure = LocalFiles.Failure.last()
                close(descriptor)
                throw failure
            }
            return descriptor
        }
        throw LocalFiles.Failure(code: EBUSY)
    }
}
