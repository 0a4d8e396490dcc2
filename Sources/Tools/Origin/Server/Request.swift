/// A request as the routes see it.
struct Request: Sendable {
    let method: String
    /// As it came, with the query.
    let target: String
    let path: String
    /// The parts of the path between slashes, each percent-decoded: one may hold a slash itself.
    let segments: [String]
    /// Names and values, percent-decoded, in order; a name may come more than once.
    let query: [(name: String, value: String)]
    let referer: String?
    let range: String?
    let ifRange: String?
    let userAgent: String?
    let host: String?
    let ifNoneMatch: String?
    let ifModifiedSince: String?
    /// What the cookie PHPSESSID holds: a secret, never to be logged.
    let session: String?
    /// All cookies: secrets too.
    let cookies: String?
    let body: [UInt8]

    init(
        method: String, target: String, referer: String? = nil, range: String? = nil, ifRange: String? = nil,
        userAgent: String? = nil, host: String? = nil, ifNoneMatch: String? = nil, ifModifiedSince: String? = nil,
        session: String? = nil, cookies: String? = nil, body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.referer = referer
        self.range = range
        self.ifRange = ifRange
        self.userAgent = userAgent
        self.host = host
        self.ifNoneMatch = ifNoneMatch
        self.ifModifiedSince = ifModifiedSince
        self.session = session
        self.cookies = cookies
        self.body = body
        let mark = target.firstIndex(of: "?")
        let encoded = target[..<(mark ?? target.endIndex)]
        path = Self.decoded(encoded)
        segments = encoded.split(separator: "/" as Character).map(Self.decoded)
        query = mark.map { Self.pairs(target[target.index(after: $0)...]) } ?? []
    }

    /// The first value of a name.
    func value(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// All values of a name.
    func values(_ name: String) -> [String] {
        query.filter { $0.name == name }.map(\.value)
    }

    /// The first value of a name, in which a plus stands for a blank, as in forms (HTML, 4.10.21.8).
    func form(_ name: String) -> String? {
        guard let mark = target.firstIndex(of: "?") else { return nil }
        let blanks = String(target[target.index(after: mark)...].map { $0 == "+" ? " " : $0 })
        return Self.pairs(blanks[...]).first { $0.name == name }?.value
    }

    private static func pairs(_ text: Substring) -> [(name: String, value: String)] {
        text.split(separator: "&" as Character).map { pair in
            let sign = pair.firstIndex(of: "=") ?? pair.endIndex
            return (decoded(pair[..<sign]), decoded(pair[sign...].dropFirst()))
        }
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, let code = UInt8(rest.prefix(2).text, radix: 16) {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Substring.UTF8View {
    fileprivate var text: String {
        String(decoding: self, as: UTF8.self)
    }
}
