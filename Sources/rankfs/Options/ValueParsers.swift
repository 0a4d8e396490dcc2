import Rankings

/// Parsers of option values: pure functions from text to a value within bounds.
///
/// They throw `.notTaken` with the expected form as the end of a sentence: "a size such as 50M or 2G".
enum ValueParsers {
    /// The parser of a text.
    typealias Parser<Value> = @Sendable (String) throws(Failure) -> Value

    /// A size in bytes: digits and one of K, M, G, T (powers of 1024), also written `MB` or `MiB`.
    static func size(in bounds: ClosedRange<Int64>) -> Parser<Int64> {
        { text throws(Failure) in
            let digits = text.prefix { $0.isASCII && $0.isNumber }
            if let number = Int64(digits), let factor = factor(ofUnit: text.dropFirst(digits.count)),
                case (let product, false) = number.multipliedReportingOverflow(by: factor), bounds.contains(product)
            {
                return product
            }
            let (least, most) = (SizeText.text(bounds.lowerBound), SizeText.text(bounds.upperBound))
            throw .notTaken("a size such as 50M or 2G, from \(least) to \(most)")
        }
    }

    private static func factor(ofUnit unit: Substring) -> Int64? {
        switch unit.lowercased() {
        case "", "b": 1
        case "k", "kb", "kib": 1 << 10
        case "m", "mb", "mib": 1 << 20
        case "g", "gb", "gib": 1 << 30
        case "t", "tb", "tib": 1 << 40
        default: nil
        }
    }

    /// A duration in seconds, with an optional fraction and an optional trailing `s`.
    static func seconds(in bounds: ClosedRange<Int>) -> Parser<Duration> {
        { text throws(Failure) in
            guard let value = decimal(text.hasSuffix("s") ? text.dropLast() : text[...]),
                (Double(bounds.lowerBound)...Double(bounds.upperBound)).contains(value)
            else { throw .notTaken("a number of seconds from \(bounds.lowerBound) to \(bounds.upperBound)") }
            return .milliseconds(Int64(value * 1000))
        }
    }

    /// Requests a second: a decimal number.
    static func rate(in bounds: ClosedRange<Double>) -> Parser<Double?> {
        { text throws(Failure) in
            guard let value = decimal(text[...]), bounds.contains(value) else {
                throw .notTaken("a number of requests a second from \(bounds.lowerBound) to \(bounds.upperBound)")
            }
            return value
        }
    }

    /// Plain decimals only: `Double.init` alone would also accept `nan`, `0x1p3` and `1e9`.
    private static func decimal(_ text: Substring) -> Double? {
        text.utf8.allSatisfy { $0.isDigit || $0 == 46 } ? Double(text) : nil
    }

    /// A whole number: digits only.
    static func integer(in bounds: ClosedRange<Int>) -> Parser<Int> {
        { text throws(Failure) in
            guard text.utf8.allSatisfy({ $0.isDigit }), let value = Int(text), bounds.contains(value) else {
                throw .notTaken("a whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
            }
            return value
        }
    }

    /// One word of a list.
    static func word<Value>(_ text: String, of choices: [(String, Value)]) throws(Failure) -> Value {
        guard let choice = choices.first(where: { $0.0 == text }) else {
            throw .notTaken("one of " + choices.map(\.0).joined(separator: ", "))
        }
        return choice.1
    }

    /// An absolute path; a leading `~/` stands for the home directory, any other relative path starts from `directory`.
    static func path(_ text: String, relativeTo directory: String?, home: String?) throws(Failure) -> String {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 32 && $0 != 127 }) else {
            throw .notTaken(text.isEmpty ? "a path, for this is empty" : "a path without control characters")
        }
        if text.hasPrefix("/") { return text }
        if text.hasPrefix("~/"), let home { return home + text.dropFirst() }
        guard let directory else { throw .notTaken("an absolute path") }
        return directory == "/" ? "/" + text : directory + "/" + text
    }

    /// A line of text that goes into a request header.
    @Sendable static func headerText(_ text: String) throws(Failure) -> String? {
        guard !text.isEmpty, text.utf8.count <= 256, text.utf8.allSatisfy({ (32...126).contains($0) }) else {
            throw .notTaken("1 to 256 printable ASCII characters")
        }
        return text
    }

    /// Tags separated by blanks or semicolons; a leading `-` marks a refused tag; `none` stands for no tags.
    static func tags(_ text: String) throws(Failure) -> (wanted: [String], refused: [String]) {
        if text == "none" { return ([], []) }
        // By scalars: a tag may begin with one that joins what stands before it.
        let words = text.unicodeScalars.split { $0 == " " || $0 == ";" || $0 == "\t" }
        let refused = words.filter { $0.first == "-" }.map { String($0.dropFirst()) }
        let wanted = words.filter { $0.first != "-" }.map { String($0) }
        guard !words.isEmpty, !refused.contains("") else {
            throw .notTaken("tags with blanks between them such as \"landscape -sketch\"")
        }
        return (wanted, refused)
    }
}

// MARK: - Origin URL

/// An `http` or `https` URL that a user names: scheme, host, port and a path prefix; nothing else.
struct OriginURL: Hashable, Sendable {
    /// Without a trailing slash.
    let text: String
    /// `http://127.0.0.1:8080`: scheme and authority in lower case.
    let origin: String
    /// Host and port, for naming a cache directory.
    let authority: String
    /// What the names of files for a custom origin end with.
    var suffix: String { "-" + authority.map { $0 == ":" ? "_" : $0 } }
    /// The host alone, without a port or an address's brackets.
    var host: String {
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }

    /// Whether the host is an address, of either version, and no name.
    var isAddress: Bool { authority.hasPrefix("[") || host.allSatisfy { $0.isNumber || $0 == "." } }

    /// Whether the host is this machine, so that nobody is on the way to it.
    var isLoopback: Bool { ["localhost", "::1"].contains(host) || isAddress && host.hasPrefix("127.") }

    /// The path, without a trailing slash; empty for the origin itself.
    var path: Substring { text.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" } }

    /// Whether the text contains a user name, and so perhaps a password.
    let hasUserInfo: Bool

    /// - Throws: The expected form; the text itself is never repeated, because it may contain a password.
    init(_ text: String, schemes: [String] = ["http", "https"]) throws(Failure) {
        let expected = Failure.notTaken("a URL such as \(schemes[0])://127.0.0.1:8080, without query or fragment")
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
        guard port.hasPrefix(":"), port.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }),
            let number = Int(port.dropFirst())
        else { return false }
        return (1...65535).contains(number)
    }
}
