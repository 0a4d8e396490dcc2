/// One thing that an answer's headers say.
package enum Field<Value: Hashable & Sendable>: Hashable, Sendable {
    case absent
    case fact(Value)
    /// It is malformed, or does not agree with the rest of the answer: why, as a sentence without its stop.
    case contradiction(String)

    /// The fact; nil if there is none.
    package var value: Value? {
        if case .fact(let value) = self { value } else { nil }
    }
}

/// Status line and headers of an answer, parsed once and here alone: all other code reads facts.
///
/// A contradiction is a fact about the answer, not an error: `AnswerCheck` refuses it on the way from the network.
package struct HTTPAnswer: Sendable {
    /// The meaning of the status for a request of a body or a part of it (RFC 9110 section 15).
    package enum Outcome: Hashable, Sendable {
        /// The whole body.
        case whole
        /// A part of it.
        case part
        /// The part that was asked for lies behind the end.
        case beyondTheEnd
        /// There is no such body.
        case gone
        /// 401 or 403.
        case refused
        /// 429; `RequestQueue` obeys what the host asks for.
        case limited
        /// 5xx: may be better in a moment.
        case troubled
        /// Any other status.
        case unexpected
    }

    package let status: Int
    /// The protocol's version as the status line has it, `1.1` or `2`; empty where an answer is made up.
    package let version: String
    /// The family of the address that answered; nil behind a proxy and where an answer is made up.
    package var family: AddressFamily?
    /// Bytes of the body on the wire (RFC 9110 section 8.6; one list of equal numbers is allowed by RFC 9112 section 6.3).
    ///
    /// Two lengths, one beside `Transfer-Encoding`, and one that is not that of the part are contradictions.
    package let length: Field<Int64>
    /// The bytes of the whole that a 206 brings (RFC 9110 section 14.4).
    package let part: Field<Range<Int64>>
    /// Bytes of the whole, as a 206 tells them beside its part, or a 416 in place of one; nil for `*`.
    package let total: Int64?
    /// The media type with its parameters, as it came.
    package let contentType: String?
    /// The codings of the body in lower case, without `identity` (RFC 9110 section 8.4).
    package let codings: [String]
    /// The entity tag, weak with `W/` or strong (RFC 9110 section 8.8.3).
    package let etag: String?
    /// An HTTP date (RFC 9110 section 8.8.2).
    package let lastModified: String?
    package let retryAfter: Field<RetryAfter>
    /// When the answer was made, by the server's clock, in Unix seconds (RFC 9110 section 6.6.1).
    package let date: Int64?
    private let headers: [(name: String, value: String)]

    /// Parses the headers of one answer.
    ///
    /// - Parameters:
    ///   - status: The status of the final answer.
    ///   - headers: Names in lower case and values without blanks around them, in the order received.
    ///   - version: The protocol's version.
    package init(status: Int, headers: [(name: String, value: String)], version: String = "") {
        func values(_ name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }
        func first(_ name: String) -> String? { headers.first { $0.name == name }?.value }
        self.status = status
        self.version = version
        self.headers = headers
        (part, total) = Self.part(Set(values("content-range")), status: status)
        length = Self.length(
            Self.elements(values("content-length")), isChunked: first("transfer-encoding") != nil, part: part.value)
        contentType = first("content-type")
        codings = Self.elements(values("content-encoding")).map { $0.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        etag = first("etag")
        lastModified = first("last-modified")
        retryAfter =
            first("retry-after").map { RetryAfter($0).map(Field.fact) ?? .contradiction("the pause is no time") }
            ?? .absent
        date = first("date").flatMap { HTTPDate.seconds(from: $0) }
    }

    /// The first header of this lower-case name, for those that are a service's own.
    package subscript(name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    package var outcome: Outcome {
        switch status {
        case 200: .whole
        case 206: .part
        case 416: .beyondTheEnd
        case 404, 410: .gone
        case 401, 403: .refused
        case 429: .limited
        case 500...599: .troubled
        default: .unexpected
        }
    }

    /// The media type in lower case, without parameters (RFC 9110 section 8.3.1).
    package var mediaType: String? {
        contentType.map { type in String(type.lowercased().prefix { $0 != ";" && $0 != " " }) }
    }

    /// Whether the body is said to be text of any kind.
    package var isText: Bool { mediaType?.hasPrefix("text/") == true }

    /// What names this version in `If-Range`: a strong entity tag, else the date (RFC 9110 section 13.1.5).
    package var validator: String? { etag.flatMap { $0.hasPrefix("\"") ? $0 : nil } ?? lastModified }

    /// When it was sent, by the server's clock, in Unix seconds: its date and the time that a cache has kept it (RFC 9111 section 5.1).
    package var sent: Int64? {
        let kept = self["age"].flatMap { Int64($0) }.map { min(max($0, 0), Self.longestKept) } ?? 0
        return date.map { $0 + kept }
    }

    /// For how many seconds this version has been there, by the server's clock, so that nobody else's matters.
    package var age: Int64? {
        guard let sent, let modified = lastModified.flatMap({ HTTPDate.seconds(from: $0) }) else { return nil }
        return max(0, sent - modified)
    }

    /// Seconds for which it asks to be left alone, counted by its own date if it has one, else from `now` in Unix seconds.
    ///
    /// Nil if it asks for none that can be understood.
    package func pause(now: Int64) -> Int64? { retryAfter.value?.wait(from: date ?? now) }

    /// Seconds for which a cache keeps anything: a thousand years.
    private static let longestKept: Int64 = 31_556_952_000

    /// Where the answer leads (RFC 9110 section 15.4); nil if it is no redirect.
    var redirect: String? { [301, 302, 303, 307, 308].contains(status) ? self["location"] : nil }

    // MARK: - Grammar

    /// The elements of a list, without blanks around them (RFC 9110 section 5.6.1).
    private static func elements(_ values: [String]) -> [String] {
        values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            .map { $0.split(whereSeparator: { " \t".contains($0) }).joined(separator: " ") }
    }

    private static func length(_ texts: [String], isChunked: Bool, part: Range<Int64>?) -> Field<Int64> {
        let lengths = Set(texts.map(count))
        guard let first = lengths.first else { return .absent }
        guard let length = first, !lengths.contains(nil) else { return .contradiction("the length is not a number") }
        guard lengths.count == 1, !isChunked else { return .contradiction("two lengths contradict each other") }
        guard part.map({ Int64($0.count) == length }) ?? true else {
            return .contradiction("the part's length contradicts its range")
        }
        return .fact(length)
    }

    /// `bytes 0-99/1000` or `bytes 0-99/*` of a 206, `bytes */1000` of a 416; the unit's name in any case (RFC 9110 section 14.1).
    private static func part(_ texts: Set<String>, status: Int) -> (part: Field<Range<Int64>>, total: Int64?) {
        guard [206, 416].contains(status), let text = texts.first else { return (.absent, nil) }
        let wrong = Field<Range<Int64>>.contradiction("the part is malformed")
        let halves = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard texts.count == 1, text.lowercased().hasPrefix("bytes "), halves.count == 2 else { return (wrong, nil) }
        let total = count(halves[1])
        if status == 416 { return halves[0] == "*" ? (.absent, total) : (wrong, nil) }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard total != nil || halves[1] == "*", ends.count == 2, let first = count(ends[0]), let last = count(ends[1]),
            first <= last, last < total ?? .max
        else { return (wrong, nil) }
        return (.fact(first..<last + 1), total)
    }

    /// A number of bytes: digits alone.
    private static func count(_ digits: some StringProtocol) -> Int64? {
        // Int64 takes a sign, too.
        digits.first.map { ("0"..."9").contains($0) } == true ? Int64(digits) : nil
    }
}
