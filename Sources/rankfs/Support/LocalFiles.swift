import CLinux
import Glibc
import Posix
import Rankings

/// Small file operations with errno as the error.
enum LocalFiles {
    /// An errno of a failed call.
    typealias Failure = SystemError

    /// The whole content of a file, at most `limit` bytes of it.
    static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        try FileBytes.read(path, upTo: limit)
    }

    /// Writes all bytes to a descriptor; false if that fails.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        FileBytes.write(bytes, to: descriptor)
    }

    /// Replaces a small file in one step, so that a crash leaves the old content or the new.
    static func replace(_ path: String, with bytes: [UInt8]) throws(Failure) {
        let temporary = path + ".new"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .last() }
        let written = write(bytes, to: descriptor)
        let failure = Failure.last()
        close(descriptor)
        guard written else { throw failure }
        guard unsafe rename(temporary, path) == 0 else { throw .last() }
    }

    /// Makes a directory and its missing parents, each private to the user unless other permissions are given.
    static func makeDirectories(_ path: String, permissions: mode_t = 0o700) throws(Failure) {
        if unsafe mkdir(path, permissions) == 0 || errno == EEXIST {
            guard try isDirectory(path) else { throw Failure(code: ENOTDIR) }
            return
        }
        guard errno == ENOENT, let parent = parent(of: path) else { throw .last() }
        try makeDirectories(parent, permissions: permissions)
        guard unsafe mkdir(path, permissions) == 0 || errno == EEXIST else { throw .last() }
    }

    /// Takes everybody else's rights on a directory away.
    static func makePrivate(_ path: String) throws(Failure) {
        guard unsafe chmod(path, 0o700) == 0 else { throw .last() }
    }

    static func isDirectory(_ path: String) throws(Failure) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .last() }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether a directory has no entries.
    static func isEmptyDirectory(_ path: String) throws(Failure) -> Bool {
        try names(in: path).isEmpty
    }

    /// The names in a directory besides `.` and `..`, in no order.
    static func names(in path: String) throws(Failure) -> [String] {
        try Directory.entries(at: path).map(\.name)
    }

    /// Removes a directory with everything in it, not following symbolic links nor entering other file systems' roots.
    static func removeTree(_ path: String) {
        guard let names = try? names(in: path) else { return }
        for name in names {
            let entry = path + "/" + name
            if unsafe unlink(entry) != 0, errno == EISDIR || errno == EPERM { removeTree(entry) }
        }
        unsafe _ = rmdir(path)
    }

    /// The path without links and dots; nil if it does not exist or cannot be walked.
    static func canonical(_ path: String) -> String? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Where an open file or folder is now; nil if it has no path, or `/proc` is missing.
    static func target(ofDescriptor descriptor: Int32) -> String? {
        link("/proc/self/fd/\(descriptor)")
    }

    /// What a symbolic link holds; nil if it is none.
    static func link(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &buffer, buffer.count)
        guard count > 0, count < buffer.count else { return nil }
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The canonical form of a path whose last component may be a mount that does not answer, or not exist at all.
    static func canonicalParent(of path: String) -> String? {
        let absolute = absolute(path)
        guard let parent = parent(of: absolute), let last = absolute.pathNames.last, last != ".",
            last != ".."
        else {
            return canonical(absolute)
        }
        return canonical(parent).map { $0 == "/" ? "/\(last)" : "\($0)/\(last)" }
    }

    /// An absolute path whose existing beginning is canonical; the rest is as given.
    static func canonicalBeginning(of path: String) -> String {
        if let canonical = canonical(path) { return canonical }
        guard let parent = parent(of: path), let last = path.pathNames.last else { return path }
        let beginning = canonicalBeginning(of: parent)
        return beginning == "/" ? "/\(last)" : "\(beginning)/\(last)"
    }

    /// The path made absolute by the working directory, otherwise unchanged.
    static func absolute(_ path: String) -> String {
        if path.isAbsolutePath { return path }
        let directory = workingDirectory() ?? "/"
        return directory == "/" ? "/" + path : directory + "/" + path
    }

    static func workingDirectory() -> String? {
        guard let path = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    static func parent(of path: String) -> String? {
        var path = path.unicodeScalars[...]
        while path.last == "/", path.dropFirst().first != nil { path = path.dropLast() }
        guard let slash = path.lastIndex(of: "/"), path.dropFirst().first != nil else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
