package import Sourcing

/// Finds the session in text: a cookies.txt as browsers' extensions export it (Netscape format), or the bare cookie.
package enum SessionText {
    /// A text's session.
    ///
    /// - Parameters:
    ///   - bytes: The whole text.
    ///   - host: The API's host: cookies of others are not taken.
    ///   - takesBare: Whether a value alone is enough, which does not tell whose cookie it is.
    ///   - now: Unix seconds, for cookies that have run out.
    /// - Returns: The first that is valid.
    /// - Throws: why there is none.
    package static func cookie(
        in bytes: [UInt8], host: String, takesBare: Bool, now: Int64
    ) throws(SessionProblem) -> SessionCookie {
        guard bytes.count <= SessionFile.longest, !bytes.contains(0),
            let text = String(validating: bytes, as: UTF8.self)
        else {
            throw SessionProblem("is no cookie file; export the browser's cookies as cookies.txt")
        }
        let lines = text.unicodeScalars.split { $0 == "\n" || $0 == "\r" }
            .map { trimmed(String(String.UnicodeScalarView($0))) }
            .map { $0.hasPrefix(httpOnly) ? String($0.dropFirst(httpOnly.count)) : $0 }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
        if lines.contains(where: { $0.utf8.contains(9) }) { return try inJar(lines, host: host, now: now) }
        guard lines.count == 1 else {
            throw SessionProblem(
                lines.isEmpty
                    ? "holds no cookie; sign in with a browser and export its cookies as cookies.txt"
                    : "is no cookie file; export the browser's cookies as cookies.txt")
        }
        let cookie = try bare(lines[0])
        guard takesBare else {
            throw SessionProblem("does not tell whose cookie it is; use a cookies.txt that names \(host)")
        }
        return cookie
    }

    /// `PHPSESSID=…` or the value alone, as a person copies it, or all cookies of a request.
    package static func bare(_ text: String) throws(SessionProblem) -> SessionCookie {
        var value = trimmed(text)[...]
        if value.lowercased().hasPrefix("cookie: ") { value = value.dropFirst("cookie: ".count) }
        // A whole line of cookies as a browser sends it, three of which are of use.
        let fields = value.split(separator: ";").map { trimmed(String($0)) }
        var others = fields
        if let place = fields.firstIndex(where: { $0.hasPrefix("\(SessionCookie.name)=") }) {
            value = others.remove(at: place).dropFirst(SessionCookie.name.count + 1)
        } else if fields.count == 1 {
            value = fields[0][...]
            others = []
        }
        let found = SessionCookie(value).map { cookie in
            others.reduce(cookie) { cookie, field in
                let name = field.prefix { $0 != "=" }
                return cookie.adding(name, field.dropFirst(name.count + 1))
            }
        }
        guard let cookie = found else {
            throw SessionProblem(
                "is no session cookie: the \(SessionCookie.name) of a signed-in browser is a number, an underscore and "
                    + "letters and digits")
        }
        return cookie
    }

    /// Whether a word may be a cookie rather than the name of a file.
    package static func looksLikeCookie(_ word: String) -> Bool {
        word.uppercased().contains(SessionCookie.name + "=")
            || word.split(whereSeparator: { "=,;: \"'".contains($0) }).contains { SessionCookie($0) != nil }
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

    /// Domain, whether hosts below it too, path, secure, expiry, name, value; broken lines are passed over.
    private static func inJar(_ lines: [String], host: String, now: Int64) throws(SessionProblem) -> SessionCookie {
        var foundOtherHost = false
        var foundOld = false
        var foundVisitor = false
        let rows = lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false) }.filter { $0.count == 7 }
        let clearance = rows.filter { fields in
            let expiry = Int64(fields[4].prefix { $0 != "." }) ?? 0
            return covers(host, domain: fields[0].lowercased()) && (expiry <= 0 || expiry > now)
        }
        for fields in rows where fields[5] == SessionCookie.name {
            guard covers(host, domain: fields[0].lowercased()) else {
                foundOtherHost = true
                continue
            }
            // Some exporters write fractions; 0 and less is a cookie of the browser's own session.
            let expiry = Int64(fields[4].prefix { $0 != "." }) ?? 0
            if expiry > 0, expiry <= now {
                foundOld = true
            } else if let cookie = SessionCookie(fields[6]) {
                return clearance.reduce(cookie) { $0.adding($1[5], $1[6]) }
            } else {
                foundVisitor = true
            }
        }
        throw SessionProblem(
            foundVisitor
                ? "holds the cookie of a visitor who is not signed in; sign in with the browser and export again"
                : foundOld
                    ? "holds a session that has run out; sign in with the browser and export again"
                    : foundOtherHost
                        ? "holds no cookie of \(host), only of other hosts; export the cookies of \(host)"
                        : "holds no \(SessionCookie.name) cookie; export the cookies of \(host)")
    }

    /// Whether a cookie of a domain goes to a host (RFC 6265, 5.1.3); exporters do not agree on the leading dot.
    private static func covers(_ host: String, domain: String) -> Bool {
        let domain = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        if host == domain { return true }
        let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
        return !isAddress && domain.contains(".") && host.hasSuffix("." + domain)
    }
}
