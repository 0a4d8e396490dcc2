/// An answer gone wrong.
enum FaultyAnswer: Sendable {
    case answer(Response, Delivery)
    /// Nothing is sent for so long, then the connection closes.
    case silence(milliseconds: Int64)
    case close
    case reset
}

extension FaultAction {
    /// What becomes of a request.
    ///
    /// `right` makes the right answer to a request, perhaps a changed one; `compressed` gives the bytes of an answer in
    /// gzip format.
    func spoil(
        _ request: Request, placeholder: () -> Response, right: (Request) -> Response,
        compressed: (Response) -> [UInt8]
    ) -> FaultyAnswer {
        switch self {
        case .stallHeaders(let milliseconds): return .silence(milliseconds: milliseconds)
        case .close: return .close
        case .reset: return .reset
        case .status(let status, let retryAfter):
            var answer = Response.html("\(status)", status: status)
            if let retryAfter { answer.headers.append(("Retry-After", retryAfter)) }
            return .answer(answer, Delivery())
        case .challenge(let fault): return .answer(fault.response, Delivery())
        case .redirect(let location):
            var answer = Response.html("302 Found", status: 302)
            answer.headers.append(("Location", location))
            return .answer(answer, Delivery())
        case .html200: return .answer(.html("Please wait", status: 200), Delivery())
        case .json200: return .answer(.failure("An unknown error occurred", status: 200), Delivery())
        case .placeholder: return .answer(placeholder(), Delivery())
        case .noHead where request.method == "HEAD": return .answer(.html("405", status: 405), Delivery())
        case .rangeIgnored: return .answer(right(request.withoutRange), Delivery())
        case .unnamed, .replaced(isUnnamed: true):
            // What If-Range names is not what is served without a name.
            let answer = right(request.ifRange == nil ? request : request.withoutRange)
            return .answer(header(of: answer, request), delivery(of: answer, request))
        case .gzip:
            var answer = right(request)
            answer.body = .bytes(compressed(answer))
            answer.headers.append(("Content-Encoding", "gzip"))
            return .answer(answer, Delivery())
        default:
            let answer = right(request)
            return .answer(header(of: answer, request), delivery(of: answer, request))
        }
    }

    /// The header gone wrong, as far as libmicrohttpd can send it.
    private func header(of right: Response, _ request: Request) -> Response {
        var answer = right
        switch self {
        case .chunked, .endless: answer.tellsLength = false
        case .empty: answer.body = .bytes([])
        case .headLies(let by) where request.method == "HEAD":
            // never sent: HEAD has no body, only its length counts
            answer.body = .bytes(Array(repeating: 0, count: answer.length + by))
            answer.tellsLength = true
        case .rangeWrong where answer.status == 206: answer.shiftContentRange()
        case .rangeZero:
            if case .picture(let picture, let range) = answer.body {
                answer.body = .picture(picture, range: 0..<range.count)
            }
        case .unnamed, .replaced(isUnnamed: true):
            answer.headers.removeAll { $0.0 == "Last-Modified" || $0.0 == "ETag" }
        default: break
        }
        return answer
    }

    private func delivery(of answer: Response, _ request: Request) -> Delivery {
        var delivery = Delivery()
        let length = answer.length
        let half = length / 2
        switch self {
        case .slow(let rate): delivery.rate = rate
        case .truncate(let after): delivery.cutAt = after ?? half
        case .resetBody(let after): delivery.resetAt = after ?? half
        case .stallBody(let after): delivery.stallAt = after ?? half
        case .flip(let at): delivery.changed = (at ?? half)..<(at ?? half) + 1
        case .rangeBytes where answer.status == 206: delivery.changed = 0..<length
        case .replaced: delivery.changed = answer.between(ends: Self.ends)
        case .noTrailer: delivery.blank = max(0, length - Self.trailer)..<length
        case .endless: delivery.isEndless = true
        case .lengthOff(let by): delivery.raw = .lengths([length + by])
        case .twoLengths: delivery.raw = .lengths([length, half])
        case .negativeLength: delivery.raw = .lengths([-1])
        case .closeDelimited: delivery.raw = .lengths([])
        case .hugeHeader: delivery.raw = .hugeHeader
        case .manyHeaders: delivery.raw = .manyHeaders
        case .garbage: delivery.raw = .garbage
        default: break
        }
        return delivery
    }

    /// Seconds by which pictures seem to be younger.
    var modification: Int64 {
        switch self {
        case .modified: 86_400
        case .replaced(isUnnamed: false): 2 * 86_400
        default: 0
        }
    }

    /// Bytes at both ends that all versions of a picture have: more than any format begins or ends with.
    private static let ends = 64

    /// At least what any picture format ends with.
    private static let trailer = 16
}

extension Response {
    /// The places in the body that belong to a picture's bytes between its ends.
    fileprivate func between(ends: Int) -> Range<Int>? {
        guard case .picture(let picture, let range) = body else { return nil }
        let middle = (ends..<max(ends, picture.bytes - ends)).clamped(to: range)
        return middle.lowerBound - range.lowerBound..<middle.upperBound - range.lowerBound
    }

    /// Content-Range one byte too far, with the bytes that were asked for.
    fileprivate mutating func shiftContentRange() {
        guard case .picture(let picture, let range) = body else { return }
        headers.removeAll { $0.0 == "Content-Range" }
        headers.append(("Content-Range", "bytes \(range.lowerBound + 1)-\(range.upperBound)/\(picture.bytes)"))
    }
}

extension Request {
    /// The same request for the whole picture.
    var withoutRange: Request {
        Request(
            method: method, target: target, referer: referer, userAgent: userAgent, host: host, session: session,
            cookies: cookies, body: body)
    }
}
