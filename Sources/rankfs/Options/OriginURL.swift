/// An `http` or `https` URL that a user names: scheme, host, port and a path prefix; nothing else.
struct OriginURL: Hashable, Sendable {
    /// Without a trailing slash.
    let text: String
    /// `http://127.0.0.1:8080`: scheme and authority in lower case.
    let origin: String
    /// Host and port, for naming a cache directory.
    let authority: String
    /// The host alone, without a port and an address's brackets.
    var host: String {
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }

    /// Whether the text names a user, and so perhaps a password.
    let hasUserInfo: Bool

    /// - Throws: what was expected instead; the text itself is never repeated, because it may hold a password.
    init(_ text: String, schemes: [String] = ["http", "https"]) throws(ExpectedValue) {
        let expected = ExpectedValue("a URL such as \(schemes[0])://127.0.0.1:8080, without query or fragment")
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ (33...126).contains($0) }),
            !text.contains(where: { "?#\\\"<>".contains($0) }),
            let scheme = schemes.first(where: { text.lowercased().hasPrefix($0 + "://") })
        else { throw expected }
        let rest = text.dropFirst(scheme.count + 3)
        let authorityAndUser = rest.prefix { $0 != "/" }
        let authority = authorityAndUser.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        guard Self.isAuthority(authority) else { throw expected }
        let path = rest.dropFirst(authorityAndUser.count)
        let trimmed = path.reversed().drop { $0 == "/" }.reversed()
        self.text = "\(scheme)://\(authorityAndUser)" + String(trimmed)
        self.authority = authority.lowercased()
        origin = "\(scheme)://\(authority.lowercased())"
        hasUserInfo = authorityAndUser.contains("@")
    }

    /// Longer URLs are mistakes.
    private static let longest = 1024

    /// `name`, `name:port`, `[address]` or `[address]:port`.
    private static func isAuthority(_ text: Substring) -> Bool {
        let host: Substring
        let port: Substring
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            host = text[text.index(after: text.startIndex)..<end]
            port = text[text.index(after: end)...]
            guard host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return false }
        } else {
            host = text.prefix { $0 != ":" }
            port = text.dropFirst(host.count)
            guard host.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" || $0 == "." || $0 == "_" }) else {
                return false
            }
        }
        guard !host.isEmpty else { return false }
        if port.isEmpty { return true }
        guard port.hasPrefix(":"), let number = Int(port.dropFirst()) else { return false }
        return (1...65535).contains(number)
    }
}
