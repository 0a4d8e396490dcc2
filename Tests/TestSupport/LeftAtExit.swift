internal import Glibc
internal import Synchronization

/// Directories that the tests' process takes along when it ends, whatever still writes into them when their test has ended.
package enum LeftAtExit {
    private static let paths = Mutex<[String]>([])
    /// Set with the first directory (atexit(3)).
    private static let handler: Int32 = atexit { LeftAtExit.removeAll() }

    /// Has a directory removed, and all that is in it, when the process ends.
    package static func remove(_ path: String) {
        _ = handler
        paths.withLock { $0.append(path) }
    }

    private static func removeAll() {
        for path in paths.withLock({ $0 }) { removeTree(path) }
    }

    private static func removeTree(_ path: String) {
        guard unsafe unlink(path) != 0, let directory = unsafe opendir(path) else { return }
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { removeTree("\(path)/\(name)") }
        }
        unsafe closedir(directory)
        unsafe rmdir(path)
    }
}
