package import Rankings
import Sourcing
import System

/// Finds the session in a text: a cookies.txt as exported by browser extensions (Netscape format), or the bare cookie.
package enum SessionText {
    /// Returns the session in a text.
    ///
    /// - Parameters:
    ///   - bytes: The whole text.
    ///   - host: The API's host; cookies of other hosts are ignored.
    ///   - takesBare: Whether a bare value is accepted, which does not name its host.
    ///   - now: The current time in Unix seconds, for cookies that have run out.
    /// - Returns: The first valid session.
    /// - Throws: The reason why there is none.
    package static func cookie(
        in bytes: [UInt8], host: String, takesBare: Bool, now: Int64
    ) throws(Failure) -> SessionCookie {
        guard let lines = CookieText.lines(of: bytes) else {
            throw .unusable("is no cookie file; export the browser's cookies as cookies.txt")
        }
        if let jar = CookieText.jar(lines, host: host, now: now) { return try session(in: jar, host: host) }
        guard lines.count == 1 else {
            throw .unusable(
                lines.isEmpty
                    ? "holds no cookie; sign in with a browser and export its cookies as cookies.txt"
                    : "is no cookie file; export the browser's cookies as cookies.txt")
        }
        let cookie = try bare(lines[0])
        guard takesBare else {
            throw .unusable("does not tell whose cookie it is; use a cookies.txt that names \(host)")
        }
        return cookie
    }

    /// Reads `PHPSESSID=…`, the value alone, as a person copies it, or all cookies of a request.
    package static func bare(_ text: String) throws(Failure) -> SessionCookie {
        let fields = CookieText.fields(of: text)
        let named = fields.first { $0.hasPrefix("\(SessionCookie.name)=") }?.dropFirst(SessionCookie.name.count + 1)
        let found = (named ?? (fields.count == 1 ? fields[0][...] : nil)).flatMap { SessionCookie($0) }
        guard let cookie = found else {
            throw .unusable(
                "is no session cookie: the \(SessionCookie.name) of a signed-in browser is a number, an underscore and "
                    + "letters and digits")
        }
        return cookie
    }

    /// The fewest letters and digits after the user's number that no name of a file or a tag has; those seen have 32.
    private static let shortestEvident = 16

    /// Whether a word may be a cookie rather than the name of a file.
    package static func looksLikeCookie(_ word: String) -> Bool {
        word.uppercased().contains(SessionCookie.name + "=")
            || word.split(whereSeparator: { "=,;: \"'\t\u{FEFF}".contains($0) }).contains { part in
                let secret = part.utf8.drop { $0.isDigit }.dropFirst()
                return SessionCookie(part) != nil && secret.count >= shortestEvident
                    && secret.allSatisfy { $0.isDigit || $0.isLetter }
            }
    }

    /// The first session of a host that has not run out.
    private static func session(in jar: [CookieText.Cookie], host: String) throws(Failure) -> SessionCookie {
        let sessions = jar.filter { $0.name == SessionCookie.name }
        let own = sessions.filter(\.isOfHost)
        let present = own.filter { !$0.hasExpired }
        if let cookie = present.lazy.compactMap({ SessionCookie($0.value) }).first { return cookie }
        throw .unusable(
            !present.isEmpty
                ? "holds the cookie of a visitor who is not signed in; sign in with the browser and export again"
                : !own.isEmpty
                    ? "holds a session that has run out; sign in with the browser and export again"
                    : !sessions.isEmpty
                        ? "holds no cookie of \(host), only of other hosts; export the cookies of \(host)"
                        : "holds no \(SessionCookie.name) cookie; export the cookies of \(host)")
    }
}

// MARK: - Session cookie

/// The cookie of a signed-in user, `PHPSESSID=<user id>_<secret>`; no description of it contains the value.
package struct SessionCookie: SourceSession, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The cookie's name on the wire.
    static let name = "PHPSESSID"
    /// The most characters of a value; those seen have about 45.
    private static let longest = 256
    /// The fewest characters after the user's number; those seen have 32.
    ///
    /// The bound keeps file names from passing as cookies by chance.
    private static let shortestSecret = 8

    /// The user of the session: the part before the underscore, as gallery-dl reads it.
    package let user: UserID
    /// The value for the request header and the session file, never for texts.
    let value: String
    /// Reads a value; nil for a form that no signed-in user's cookie has.
    ///
    /// Visitors have a cookie without a user's number.
    package init?(_ text: some StringProtocol) {
        let value = String(text)
        guard value.utf8.count <= Self.longest, let underscore = value.firstIndex(of: "_") else { return nil }
        let digits = value[..<underscore].utf8
        let secret = value[value.index(after: underscore)...].utf8
        guard digits.allSatisfy({ $0.isDigit }), let number = Int64(Substring(digits)), number > 0,
            secret.count >= Self.shortestSecret, secret.allSatisfy(CookieText.isAllowed)
        else { return nil }
        self.value = value
        user = UserID(rawValue: number)
    }

    package var line: String { "\(Self.name)=\(value)" }

    /// The request header that carries the cookie.
    var header: String { "Cookie: \(line)" }

    package var description: String { "the session of user \(user.rawValue)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}

extension SessionCookie {
    /// Reads the session from a file.
    static func read(_ place: SessionPlace, host: String, now: Int64) throws(Failure) -> SessionCookie {
        try SessionText.cookie(
            in: try SessionFile.content(of: place), host: host, takesBare: place.takesBare, now: now)
    }
}
