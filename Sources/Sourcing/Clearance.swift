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
