/// A parsed request.
struct Request: Sendable {
    let method: String
    /// The request target as received, with the query.
    let target: String
    /// The path without the query, percent-decoded.
    let path: String
    /// The parts of the path between slashes, each percent-decoded: a part may contain a slash.
    let segments: [String]
    /// The names and values of the query, percent-decoded, in order; a name may occur more than once.
    let query: [(name: String, value: String)]
    /// The headers by names in lower case; cookies are secrets and are never logged.
    private(set) var headers: [String: String]
    /// Whether the request is of HTTP/1.1, in which bodies may be chunked.
    var isCurrent = true
    var body: [UInt8] = []

    init(method: String = "GET", target: String, headers: [String: String] = [:]) {
        self.method = method
        self.target = target
        self.headers = headers
        let parts = target.split(separator: "?" as Character, maxSplits: 1, omittingEmptySubsequences: false)
        path = Self.decoded(parts[0])
        segments = parts[0].split(separator: "/" as Character).map(Self.decoded)
        query = parts.count > 1 ? Self.pairs(parts[1]) : []
    }

    /// Parses the lines before the blank one (RFC 9112, sections 3 and 5); nil if they are no request.
    init?(head: some Collection<UInt8>) {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n" as Character)
        let first = lines.first?.split(separator: " " as Character) ?? []
        guard first.count == 3, first[2].hasPrefix("HTTP/1."), first[1].hasPrefix("/") else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers[line[..<colon].lowercased()] = String(value)
        }
        self.init(method: String(first[0]), target: String(first[1]), headers: headers)
        isCurrent = first[2] != "HTTP/1.0"
    }

    /// The value of a header; the name is in lower case.
    subscript(header: String) -> String? { headers[header] }

    /// Whether the connection stays open for the next request.
    var isPersistent: Bool { isCurrent && self["connection"]?.lowercased() != "close" }

    /// The same request without its range: for the whole picture.
    var withoutRange: Request {
        var request = self
        request.headers["range"] = nil
        request.headers["if-range"] = nil
        return request
    }

    /// The value of a cookie (RFC 6265, section 4.2.1).
    func cookie(_ name: String) -> String? {
        for pair in (self["cookie"] ?? "").split(separator: ";" as Character) {
            let pair = pair.drop { $0 == " " }
            if pair.hasPrefix("\(name)=") { return String(pair.dropFirst(name.count + 1)) }
        }
        return nil
    }

    /// The first value of a name in the query.
    func value(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// The first value of a name in the query, as a number.
    func number(_ name: String) -> Int? {
        value(name).flatMap { Int($0) }
    }

    /// The first value of a name in the query, with a plus read as a blank, as in forms (HTML, 4.10.21.8).
    func form(_ name: String) -> String? {
        guard let mark = target.firstIndex(of: "?") else { return nil }
        let blanks = String(target[target.index(after: mark)...].map { $0 == "+" ? " " : $0 })
        return Self.pairs(blanks[...]).first { $0.name == name }?.value
    }

    /// Whether the target contains a text, byte for byte.
    func contains(_ part: String) -> Bool {
        part.isEmpty || Array(target.utf8).firstRange(of: Array(part.utf8)) != nil
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
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let code = UInt8(digits, radix: 16) {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
