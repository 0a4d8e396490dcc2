package import Rankings
import Sourcing

/// The cookie of a signed-in user, `PHPSESSID=<user id>_<secret>`, with what a browser's check left beside it; no value is in
/// a description of it.
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
    /// Cookies that prove a check in front of the service, as `name=value`: for half an hour, as a rule, and for one User-Agent.
    private(set) var clearance: [String] = []

    /// The names of such cookies, Cloudflare's.
    static let clearanceNames = ["cf_clearance", "__cf_bm"]
    /// Characters of one; those seen have up to 500.
    private static let longestClearance = 2048

    /// Nil for what a signed-in user's cookie never looks like; visitors have one without a user's number.
    package init?(_ text: some StringProtocol) {
        let value = String(text)
        guard value.utf8.count <= Self.longest, let underscore = value.firstIndex(of: "_") else { return nil }
        let digits = value[..<underscore].utf8
        let secret = value[value.index(after: underscore)...].utf8
        guard digits.allSatisfy({ (48...57).contains($0) }), let number = Int64(Substring(digits)), number > 0,
            secret.count >= Self.shortestSecret, secret.allSatisfy(Self.isAllowed)
        else { return nil }
        self.value = value
        user = UserID(rawValue: number)
    }

    /// Letters, digits and what URLs leave as it is: nothing that could end a header line or a cookie.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        default: "-_.~%".utf8.contains(byte)
        }
    }

    /// The same with a cookie of a check beside it; one that makes no sense is left out.
    func adding(_ name: some StringProtocol, _ text: some StringProtocol) -> SessionCookie {
        guard Self.clearanceNames.contains(String(name)), !text.isEmpty, text.utf8.count <= Self.longestClearance,
            text.utf8.allSatisfy({ Self.isAllowed($0) || $0 == UInt8(ascii: "=") }),
            !clearance.contains(where: { $0.hasPrefix(name + "=") })
        else { return self }
        var cookie = self
        cookie.clearance.append("\(name)=\(text)")
        return cookie
    }

    /// The same without what a check left.
    var withoutClearance: SessionCookie {
        var cookie = self
        cookie.clearance = []
        return cookie
    }

    package var line: String {
        clearance.isEmpty ? value : (["\(Self.name)=\(value)"] + clearance).joined(separator: "; ")
    }

    /// The request header that carries it.
    var header: String { "Cookie: " + (["\(Self.name)=\(value)"] + clearance).joined(separator: "; ") }

    /// The request header that carries what a check left and nothing of the user; nil for nothing.
    var clearanceHeader: String? { clearance.isEmpty ? nil : "Cookie: " + clearance.joined(separator: "; ") }

    /// Two are the same session whatever came with them.
    package static func == (left: SessionCookie, right: SessionCookie) -> Bool { left.value == right.value }

    package func hash(into hasher: inout Hasher) { hasher.combine(value) }

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
