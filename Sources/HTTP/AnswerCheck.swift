import Rankings

/// Parses the lines of one answer's head, and checks head and body against the request.
///
/// libcurl reports success for several answers that contradict themselves (two lengths, an encoding or a range that was not
/// requested), so every answer passes here before a sink sees a byte. Pure: lines and counts in, events out.
struct AnswerCheck {
    /// The most bytes of all header lines of one answer: many times the usual number, and a bound on memory.
    static let headerBytesLimit = 64 * 1024
    /// The most header lines of one answer, interim answers and trailers included.
    static let headerLinesLimit = 200
    /// The most bytes read of the body of an error: more than any service sends for one.
    static let errorBodyLimit: Int64 = 64 * 1024

    /// The result of a header line.
    enum Event {
        case none
        /// The final head, checked; the body follows.
        case head(HTTPAnswer)
        /// A redirect; its body is ignored.
        case redirect(location: String)
    }

    private enum Phase {
        case status
        case headers(status: Int)
        case body
    }

    private let request: HTTPRequest
    private let host: String

    private var phase = Phase.status
    /// The protocol version of the last status line.
    private var version = ""
    private var headers: [(name: String, value: String)] = []
    private var headerBytes = 0
    private var headerLines = 0
    /// The announced length of the body in bytes, before any decoding; nil if the headers announce none.
    private var promised: Int64?
    private var isEncoded = false
    private var received: Int64 = 0
    private var isError = false

    /// Begins the check of a request's answer by a host.
    init(_ request: HTTPRequest, host: String) {
        self.request = request
        self.host = host
    }

    /// Whether the head is complete.
    var headSeen: Bool {
        if case .body = phase { true } else { false }
    }

    /// Takes one header line as received, line end included.
    mutating func line(_ raw: some BidirectionalCollection<UInt8>) throws(Failure) -> Event {
        headerBytes += raw.count
        headerLines += 1
        guard headerBytes <= Self.headerBytesLimit, headerLines <= Self.headerLinesLimit else {
            throw invalid("the headers are longer than any real answer's")
        }
        // The rest of a line at the end of the connection is no line.
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
            // Trailers of a chunked body: counted above, otherwise ignored.
            return .none
        }
    }

    /// Counts bytes of the body, after decoding; false for bytes of an error after the limit, which need not be read.
    mutating func body(_ count: Int) throws(Failure) -> Bool {
        received += Int64(count)
        if isError { return received <= Self.errorBodyLimit }
        // libcurl enforces the Content-Length; a part may come without one, and without an end.
        guard isEncoded || received <= promised ?? .max else { throw invalid("the body is longer than it was told") }
        guard received <= request.bodyLimit else { throw .tooLarge }
        return true
    }

    /// Checks an answer that libcurl reports as complete.
    ///
    /// - Parameter transferred: The bytes of the body on the wire, before decoding.
    /// - Throws: `.broken` if bytes are missing or too many, or the head is incomplete.
    func end(transferred: Int64) throws(Failure) {
        guard headSeen else { throw cutOff }
        guard request.method != .head, let promised else { return }
        let count = isEncoded ? transferred : received
        guard count == promised else {
            throw .broken("\(host): the answer ended after \(count) of \(promised) bytes.")
        }
    }

    private var cutOff: Failure {
        .broken("\(host): the connection ended within the headers.")
    }

    private func invalid(_ reason: String) -> Failure {
        .invalidAnswer("\(host): \(reason).")
    }

    private mutating func status(_ line: some Collection<UInt8>) throws(Failure) -> Int {
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard words.count >= 2, words[0].starts(with: "HTTP/".utf8), words[1].count == 3,
            let status = Int(String(decoding: words[1], as: UTF8.self)), status >= 100
        else { throw invalid("the answer does not begin with a status line") }
        version = String(decoding: words[0].dropFirst(5).prefix(3), as: UTF8.self)
        return status
    }

    private func header(_ line: some Collection<UInt8>) throws(Failure) -> (name: String, value: String) {
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

    private mutating func headEnded(_ status: Int) throws(Failure) -> Event {
        phase = .body
        let answer = HTTPAnswer(status: status, headers: headers, version: version)
        if let reason = answer.contradiction { throw invalid(reason) }
        if request.followsRedirects, let location = answer.redirect { return .redirect(location: location) }
        isEncoded = !answer.codings.isEmpty
        guard !isEncoded || (request.acceptsCompression && answer.codings == ["gzip"]) else {
            throw invalid("the body is encoded unasked")
        }
        promised = status == 204 || status == 304 ? nil : answer.length
        isError = status >= 400
        if answer.outcome == .part { promised = try part(of: answer) }
        if request.method != .head, !isError, let promised, promised > request.bodyLimit { throw .tooLarge }
        return .head(answer)
    }

    /// The length of a part, which must match the requested range, shortened only by the end of the whole.
    private func part(of answer: HTTPAnswer) throws(Failure) -> Int64 {
        guard let range = request.range else { throw invalid("a part came where the whole was asked") }
        guard let part = answer.part else { throw invalid("a part came without telling which") }
        let (last, end) = (part.upperBound - 1, answer.total ?? part.upperBound)
        guard part.lowerBound == range.first,
            last == range.last || (last < range.last ?? .max && part.upperBound == end)
        else { throw invalid("another part came than the one asked") }
        guard !isEncoded else { throw invalid("a part is encoded") }
        return Int64(part.count)
    }
}
