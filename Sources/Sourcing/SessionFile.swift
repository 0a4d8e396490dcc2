import Glibc
package import Posix
package import Rankings

/// Reads, writes and removes session files.
package enum SessionFile {
    /// Bytes; a browser's whole jar has a few hundred kilobytes.
    package static let longest = 4 << 20

    /// What changes when a file does.
    package struct Stamp: Equatable, Sendable {
        let path: String
        let device: UInt64
        let inode: UInt64
        let size: Int64
        /// Seconds and nanoseconds of the content's last change and of the permissions'.
        let times: [Int]

        fileprivate init(_ status: stat, path: String) {
            self.path = path
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            times = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
        }
    }

    /// The present stamp of a file, or the errno.
    package static func stamp(of path: String) -> Result<Stamp, SystemError> {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return .failure(SystemError(code: errno)) }
        return .success(Stamp(status, path: path))
    }

    /// The content of a file that may hold a session.
    package static func content(of place: SessionPlace) throws(SessionProblem) -> [UInt8] {
        // Without O_NONBLOCK a pipe in place of the file would hold up whoever asks.
        let descriptor = Descriptors.own.open(place.path, O_RDONLY | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable() }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw unreadable() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SessionProblem("is no file; name a cookies.txt")
        }
        guard !place.mustBePrivate || status.st_mode & 0o077 == 0 else {
            throw SessionProblem("can be read by others; protect it with `chmod 600`")
        }
        return try content(of: descriptor)
    }

    /// What can be read from a descriptor to its end, one byte more than a session file may have at most.
    package static func content(of descriptor: Int32) throws(SessionProblem) -> [UInt8] {
        do throws(SystemError) {
            return try FileBytes.read(descriptor, upTo: longest + 1)
        } catch { throw SessionProblem("cannot be read: \(error.text)") }
    }

    private static func unreadable() -> SessionProblem {
        SessionProblem("cannot be read: \(SystemError(code: errno).text)")
    }

    // MARK: Writing

    /// Stores a session in one step: a crash leaves the old file or the new.
    ///
    /// - Parameters:
    ///   - secrets: All that the file holds, as one line.
    ///   - path: In a directory that exists and is private.
    /// - Throws: why it could not be stored.
    package static func store(_ secrets: [String], at path: String) throws(SessionProblem) {
        let temporary = temporaryName(path)
        unsafe _ = unlink(temporary)
        let descriptor = Descriptors.own.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw unwritable() }
        let line = Array((secrets.joined(separator: "; ") + "\n").utf8)
        let count = unsafe line.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        // The mode again, since a umask may have taken from it.
        let written = count == line.count && fchmod(descriptor, 0o600) == 0 && fsync(descriptor) == 0
        guard written, unsafe rename(temporary, path) == 0 else {
            let problem = unwritable()
            close(descriptor)
            unsafe _ = unlink(temporary)
            throw problem
        }
        close(descriptor)
        syncDirectory(of: path)
    }

    /// Looks at a file as a mount would, without keeping what is in it.
    ///
    /// - Parameters:
    ///   - place: The file and its rules.
    ///   - user: Reads the file, and tells whose session it is.
    /// - Returns: What it is.
    package static func examine(
        _ place: SessionPlace, user: (SessionPlace) throws(SessionProblem) -> UserID
    ) -> SessionExamination {
        var status = stat()
        guard unsafe stat(place.path, &status) == 0 else { return .missing }
        if place.mustBePrivate, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 { return .exposed }
        do throws(SessionProblem) { return .usable(try user(place)) } catch { return .unusable(error.reason) }
    }

    /// Overwrites and removes a session file.
    ///
    /// - Returns: False if there was none.
    package static func remove(_ path: String) throws(SessionProblem) -> Bool {
        _ = try erase(temporaryName(path))
        return try erase(path)
    }

    private static func erase(_ path: String) throws(SessionProblem) -> Bool {
        let descriptor = Descriptors.own.open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
        if descriptor >= 0 {
            var status = stat()
            if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                let zeros = [UInt8](repeating: 0, count: min(Int(status.st_size), longest))
                // A disk that keeps old blocks is beyond reach; the file's own bytes go in any case.
                unsafe _ = zeros.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
                _ = fsync(descriptor)
            }
            close(descriptor)
        } else if errno == ENOENT || errno == ENOTDIR {
            return false
        }
        guard unsafe unlink(path) == 0 else {
            throw SessionProblem("cannot be removed: \(SystemError(code: errno).text)")
        }
        syncDirectory(of: path)
        return true
    }

    /// Beside the file, so that a rename can put it in its place.
    private static func temporaryName(_ path: String) -> String { path + ".new" }

    private static func unwritable() -> SessionProblem {
        SessionProblem("cannot be written: \(SystemError(code: errno).text)")
    }

    private static func syncDirectory(of path: String) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let descriptor = Descriptors.own.open(String(path[...slash]), O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }
}

// MARK: - Cookies

/// Text in which cookies stand: a cookies.txt as browsers' extensions export it (Netscape format), or one line of them as a browser
/// sends it.
package enum CookieText {
    /// A row of a cookies.txt.
    package struct Cookie: Sendable {
        package let name: String
        package let value: String
        /// Whether it goes to the host that was asked about.
        package let isOfHost: Bool
        package let hasExpired: Bool
    }

    /// Lines that are neither empty nor comments; nil for what is no text, or too long.
    package static func lines(of bytes: [UInt8]) -> [String]? {
        guard bytes.count <= SessionFile.longest, !bytes.contains(0),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        return text.unicodeScalars.split { $0 == "\n" || $0 == "\r" }
            .map { trimmed(String(String.UnicodeScalarView($0))) }
            .map { $0.hasPrefix(httpOnly) ? String($0.dropFirst(httpOnly.count)) : $0 }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    /// Domain, whether hosts below it too, path, secure, expiry, name, value; broken lines are passed over.
    ///
    /// - Returns: The cookies; nil for lines that are no cookies.txt.
    package static func jar(_ lines: [String], host: String, now: Int64) -> [Cookie]? {
        guard lines.contains(where: { $0.utf8.contains(9) }) else { return nil }
        return lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false) }.filter { $0.count == 7 }.map {
            // Some exporters write fractions; 0 and less is a cookie of the browser's own session.
            let expiry = Int64($0[4].prefix { $0 != "." }) ?? 0
            return Cookie(
                name: String($0[5]), value: String($0[6]), isOfHost: covers(host, domain: $0[0].lowercased()),
                hasExpired: expiry > 0 && expiry <= now)
        }
    }

    /// The parts of a line of cookies, each `name=value`; of a value alone, that.
    package static func fields(of line: String) -> [String] {
        var text = trimmed(line)[...]
        if text.lowercased().hasPrefix("cookie: ") { text = text.dropFirst("cookie: ".count) }
        return text.split(separator: ";").map { trimmed(String($0)) }
    }

    /// Letters, digits and what URLs leave as it is: nothing that could end a header line or a cookie.
    package static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        default: "-_.~%".utf8.contains(byte)
        }
    }

    /// Written before lines of cookies that scripts may not see; everything else behind `#` is a comment.
    private static let httpOnly = "#HttpOnly_"

    private static func trimmed(_ text: String) -> String {
        // Tabs at an end are an empty field: only blanks and a byte order mark go.
        let scalars = text.unicodeScalars
        let blank: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\u{FEFF}" }
        let front = scalars.drop(while: blank)
        return String(String.UnicodeScalarView(front.reversed().drop(while: blank).reversed()))
    }

    /// Whether a cookie of a domain goes to a host (RFC 6265, 5.1.3); exporters do not agree on the leading dot.
    private static func covers(_ host: String, domain: String) -> Bool {
        let domain = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        if host == domain { return true }
        let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
        return !isAddress && domain.contains(".") && host.hasSuffix("." + domain)
    }
}

/// Cookies that prove a browser's check in front of a host: for half an hour, as a rule, and for one User-Agent; no value is in a
/// description of them.
package struct Clearance: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Each as `name=value`: for the request header and the session file, never for texts.
    package let cookies: [String]

    /// Cloudflare's.
    private static let names = ["cf_clearance", "__cf_bm"]
    /// Characters of one; those seen have up to 500.
    private static let longest = 2048

    /// Finds them in a cookies.txt or a line of cookies; nil if there are none that make sense.
    ///
    /// - Parameters:
    ///   - bytes: The whole text.
    ///   - host: Cookies of others are not taken.
    ///   - takesBare: Whether a line is enough, which does not tell whose cookies it holds.
    ///   - now: Unix seconds, for cookies that have run out.
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

    /// Those that a file of a session holds; nil if there are none, or the file is not to be used.
    package init?(at place: SessionPlace, host: String, now: Int64) {
        guard let bytes = try? SessionFile.content(of: place) else { return nil }
        self.init(in: bytes, host: host, takesBare: place.takesBare, now: now)
    }

    /// What a `Cookie` header has of them.
    package var header: String { cookies.joined(separator: "; ") }

    package var description: String { "the cookies of a browser's check" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
