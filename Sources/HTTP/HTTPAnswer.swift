import CCurl
import Rankings
import System

/// The status line and headers of an answer, parsed once and only here: all other code reads facts.
package struct HTTPAnswer: Sendable {
    /// The meaning of the status for a request of a body or a part of it (RFC 9110 section 15).
    package enum Outcome: Hashable, Sendable {
        /// The whole body.
        case whole
        /// A part of it.
        case part
        /// The requested part begins after the end.
        case beyondTheEnd
        /// There is no such body.
        case gone
        /// 401 or 403.
        case refused
        /// 429; `RequestQueue` obeys the requested pause.
        case limited
        /// 5xx: a later request may succeed.
        case troubled
        /// Any other status.
        case unexpected
    }

    package let status: Int
    /// The protocol version of the status line, `1.1` or `2`; empty for an answer that did not come from a server.
    package let version: String
    /// The family of the address that answered; nil with a proxy and for an answer that did not come from a server.
    package var family: AddressFamily?
    /// The length of the body on the wire (RFC 9110 section 8.6; one list of equal numbers is allowed by RFC 9112 section 6.3).
    ///
    /// Nil if none is stated, or for a contradiction.
    package let length: Int64?
    /// The reason why the stated length cannot be right, as a sentence without its full stop: it is no number, is not the only one,
    /// stands beside `Transfer-Encoding`, or differs from that of the part.
    ///
    /// `AnswerCheck` refuses such an answer on the way from the network.
    let contradiction: String?
    /// The range of a 206 in bytes of the whole (RFC 9110 section 14.4); nil for a malformed one.
    package let part: Range<Int64>?
    /// The length of the whole in bytes, as a 206 declares it beside its part, or a 416 in place of one; nil for `*`.
    package let total: Int64?
    /// The media type with its parameters, as received.
    package var contentType: String? { self["content-type"] }
    /// The codings of the body in lower case, without `identity` (RFC 9110 section 8.4).
    package let codings: [String]
    /// The entity tag, weak with `W/` or strong (RFC 9110 section 8.8.3).
    package var etag: String? { self["etag"] }
    /// An HTTP date (RFC 9110 section 8.8.2).
    package var lastModified: String? { self["last-modified"] }
    private let headers: [(name: String, value: String)]

    /// Parses the headers of one answer.
    ///
    /// - Parameters:
    ///   - status: The status of the final answer.
    ///   - headers: Names in lower case and values without blanks around them, in the order received.
    ///   - version: The protocol's version.
    package init(status: Int, headers: [(name: String, value: String)], version: String = "") {
        func values(_ name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }
        self.status = status
        self.version = version
        self.headers = headers
        (part, total) = Self.part(Set(values("content-range")), status: status)
        (length, contradiction) = Self.length(
            Self.elements(values("content-length")), isChunked: !values("transfer-encoding").isEmpty, part: part)
        codings = Self.elements(values("content-encoding")).map { $0.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
    }

    /// The first header of this lower-case name, for headers specific to a service.
    package subscript(name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// The time at which the answer was made, by the server's clock, in Unix seconds (RFC 9110 section 6.6.1).
    package var date: Int64? { self["date"].flatMap(Self.seconds) }

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

    /// Whether the declared media type is text of any kind.
    package var isText: Bool { mediaType?.hasPrefix("text/") == true }

    /// The value that identifies this version in `If-Range`: a strong entity tag, else the date (RFC 9110 section 13.1.5).
    ///
    /// An empty tag (`""`), which some servers send for every version, identifies none.
    package var validator: String? {
        etag.flatMap { $0.hasPrefix("\"") && $0.utf8.count > 2 ? $0 : nil } ?? lastModified
    }

    /// The time of sending by the server's clock, in Unix seconds: its date plus its time in a cache (RFC 9111 section 5.1).
    package var sent: Int64? {
        let kept = self["age"].flatMap { Int64($0) }.map { min(max($0, 0), Self.longestKept) } ?? 0
        return date.map { $0 + kept }
    }

    /// The age of this version in seconds, by the server's clock alone.
    package var age: Int64? {
        guard let sent, let modified = lastModified.flatMap(Self.seconds) else { return nil }
        return max(0, sent - modified)
    }

    /// Whether the answer requests a pause, valid or not.
    package var requestsPause: Bool { self["retry-after"] != nil }

    /// The longest pause accepted from a server, in seconds: one hour, since a larger number is more often a mistake than intended.
    package static let longestPause: Int64 = 3_600

    /// The requested pause in whole seconds, from the answer's own date if it has one, else from `now` in Unix seconds: the value of
    /// `Retry-After`, seconds or a date (RFC 9110 section 10.2.3), of which one in the past is 0.
    ///
    /// Nil if the answer requests no valid pause.
    package func pause(now: Int64) -> Int64? {
        guard let text = self["retry-after"] else { return nil }
        // A number with too many digits still means a very long time.
        if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) { return min(Int64(text) ?? .max, Self.longestPause) }
        guard let end = Self.seconds(text) else { return nil }
        return min(max(end.subtracting(saturating: date ?? now), 0), Self.longestPause)
    }

    /// The longest time in a cache, in seconds: a thousand years.
    private static let longestKept: Int64 = 31_556_952_000

    /// The target of a redirect (RFC 9110 section 15.4); nil for any other answer.
    var redirect: String? { [301, 302, 303, 307, 308].contains(status) ? self["location"] : nil }

    // MARK: - Grammar

    /// The elements of a list, without blanks around them (RFC 9110 section 5.6.1).
    private static func elements(_ values: [String]) -> [String] {
        values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            .map { $0.split(whereSeparator: { " \t".contains($0) }).joined(separator: " ") }
    }

    private static func length(
        _ texts: [String], isChunked: Bool, part: Range<Int64>?
    ) -> (length: Int64?, contradiction: String?) {
        let lengths = Set(texts.map(count))
        guard let first = lengths.first else { return (nil, nil) }
        guard let length = first, !lengths.contains(nil) else { return (nil, "the length is not a number") }
        guard lengths.count == 1, !isChunked else { return (nil, "two lengths contradict each other") }
        guard part.map({ Int64($0.count) == length }) ?? true else {
            return (nil, "the part's length contradicts its range")
        }
        return (length, nil)
    }

    /// `bytes 0-99/1000` or `bytes 0-99/*` of a 206, `bytes */1000` of a 416; the unit's name in any case (RFC 9110 section 14.1).
    private static func part(_ texts: Set<String>, status: Int) -> (part: Range<Int64>?, total: Int64?) {
        guard [206, 416].contains(status), let text = texts.first else { return (nil, nil) }
        let halves = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard texts.count == 1, text.lowercased().hasPrefix("bytes "), halves.count == 2 else { return (nil, nil) }
        let total = count(halves[1])
        if status == 416 { return (nil, halves[0] == "*" ? total : nil) }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard total != nil || halves[1] == "*", ends.count == 2, let first = count(ends[0]), let last = count(ends[1]),
            first <= last, last < total ?? .max
        else { return (nil, nil) }
        return (first..<last + 1, total)
    }

    /// A number of bytes: digits alone.
    private static func count(_ digits: some StringProtocol) -> Int64? {
        // Int64 also accepts a sign.
        digits.first.map { ("0"..."9").contains($0) } == true ? Int64(digits) : nil
    }

    /// Unix seconds of a date (RFC 9110, 5.6.7); nil for any other text.
    static func seconds(_ text: String) -> Int64? {
        let seconds = unsafe Int64(curl_getdate(text, nil))
        return seconds < 0 ? nil : seconds
    }
}

/// A whole answer.
package struct HTTPResponse: Sendable {
    package var head: HTTPAnswer
    package var body: [UInt8]
}

// MARK: - Verdicts

/// The verdict of a request's end on the service's rate limit.
package enum AnswerVerdict: Hashable, Sendable {
    /// The service answered normally.
    case fine
    /// The service requests a pause of so many seconds.
    ///
    /// - Parameter told: Whether the service stated the time; a usual pause doubles each time that it was too short.
    case limited(seconds: Int64, told: Bool)
    /// No verdict: cancelled, timed out, unreachable, a server in trouble.
    case unknown

    /// Makes the verdict on an answer that requests a pause.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - usual: The pause in seconds if the answer states no valid one.
    ///   - now: The wall clock in Unix seconds, for a date in an answer without one.
    /// - Returns: A pause of a second at least.
    package static func limited(by answer: HTTPAnswer, usual: Int64, now: Int64) -> AnswerVerdict {
        let pause = answer.pause(now: now).map { max($0, 1) }
        return .limited(seconds: pause ?? usual, told: pause != nil)
    }
}

/// The two families of addresses of a host; a front may turn one family away and accept the other.
package enum AddressFamily: Hashable, Sendable {
    case ipv4, ipv6

    /// The family of a numeric address.
    init(of address: String) { self = address.contains(":") ? .ipv6 : .ipv4 }

    var other: AddressFamily { self == .ipv4 ? .ipv6 : .ipv4 }
}

// MARK: - Fronts

/// The ways in which the front of a service turns programs away.
package enum FrontRefusal: String, Hashable, Sendable {
    /// A browser check; it may come and go, and may depend on the User-Agent.
    case challenge = "challenged"
    /// A permanent block, by address as a rule, so that no cookie helps.
    case block = "blocked"
}

/// Recognises answers that come from the front of a service.
///
/// These answers are recognised before the status counts: a browser check comes with 403, 503 or 429, and a client that takes it
/// for a rate limit and comes again is blocked. The header is Cloudflare's ("Detect a Challenge Page response"), the marks of older
/// pages are those of gallery-dl's `detect_challenge`; the pages of a block contain Cloudflare's own style sheet and numbers from
/// 1000 to 1099.
package enum FrontPage {
    enum Look: Equatable {
        /// The service's own answer.
        case none
        case refusal(FrontRefusal)
        /// The text must be examined.
        case needsText
    }

    private static let challengeMarks = [
        "_cf_chl_opt", "jschl-answer", "captcha-bypass", "/ddos-guard/js-challenge/",
    ]
    private static let blockMarks = [
        "cf-error-details", "cf.errors.css", "error code: 10", "you have been blocked", "access denied",
        "access blocked",
    ]

    /// The marks that a text contains.
    package static func marks(in text: String) -> [String] {
        let text = text.lowercased()
        return (challengeMarks + blockMarks).filter { text.contains($0) }
    }

    static func look(_ head: HTTPAnswer) -> Look {
        if head["cf-mitigated"]?.lowercased().contains("challenge") == true { return .refusal(.challenge) }
        guard [403, 429, 503].contains(head.status), head.isText, let server = head["server"]?.lowercased()
        else { return .none }
        if server.contains("ddos-guard") { return head.status == 403 ? .refusal(.challenge) : .needsText }
        return server.contains("cloudflare") ? .needsText : .none
    }

    /// Classifies an answer by its text, if its head did not suffice.
    static func refusal(_ head: HTTPAnswer, text: [UInt8]) -> FrontRefusal? {
        let text = String(decoding: text, as: UTF8.self).lowercased()
        if challengeMarks.contains(where: text.contains) { return .challenge }
        return head.status == 403 && blockMarks.contains(where: text.contains) ? .block : nil
    }
}

extension HTTPResponse {
    /// The refusal of a front; nil for an answer of the service itself.
    package var frontRefusal: FrontRefusal? {
        switch FrontPage.look(head) {
        case .none: nil
        case .refusal(let refusal): refusal
        case .needsText: FrontPage.refusal(head, text: body)
        }
    }
}
