import Glibc
package import System
package import Rankings

/// Reads, writes and removes session files.
package enum SessionFile {
    /// The most bytes of a session file; a browser's whole jar has a few hundred kilobytes.
    package static let longest = 4 << 20

    /// The properties of a file that change when its content or its permissions change.
    package struct Stamp: Equatable, Sendable {
        private let path: String
        /// Device and inode.
        private let file: [UInt64]
        /// The size, and seconds and nanoseconds of the last change of the content and of the permissions.
        private let numbers: [Int]

        fileprivate init(_ status: stat, path: String) {
            self.path = path
            file = [UInt64(status.st_dev), UInt64(status.st_ino)]
            let times = [status.st_mtim, status.st_ctim]
            numbers = [Int(status.st_size)] + times.flatMap { [$0.tv_sec, $0.tv_nsec] }
        }
    }

    /// Returns the present stamp of a file, or the errno.
    package static func stamp(of path: String) -> Result<Stamp, SystemError> {
        guard let status = fileStatus(at: path) else { return .failure(SystemError(code: errno)) }
        return .success(Stamp(status, path: path))
    }

    /// Reads the content of a file that may hold a session.
    package static func content(of place: SessionPlace) throws(Failure) -> [UInt8] {
        try content(at: place.path, refusing: place.mustBePrivate ? 0o077 : 0, remedy: "; name a cookies.txt")
    }

    /// Reads the content of a private file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - rights: The rights of others that the file must not give.
    ///   - remedy: The remedy for what is no file.
    /// - Returns: The bytes of the file.
    /// - Throws: The reason why the file cannot be used, as the end of a sentence.
    package static func content(
        at path: String, refusing rights: UInt32, remedy: String = ""
    ) throws(Failure) -> [UInt8] {
        // Without O_NONBLOCK a pipe in place of the file would block the caller.
        let descriptor = Descriptors.own.open(path, O_RDONLY | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable() }
        defer { close(descriptor) }
        guard let status = fileStatus(open: descriptor) else { throw unreadable() }
        guard status.st_mode.isFile else {
            throw .unusable("is no file\(remedy)")
        }
        guard status.st_mode & rights == 0 else {
            throw .unusable("can be \(rights == 0o022 ? "changed" : "read") by others; protect it with `chmod 600`")
        }
        return try content(of: descriptor)
    }

    /// Reads a descriptor to its end, up to one byte more than a session file may have.
    package static func content(of descriptor: Int32) throws(Failure) -> [UInt8] {
        do throws(SystemError) {
            return try Files.read(descriptor, upTo: longest + 1)
        } catch { throw .unusable("cannot be read: \(error.text)") }
    }

    private static func unreadable() -> Failure {
        .unusable("cannot be read: \(SystemError(code: errno).text)")
    }

    // MARK: Writing

    /// Stores a session in one step: a crash leaves the old file or the new one.
    ///
    /// - Parameters:
    ///   - secrets: The whole content of the file, which is written as one line.
    ///   - path: A path in a private directory that exists.
    /// - Throws: The reason that the session could not be stored.
    package static func store(_ secrets: [String], at path: String) throws(Failure) {
        let line = Array((secrets.joined(separator: "; ") + "\n").utf8)
        do throws(SystemError) {
            try Files.replace(path, with: line, by: temporaryName(path), isSynced: true)
        } catch { throw Failure.unusable("cannot be written: \(error.text)") }
        syncDirectory(of: path)
    }

    /// Examines a file by the rules of a mount, without keeping its content.
    ///
    /// - Parameters:
    ///   - place: The file and its rules.
    ///   - user: Reads the file and returns the user of its session.
    /// - Returns: The state of the file.
    package static func examine(
        _ place: SessionPlace, user: (SessionPlace) throws(Failure) -> UserID
    ) -> SessionExamination {
        guard let status = fileStatus(at: place.path) else { return .missing }
        if place.mustBePrivate, status.st_mode.isFile, status.st_mode & 0o077 != 0 { return .exposed }
        do throws(Failure) { return .usable(try user(place)) } catch { return .unusable(error.cause) }
    }

    /// Overwrites and removes a session file; one that a link leads to with the link.
    ///
    /// - Returns: False if the file did not exist.
    package static func remove(_ path: String) throws(Failure) -> Bool {
        // What a login that ended early has left does not keep the session.
        let temporary = Result { () throws(Failure) in try erase(temporaryName(path)) }
        let isRemoved = try erase(path, followingLink: true)
        _ = try temporary.get()
        return isRemoved
    }

    private static func erase(_ path: String, followingLink: Bool = false) throws(Failure) -> Bool {
        guard let status = fileStatus(link: path) else {
            if errno == ENOENT || errno == ENOTDIR { return false }
            throw .unusable("cannot be removed: \(SystemError.last().text)")
        }
        // What stays readable elsewhere is said, but signing out does not depend on it.
        var rest: Failure?
        do throws(Failure) {
            if !status.st_mode.isLink {
                try overwrite(path, status)
            } else if followingLink {
                try eraseTarget(of: path)
            }
        } catch { rest = error }
        guard unsafe unlink(path) == 0 else {
            throw .unusable("cannot be removed: \(SystemError.last().text)")
        }
        syncDirectory(of: path)
        if let rest { throw rest }
        return true
    }

    /// Erases the file that a link leads to; a link that leads nowhere needs nothing more.
    private static func eraseTarget(of link: String) throws(Failure) {
        guard let resolved = unsafe realpath(link, nil) else { return }
        defer { unsafe free(resolved) }
        guard let target = unsafe String(validatingCString: resolved), let status = fileStatus(link: target),
            status.st_mode.isFile, status.st_uid == geteuid()
        else {
            throw .unusable("was a link to what is no file of this user's; the link is removed, its target is left")
        }
        _ = try erase(target)
    }

    /// Overwrites the bytes of a file with zeros, on the disk.
    ///
    /// Disks that keep old blocks cannot be erased from here.
    private static func overwrite(_ path: String, _ status: stat) throws(Failure) {
        guard status.st_mode.isFile else { return }
        var descriptor = Descriptors.own.open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
        if descriptor < 0, errno == EACCES, unsafe chmod(path, 0o600) == 0 {
            descriptor = Descriptors.own.open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
        }
        let zeros = [UInt8](repeating: 0, count: min(Int(clamping: status.st_size), longest))
        let isDone = descriptor >= 0 && Files.write(zeros, to: descriptor) && fsync(descriptor) == 0
        let reason = SystemError.last()
        if descriptor >= 0 { close(descriptor) }
        guard isDone else {
            throw .unusable("was removed, but not overwritten (\(reason.text)); its bytes may still be there")
        }
    }

    /// Returns a name beside the file, so that a rename can put the new file in its place.
    private static func temporaryName(_ path: String) -> String { path + ".new" }

    private static func syncDirectory(of path: String) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let descriptor = Descriptors.own.open(String(path[...slash]), O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }
}

// MARK: - Cookies

/// Text that holds cookies, either a cookies.txt or one line of cookies.
///
/// A cookies.txt is as extensions of browsers export it (Netscape format); a line is as a browser sends it.
package enum CookieText {
    /// A row of a cookies.txt: name and value, and whether the cookie is sent to the host in question.
    package typealias Cookie = (name: String, value: String, isOfHost: Bool, hasExpired: Bool)

    /// Returns the lines that are neither empty nor comments; nil for bytes that are not text, or too many.
    package static func lines(of bytes: [UInt8]) -> [String]? {
        guard bytes.count <= SessionFile.longest, !bytes.contains(0),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        return text.unicodeScalars.split { $0 == "\n" || $0 == "\r" }
            .map { trimmed(String(String.UnicodeScalarView($0))) }
            .map { $0.hasPrefix(httpOnly) ? String($0.dropFirst(httpOnly.count)) : $0 }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    /// Reads lines of domain, subdomain flag, path, secure flag, expiry, name and value; skips broken lines.
    ///
    /// - Returns: The cookies; nil for lines that are not a cookies.txt.
    package static func jar(_ lines: [String], host: String, now: Int64) -> [Cookie]? {
        guard lines.contains(where: { trimmed($0, of: blanks).utf8.contains(9) }) else { return nil }
        return lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false) }.filter { $0.count == 7 }.map {
            // Some exporters write fractions; 0 and less marks a cookie of the browser's own session.
            let expiry = Int64($0[4].prefix { $0 != "." }) ?? 0
            return (
                String($0[5]), String($0[6]), covers(host, domain: $0[0].lowercased()), expiry > 0 && expiry <= now
            )
        }
    }

    /// Returns the parts of a line of cookies, each `name=value`; of a bare value, the value.
    package static func fields(of line: String) -> [String] {
        var text = trimmed(line, of: blanks)[...]
        if text.lowercased().hasPrefix("cookie: ") { text = text.dropFirst("cookie: ".count) }
        return text.split(separator: ";").map { trimmed(String($0)) }
    }

    /// Returns whether a byte may be part of a value: letters, digits and unreserved characters of URLs.
    ///
    /// No such byte can end a header line or a cookie.
    package static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isDigit || byte.isLetter || "-_.~%".utf8.contains(byte)
    }

    /// The prefix of lines with cookies that scripts cannot read; every other line that begins with `#` is a comment.
    private static let httpOnly = "#HttpOnly_"

    /// The blanks around a line of cookies; around a row of a cookies.txt, a tab is the end of an empty field.
    private static let blanks = " \u{FEFF}\t"

    private static func trimmed(_ text: String, of blanks: String = " \u{FEFF}") -> String {
        String(text.unicodeScalars.trimmed(blanks.unicodeScalars.contains))
    }

    /// Returns whether a cookie of a domain is sent to a host (RFC 6265, 5.1.3).
    ///
    /// Exporters do not agree on the leading dot.
    private static func covers(_ host: String, domain: String) -> Bool {
        let domain = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        if host == domain { return true }
        let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
        return !isAddress && domain.contains(".") && host.hasSuffix("." + domain)
    }
}

/// Cookies that prove a passed browser check, usually for half an hour and for one User-Agent.
///
/// The value's own descriptions contain no cookie.
package struct Clearance: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The cookies as `name=value`: for the request header and the session file, never for texts.
    package let cookies: [String]

    /// The names of Cloudflare's cookies.
    private static let names = ["cf_clearance", "__cf_bm"]
    /// The most characters of a cookie's value; those seen have up to 500.
    private static let longest = 2048

    /// Finds the cookies in a cookies.txt or a line of cookies; nil if there are no plausible ones.
    ///
    /// - Parameters:
    ///   - bytes: The whole text.
    ///   - host: The host that the cookies are for; cookies of other hosts are not taken.
    ///   - takesBare: Whether a line is accepted, which does not name the host of its cookies.
    ///   - now: The time in Unix seconds, for expired cookies.
    package init?(in bytes: [UInt8], host: String, takesBare: Bool = true, now: Int64) {
        guard let lines = CookieText.lines(of: bytes) else { return nil }
        let jar = CookieText.jar(lines, host: host, now: now)?
            .filter { $0.isOfHost && !$0.hasExpired }.map { "\($0.name)=\($0.value)" }
        let fields = jar ?? (takesBare && lines.count == 1 ? CookieText.fields(of: lines[0]) : [])
        cookies = Self.names.compactMap { name in
            fields.first { field in
                let value = field.dropFirst(name.utf8.count + 1).utf8
                return field.hasPrefix(name + "=") && (1...Self.longest).contains(value.count)
                    && value.allSatisfy { CookieText.isAllowed($0) || $0 == UInt8(ascii: "=") }
            }
        }
        if cookies.isEmpty { return nil }
    }

    /// Reads the cookies of a session file; nil if there are none, or if the file must not be used.
    package init?(at place: SessionPlace, host: String, now: Int64) {
        guard let bytes = try? SessionFile.content(of: place) else { return nil }
        self.init(in: bytes, host: host, takesBare: place.takesBare, now: now)
    }

    /// The value of the `Cookie` header.
    package var header: String { cookies.joined(separator: "; ") }

    package var description: String { "the cookies of a browser's check" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
