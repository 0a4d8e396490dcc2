import CLinux
import Glibc
import RankFS
import Rankings
import System

/// Small file operations with errno as the error.
enum LocalFiles {
    /// The names in a directory besides `.` and `..`, in no order.
    static func names(in path: String) throws(SystemError) -> [String] {
        try Directory.entries(at: path).map(\.name)
    }

    /// Removes a directory with its content; follows no symbolic link and enters no root of another file system.
    static func removeTree(_ path: String) {
        guard let names = try? names(in: path) else { return }
        for name in names {
            let entry = path + "/" + name
            if unsafe unlink(entry) != 0, errno == EISDIR || errno == EPERM { removeTree(entry) }
        }
        unsafe _ = rmdir(path)
    }

    /// The path without links and dots; nil if it does not exist or cannot be resolved.
    static func canonical(_ path: String) -> String? { try? resolved(path) }

    /// The path without links and dots.
    ///
    /// - Throws: The error of realpath(3); EILSEQ for a path that is not UTF-8, which repaired would name another file.
    static func resolved(_ path: String) throws(SystemError) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw .last() }
        defer { unsafe free(resolved) }
        guard let text = unsafe String(validatingCString: resolved) else { throw SystemError(code: EILSEQ) }
        return text
    }

    /// The target of a symbolic link; nil if the path is not a link, or its target is not UTF-8.
    static func link(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &buffer, buffer.count)
        guard count > 0, count < buffer.count else { return nil }
        return String(validating: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The canonical form of a path; its last component may be missing, or be a mount that does not answer.
    static func canonicalParent(of path: String) -> String? {
        guard let absolute = try? absolute(path) else { return nil }
        guard let parent = parent(of: absolute), let last = absolute.pathNames.last, last != ".",
            last != ".."
        else {
            return canonical(absolute)
        }
        return canonical(parent).map { $0 == "/" ? "/\(last)" : "\($0)/\(last)" }
    }

    /// An absolute path with its existing beginning made canonical; the rest is as given.
    static func canonicalBeginning(of path: String) -> String {
        if let canonical = canonical(path) { return canonical }
        guard let parent = parent(of: path), let last = path.pathNames.last else { return path }
        let beginning = canonicalBeginning(of: parent)
        return beginning == "/" ? "/\(last)" : "\(beginning)/\(last)"
    }

    /// The path made absolute by the working directory, otherwise unchanged.
    ///
    /// - Throws: usage, for a relative path without a working directory to start from.
    static func absolute(_ path: String) throws(ProgramError) -> String {
        if path.isAbsolutePath { return path }
        guard let directory = workingDirectory() else {
            throw .usage("the present folder does not exist any more, or its name is not UTF-8; change to another one.")
        }
        return directory == "/" ? "/" + path : directory + "/" + path
    }

    /// The longest of some mount points above a path, and the way from there; mounts may lie in each other.
    static func innermost(of mounts: [String], above path: String) -> (mount: String, way: String)? {
        mounts.compactMap { mount in path.way(from: mount).map { (mount, $0) } }
            .max { $0.0.utf8.count < $1.0.utf8.count }
    }

    /// The working directory; nil if it does not exist any more, or its path is not UTF-8.
    static func workingDirectory() -> String? {
        guard let path = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(validatingCString: path)
    }

    static func parent(of path: String) -> String? {
        var path = path.unicodeScalars[...]
        while path.last == "/", path.dropFirst().first != nil { path = path.dropLast() }
        guard let slash = path.lastIndex(of: "/"), path.dropFirst().first != nil else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    // MARK: - Files of mounts

    // Operations on a mount: the calls may wait for the network, so they are not for tasks.

    /// The status of a file by lstat(2), which does not follow links.
    static func status(of path: String) throws(SystemError) -> stat {
        guard let status = fileStatus(link: path) else { throw .last() }
        return status
    }

    /// The day that a directory of pictures shows.
    ///
    /// - Throws: The error of opening the directory; ENODATA for other directories.
    static func day(shownBy directory: String) throws(SystemError) -> String {
        // Opened first: that makes the mount request the newest day, unless it knows the day.
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last() }
        defer { close(descriptor) }
        guard let day = attribute("user.rankfs.day", of: directory) else { throw SystemError(code: ENODATA) }
        return day
    }

    /// The number of pictures that a directory does not list because the service withholds them.
    static func withheld(in directory: String) -> Int {
        attribute("user.rankfs.withheld", of: directory).flatMap { Int($0) } ?? 0
    }

    /// Gives a command for a path, by its mount point: opening a directory would request its listing.
    ///
    /// - Returns: The number of pictures or listings concerned.
    static func give(
        _ command: MountCommand, to path: String, in mounts: [String]
    ) throws(SystemError) -> Int {
        let file = unsafe rankfs_open_path(path)
        guard file >= 0 else { throw .last() }
        defer { close(file) }
        guard let status = fileStatus(open: file) else { throw .last() }
        let root = unsafe open(LocalFiles.innermost(of: mounts, above: path)?.mount ?? path, O_RDONLY | O_CLOEXEC)
        guard root >= 0 else { throw .last() }
        defer { close(root) }
        var inode = UInt64(status.st_ino)
        let result = unsafe ioctl(root, UInt(command.rawValue | MountCommand.onInode), &inode)
        guard result >= 0 else { throw .last() }
        return Int(result)
    }

    /// An extended attribute as text; nil if there is none.
    static func attribute(_ name: String, of path: String) -> String? {
        bytes(of: name, at: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The extended attributes that a copy includes: all of `user.`; the mount lists none about its own store.
    static func attributes(of path: String) throws(SystemError) -> [(name: String, value: [UInt8])] {
        var list = [UInt8](repeating: 0, count: longestAttribute)
        let length = unsafe list.withUnsafeMutableBytes { buffer in
            unsafe llistxattr(path, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
        }
        guard length >= 0 else { throw .last() }
        return list[..<length].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            .filter { $0.hasPrefix("user.") }
            .compactMap { name in bytes(of: name, at: path).map { (name, $0) } }
    }

    /// XATTR_SIZE_MAX and XATTR_LIST_MAX of Linux.
    private static let longestAttribute = 65_536

    private static func bytes(of name: String, at path: String) -> [UInt8]? {
        // Nearly all are short; a long one takes a second call.
        for size in [1024, longestAttribute] {
            var value = [UInt8](repeating: 0, count: size)
            let length = unsafe value.withUnsafeMutableBytes { unsafe lgetxattr(path, name, $0.baseAddress, $0.count) }
            if length >= 0 { return Array(value[..<length]) }
            if errno != ERANGE { return nil }
        }
        return nil
    }

    // MARK: - Programs

    /// The path of a program that this one starts: beside this one, as built, or in the directory for helper programs, as installed.
    ///
    /// - Throws: unavailable, with one sentence, if it is in neither.
    static func program(named name: String) throws(ProgramError) -> String {
        let places = candidates(for: name, besides: link("/proc/self/exe") ?? "")
        for place in places where unsafe access(place, X_OK) == 0 { return place }
        throw .unavailable(
            "the program \(name) is missing; looked for "
                + places.map { LogText.escaped($0) }.joined(separator: " and ") + "; install rankfs again.")
    }

    /// The paths at which a program is searched, in this order.
    ///
    /// - Parameters:
    ///   - name: The name of the program.
    ///   - path: The path of the running program.
    /// - Returns: Paths.
    static func candidates(for name: String, besides path: String) -> [String] {
        let directory = path.lastIndex(of: "/").map { path[..<$0] } ?? ""
        let prefix = directory.lastIndex(of: "/").map { directory[..<$0] } ?? ""
        return ["\(directory)/\(name)", "\(prefix)/libexec/rankfs/\(name)"]
    }
}

// MARK: - Started programs

extension Channel {
    /// Starts a program with a channel to it as its descriptor 3, and other descriptors from 4 on.
    ///
    /// - Parameters:
    ///   - path: The path of the program.
    ///   - arguments: Its arguments, the name first.
    ///   - others: The other descriptors.
    ///   - name: The program in error texts.
    /// - Returns: The process and this end of the channel.
    /// - Throws: system, if either cannot be made.
    static func start(
        _ path: String, _ arguments: [String], inheriting others: [Int32] = [], called name: String
    ) throws(ProgramError) -> (process: pid_t, channel: Channel) {
        let ends: (own: Channel, other: Channel)
        do throws(SystemError) { ends = try pair() } catch {
            throw .system("no socket can be made: \(error.text).")
        }
        defer { ends.other.close() }
        do throws(SystemError) {
            return (
                try ChildProcess.start(path, arguments, inheriting: [ends.other.descriptor] + others), ends.own
            )
        } catch {
            ends.own.close()
            throw .system("\(name) cannot be started: \(error.text).")
        }
    }
}
