import CLinux
import Glibc
import System
import Rankings

/// Small file operations with errno as the error.
enum LocalFiles {
    /// Removes all rights of other users on a directory.
    static func isDirectory(_ path: String) throws(SystemError) -> Bool {
        guard let status = fileStatus(at: path) else { throw .last() }
        return status.st_mode.isDirectory
    }

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
            throw ProgramError(
                .usage, "the present folder does not exist any more, or its name is not UTF-8; change to another one.")
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
}

// MARK: - Programs

extension LocalFiles {
    /// The path of a program that this one starts: beside this one, as built, or in the directory for helper programs, as installed.
    ///
    /// - Throws: unavailable, with one sentence, if it is in neither.
    static func program(named name: String) throws(ProgramError) -> String {
        let places = candidates(for: name, besides: link("/proc/self/exe") ?? "")
        for place in places where unsafe access(place, X_OK) == 0 { return place }
        throw ProgramError(
            .unavailable,
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
            throw ProgramError(.system, "no socket can be made: \(error.text).")
        }
        defer { ends.other.close() }
        do throws(SystemError) {
            return (
                try ChildProcess.start(path, arguments, inheriting: [ends.other.descriptor] + others), ends.own
            )
        } catch {
            ends.own.close()
            throw ProgramError(.system, "\(name) cannot be started: \(error.text).")
        }
    }

    /// The first line that the program writes.
    ///
    /// - Parameters:
    ///   - longest: The most bytes that are read.
    ///   - patience: Milliseconds until the next byte must come.
    /// - Returns: The line without its end; only its beginning if the program ends or stops there; nil if nothing comes in time.
    func firstLine(upTo longest: Int, within patience: Int32) -> String? {
        let newline: UInt8 = 0x0a
        var line: [UInt8] = []
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while line.count < longest, line.last != newline {
            let count = unsafe poll(&waiting, 1, patience)
            if count < 0, errno == EINTR { continue }
            if count <= 0, line.isEmpty { return nil }
            guard count > 0 else { break }
            var byte: UInt8 = 0
            guard unsafe read(descriptor, &byte, 1) == 1 else { break }
            line.append(byte)
        }
        return String(decoding: line.prefix { $0 != newline }, as: UTF8.self)
    }
}
