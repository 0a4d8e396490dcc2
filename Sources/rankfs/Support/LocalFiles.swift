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

// MARK: - Wrong mode

/// What is said of a path whose ranking the service does not have: to the kernel it is a name like any other that is missing.
enum WrongMode {
    /// Characters of the name that are shown.
    private static let longestName = 80

    /// The cause and the remedy for a path below the root of a source's mount; nil for one that names a ranking, or none.
    static func complaint(_ path: String, of source: SourceDescription) -> String? {
        let steps = TreePath(path).steps
        guard steps.count >= 2, [.rankings, .dates(.all)].contains(steps[0]),
            RankingMode(rawValue: steps[1].name).flatMap({ source[$0] }) == nil
        else { return nil }
        return "there is no ranking \(LogText.escaped(steps[1].name, limit: longestName)); name one of \(list(source))."
    }

    /// The complaint about an absolute path in one of some mounts.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - mounts: Mount points.
    ///   - source: The source that is mounted there.
    /// - Returns: Nil for a path in none of them, and for one that names a ranking.
    static func complaint(
        at path: String, in mounts: [String], source: (_ mount: String) -> SourceDescription
    ) -> String? {
        let ways = mounts.compactMap { mount in path.way(from: mount).map { (mount: mount, way: $0) } }
        return ways.max { $0.mount.utf8.count < $1.mount.utf8.count }.flatMap {
            complaint($0.way, of: source($0.mount))
        }
    }

    /// Those of everybody, those of members, and one that is limited, as far as there are any.
    private static func list(_ source: SourceDescription) -> String {
        let everyone = source.modes(isSignedIn: false)
        let others = source.modes(isSignedIn: true).filter { !everyone.contains($0) }
        let limited = source.rankings.filter { $0.partOf != nil }
        // One that says more than its kind: the second, as a rule.
        let example = limited.dropFirst().first ?? limited.first
        return text(everyone) + (others.isEmpty ? "" : ", signed in also \(text(others))")
            + (example.map { ", or one of a single content such as \($0.mode.rawValue)" } ?? "")
    }

    private static func text(_ modes: [RankingMode]) -> String {
        modes.map(\.rawValue).joined(separator: ", ")
    }
}

// MARK: - Chance name

/// A name that nobody else has, on this machine or another.
enum ChanceName {
    /// Letters and digits.
    static func make() -> String {
        var source = SystemRandomNumberGenerator()
        return String(source.next(), radix: 36)
    }
}

// MARK: - Companion program

/// Where the programs are that this one starts.
enum CompanionProgram {
    /// The path of a program: beside this one, as it is built, or in the directory for programs of programs, as it is installed.
    ///
    /// - Throws: unavailable, with one sentence, if it is in neither.
    static func path(of name: String) throws(ProgramError) -> String {
        let places = candidates(for: name, besides: LocalFiles.link("/proc/self/exe") ?? "")
        for place in places where unsafe access(place, X_OK) == 0 { return place }
        throw ProgramError(
            .unavailable,
            "the program \(name) is missing; looked for "
                + places.map { LogText.escaped($0) }.joined(separator: " and ") + "; install rankfs again.")
    }

    /// The places in which a program is looked for, in this order.
    ///
    /// - Parameters:
    ///   - name: The program's.
    ///   - path: That of the running program.
    /// - Returns: Paths.
    static func candidates(for name: String, besides path: String) -> [String] {
        let directory = path.lastIndex(of: "/").map { path[..<$0] } ?? ""
        let prefix = directory.lastIndex(of: "/").map { directory[..<$0] } ?? ""
        return ["\(directory)/\(name)", "\(prefix)/libexec/rankfs/\(name)"]
    }
}

// MARK: - Secrecy

/// Keeps what a process has in its memory, cookies among it, from everybody who is not root.
enum Secrecy {
    /// From now on the process leaves no core dump, and no other process of its user may look into it (PR_SET_DUMPABLE of prctl(2)).
    ///
    /// What its user may know all the same: its state, name, command line and limits below `/proc`. The bound is inherited by the
    /// programs that it starts; the rest ends with execve(2), and each program of ours begins with this.
    static func begin() {
        // With a bound of 0 the kernel still feeds a program that collects dumps (core(5)), but not for such a process.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = rankfs_prctl(PR_SET_DUMPABLE, 0)
    }
}
