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

/// A whole answer.
package struct HTTPResponse: Sendable {
    package var head: HTTPAnswer
    package var body: [UInt8]

    package init(head: HTTPAnswer, body: [UInt8]) {
        self.head = head
        self.body = body
    }
}

// MARK: - Times

/// The value of `Retry-After`: seconds or a date (RFC 9110 section 10.2.3).
package enum RetryAfter: Hashable, Sendable {
    case seconds(Int64)
    /// In Unix seconds.
    case date(Int64)

    /// The longest wait taken from a server, in seconds: one hour, because a larger number is more often a mistake than a wish.
    package static let longest: Int64 = 3_600

    /// Parses a value; nil if it is neither a number nor a date.
    init?(_ text: String) {
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // Too many digits for a number is still "very long".
            self = .seconds(Int64(text) ?? Self.longest)
        } else if let date = HTTPDate.seconds(from: text) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// Whole seconds to wait from `now`, in Unix seconds, between 0 and `longest`; a date in the past is 0.
    func wait(from now: Int64) -> Int64 {
        switch self {
        case .seconds(let seconds): return min(seconds, Self.longest)
        case .date(let date):
            let (left, overflows) = date.subtractingReportingOverflow(now)
            return overflows ? Self.longest : min(max(left, 0), Self.longest)
        }
    }
}

/// Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
package enum HTTPDate {
    /// Unix seconds of an IMF-fixdate, or nil for any other text.
    ///
    /// Only the preferred form is read: no server of today writes the two obsolete ones. The name of the weekday is not
    /// compared with the date, since a wrong one does no harm. A 60th second (leap) counts as the next minute's first.
    package static func seconds(from text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[4] == space, bytes[7] == space,
            bytes[11] == space, bytes[16] == space, bytes[19] == colon, bytes[22] == colon,
            bytes[25...].elementsEqual(" GMT".utf8), weekdays.contains(String(text.prefix(3))),
            let day = number(bytes[5..<7]), let month = month(bytes[8..<11]), let year = number(bytes[12..<16]),
            let hour = number(bytes[17..<19]), let minute = number(bytes[20..<22]),
            let second = number(bytes[23..<25]),
            day >= 1, day <= length(ofMonth: month, year: year), hour < 24, minute < 60, second <= 60
        else { return nil }
        return daysSinceEpoch(year: year, month: month, day: day) * 86_400 + hour * 3_600 + minute * 60 + second
    }

    private static let space = UInt8(ascii: " ")
    private static let colon = UInt8(ascii: ":")
    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        var value: Int64 = 0
        for digit in digits {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return value
    }

    private static func month(_ name: ArraySlice<UInt8>) -> Int64? {
        months.firstIndex { $0.utf8.elementsEqual(name) }.map { Int64($0) + 1 }
    }

    private static func length(ofMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1970-01-01 in the Gregorian calendar, counting years from March so that the leap day comes last.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }
}

// MARK: - As it comes

/// Takes the lines of one answer's head, and holds head and body against what was asked for.
///
/// libcurl reports success for several answers that contradict themselves (two lengths, an unasked encoding, a range that
/// was not asked for), so every answer passes here before a sink sees a byte. Pure: lines and counts in, events out.
struct AnswerCheck {
    /// All header lines of one answer together, in bytes: many times what a server sends, and a bound on memory.
    static let headerBytesLimit = 64 * 1024
    /// Header lines of one answer, interim answers and trailers included.
    static let headerLinesLimit = 200
    /// Bytes that are read of the body of an error: more than any service has to say about one.
    static let errorBodyLimit: Int64 = 64 * 1024

    /// What a header line completed.
    enum Event {
        case none
        /// The final head, checked; the body follows.
        case head(HTTPAnswer)
        /// A redirect; its body is of no interest.
        case redirect(location: String)
    }

    private enum Phase {
        case status
        case headers(status: Int)
        case body
    }

    private let method: HTTPRequest.Method
    private let range: (first: Int64, last: Int64?)?
    private let bodyLimit: Int64
    private let acceptsCompression: Bool
    private let host: String
    private let followsRedirects: Bool

    private var phase = Phase.status
    /// Of the protocol, as the last status line has it.
    private var version = ""
    private var headers: [(name: String, value: String)] = []
    private var headerBytes = 0
    private var headerLines = 0
    /// Bytes that the headers promise, before any decoding; nil if they do not tell.
    private var promised: Int64?
    private var isEncoded = false
    private var received: Int64 = 0
    private var isError = false

    init(_ request: HTTPRequest, host: String) {
        method = request.method
        range = request.range
        bodyLimit = request.bodyLimit
        acceptsCompression = request.acceptsCompression
        followsRedirects = request.followsRedirects
        self.host = host
    }

    /// Whether the head is complete.
    var headSeen: Bool {
        if case .body = phase { true } else { false }
    }

    /// Takes one header line as received, line end included.
    mutating func line(_ raw: some BidirectionalCollection<UInt8>) throws(HTTPError) -> Event {
        headerBytes += raw.count
        headerLines += 1
        guard headerBytes <= Self.headerBytesLimit, headerLines <= Self.headerLinesLimit else {
            throw invalid("the headers are longer than any real answer's")
        }
        // What libcurl had when the connection ended is no line.
        guard raw.last == UInt8(ascii: "\n") else { throw cutOff }
        let line = raw.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        switch phase {
        case .status:
            phase = .headers(status: try status(line))
            headers = []
            return .none
        case .headers(let status):
            if !line.isEmpty {
                headers.append(try header(line))
                return .none
            }
            if (100..<200).contains(status) {
                guard status != 101 else { throw invalid("the server switches protocols unasked") }
                phase = .status
                return .none
            }
            return try headEnded(status)
        case .body:
            // Trailers of a chunked body: counted above, of no use.
            return .none
        }
    }

    /// Counts bytes of the body, after decoding; false for those that are not worth reading, behind the beginning of an error's.
    mutating func body(_ count: Int) throws(HTTPError) -> Bool {
        received += Int64(count)
        if isError { return received <= Self.errorBodyLimit }
        // libcurl holds a body to its Content-Length; a part may be told without one, and come without an end.
        guard isEncoded || received <= promised ?? .max else { throw invalid("the body is longer than it was told") }
        guard received <= bodyLimit else { throw .tooLarge }
        return true
    }

    /// Judges an answer that libcurl takes for complete.
    ///
    /// - Parameter transferred: Bytes of the body on the wire, before decoding.
    /// - Throws: `.broken` if bytes are missing or too many, or there was no whole head.
    func end(transferred: Int64) throws(HTTPError) {
        guard headSeen else { throw cutOff }
        guard method != .head, let promised else { return }
        let count = isEncoded ? transferred : received
        guard count == promised else {
            throw .broken("\(host): the answer ended after \(count) of \(promised) bytes.")
        }
    }

    private var cutOff: HTTPError {
        .broken("\(host): the connection ended within the headers.")
    }

    private func invalid(_ reason: String) -> HTTPError {
        .invalidAnswer("\(host): \(reason).")
    }

    private mutating func status(_ line: some Collection<UInt8>) throws(HTTPError) -> Int {
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard words.count >= 2, words[0].starts(with: "HTTP/".utf8), words[1].count == 3,
            let status = Int(String(decoding: words[1], as: UTF8.self)), status >= 100
        else { throw invalid("the answer does not begin with a status line") }
        version = String(decoding: words[0].dropFirst(5).prefix(3), as: UTF8.self)
        return status
    }

    private func header(_ line: some Collection<UInt8>) throws(HTTPError) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw invalid("a header has no name") }
        let name = line[..<colon]
        guard !name.isEmpty, name.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw invalid("a header has no proper name")
        }
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var value = Array(line[line.index(after: colon)...].drop(while: isBlank))
        while let last = value.last, isBlank(last) { value.removeLast() }
        let lowered = name.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
        return (String(decoding: lowered, as: UTF8.self), String(decoding: value, as: UTF8.self))
    }

    private mutating func headEnded(_ status: Int) throws(HTTPError) -> Event {
        phase = .body
        let answer = HTTPAnswer(status: status, headers: headers, version: version)
        if case .contradiction(let reason) = answer.length { throw invalid(reason) }
        if followsRedirects, let location = answer.redirect { return .redirect(location: location) }
        isEncoded = !answer.codings.isEmpty
        guard !isEncoded || (acceptsCompression && answer.codings == ["gzip"]) else {
            throw invalid("the body is encoded unasked")
        }
        promised = status == 204 || status == 304 ? nil : answer.length.value
        isError = status >= 400
        if answer.outcome == .part { promised = try part(of: answer) }
        if method != .head, !isError, let promised, promised > bodyLimit { throw .tooLarge }
        return .head(answer)
    }

    /// Bytes of a part, which must be what was asked for, shortened only by the end of the whole.
    private func part(of answer: HTTPAnswer) throws(HTTPError) -> Int64 {
        guard let range else { throw invalid("a part came where the whole was asked") }
        guard let part = answer.part.value else { throw invalid("a part came without telling which") }
        let (last, end) = (part.upperBound - 1, answer.total ?? part.upperBound)
        guard part.lowerBound == range.first,
            last == range.last || (last < range.last ?? .max && part.upperBound == end)
        else { throw invalid("another part came than the one asked") }
        guard !isEncoded else { throw invalid("a part is encoded") }
        return Int64(part.count)
    }
}
