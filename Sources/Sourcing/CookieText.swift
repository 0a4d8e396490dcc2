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
