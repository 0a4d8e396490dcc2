package import Rankings
import Sourcing

/// The cookie of a signed-in user, `PHPSESSID=<user id>_<secret>`; its value is in no description of it.
package struct SessionCookie: SourceSession, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The cookie's name on the wire.
    static let name = "PHPSESSID"
    /// Characters of a value; those seen have about 45.
    private static let longest = 256
    /// Characters behind the user's number; those seen have 32, and no name of a file should be taken for one by chance.
    private static let shortestSecret = 8

    /// Whose session it is: the part before the underscore, as gallery-dl takes it.
    package let user: UserID
    /// For the request header and the session file, never for texts.
    let value: String
    /// Nil for what a signed-in user's cookie never looks like; visitors have one without a user's number.
    package init?(_ text: some StringProtocol) {
        let value = String(text)
        guard value.utf8.count <= Self.longest, let underscore = value.firstIndex(of: "_") else { return nil }
        let digits = value[..<underscore].utf8
        let secret = value[value.index(after: underscore)...].utf8
        guard digits.allSatisfy({ (48...57).contains($0) }), let number = Int64(Substring(digits)), number > 0,
            secret.count >= Self.shortestSecret, secret.allSatisfy(CookieText.isAllowed)
        else { return nil }
        self.value = value
        user = UserID(rawValue: number)
    }

    package var line: String { "\(Self.name)=\(value)" }

    /// The request header that carries it.
    var header: String { "Cookie: \(line)" }

    package var description: String { "the session of user \(user.rawValue)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}

extension SessionCookie {
    /// The session that a file holds.
    static func read(_ place: SessionPlace, host: String, now: Int64) throws(SessionProblem) -> SessionCookie {
        try SessionText.cookie(
            in: try SessionFile.content(of: place), host: host, takesBare: place.takesBare, now: now)
    }
}
