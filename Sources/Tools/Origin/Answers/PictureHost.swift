import Rankings

/// The answers of the image hosts: nginx with ranges.
///
/// pixiv's has no ETag, omits some lengths, and requires a Referer of pixiv's; those of boards have ETags and require nothing.
struct PictureHost: Sendable {
    /// Unix seconds.
    let now: Int64
    private let isBoard: Bool
    private let seed: UInt64
    private let chunks: Bool
    private let laterBy: Int64

    /// Creates a host; `laterBy` moves the modification dates of its pictures, in seconds.
    init(_ configuration: OriginConfiguration, laterBy: Int64 = 0) {
        now = configuration.now()
        isBoard = configuration.service.isBoard
        seed = configuration.seed
        chunks = configuration.chunks
        self.laterBy = laterBy
    }

    private static let year: Int64 = 31_536_000
    /// One picture in this many has no declared length; of those, one in this many has none in the answer to HEAD either.
    private static let chunkedEvery = 10
    private static let silentEvery = 3

    /// The answer for a picture; nil stands for a path without one.
    func answer(_ request: Request, _ picture: Picture?) -> Response {
        guard isBoard || request["referer"]?.contains("pixiv.net") == true else {
            return .html("403 Forbidden", status: 403)
        }
        return serve(request, picture)
    }

    /// The same without a check of the Referer.
    func serve(_ request: Request, _ picture: Picture?) -> Response {
        guard let picture else { return .html("404 Not Found", status: 404) }
        if picture.isBroken { return .html("500 Internal Server Error", status: 500) }
        let (seconds, length) = (picture.modified + laterBy, picture.bytes)
        let modified = Moment.http(seconds)
        // As nginx makes it: both numbers in hexadecimal.
        let tag = "\"\(String(seconds, radix: 16))-\(String(length, radix: 16))\""
        var headers = [("Server", "nginx"), ("Content-Type", picture.format.mediaType), ("Last-Modified", modified)]
        if isBoard {
            headers += [("Cache-Control", "public, max-age=\(Self.year)"), ("ETag", tag), ("Accept-Ranges", "bytes")]
        } else {
            headers += [
                ("Cache-Control", "max-age=\(Self.year)"), ("Expires", Moment.http(now + Self.year)),
                ("X-Content-Type-Options", "nosniff"), ("Via", "http/1.1 f014 (second)"),
            ]
        }
        let isCurrent = request["if-range"].map { $0 == modified || isBoard && $0 == tag } ?? true
        switch Part(isCurrent ? request["range"] : nil, length: length) {
        case .part(let range):
            headers.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"))
            return Response(status: 206, headers: headers, body: .picture(picture, range: range))
        case .unsatisfiable:
            return Response(status: 416, headers: [("Content-Range", "bytes */\(length)")], body: .bytes([]))
        case .whole:
            let whole = Response.Body.picture(picture, range: 0..<length)
            return Response(status: 200, headers: headers, body: whole, tellsLength: tellsLength(request))
        }
    }

    private func tellsLength(_ request: Request) -> Bool {
        guard chunks, !isBoard else { return true }
        var chance = Chance(seed ^ 0xe1, text: request.path)
        let isChunked = chance.oneIn(Self.chunkedEvery)
        let isSilent = chance.oneIn(Self.silentEvery)
        return !isChunked || request.method == "HEAD" && !isSilent
    }

    /// The part of a body that a `Range` header requests (RFC 9110, section 14).
    enum Part: Equatable {
        /// No header, or a header that may be ignored: several parts, other units, nonsense.
        case whole
        case part(Range<Int>)
        case unsatisfiable

        /// The part that a header's value requests of a body of `length` bytes.
        init(_ header: String?, length: Int) {
            self = .whole
            guard let header, header.hasPrefix("bytes="), !header.contains(",") else { return }
            let text = header.dropFirst("bytes=".count)
            guard let dash = text.firstIndex(of: "-"), case let last = text[text.index(after: dash)...],
                (text[..<dash] + last).utf8.allSatisfy({ (0x30...0x39).contains($0) })
            else { return }
            guard let start = Int(text[..<dash]) else {
                guard let suffix = Int(last) else { return }
                self = suffix == 0 || length == 0 ? .unsatisfiable : .part(max(0, length - suffix)..<length)
                return
            }
            let end = Int(last) ?? .max
            guard end >= start else { return }
            self = start < length ? .part(start..<min(length, end == .max ? length : end + 1)) : .unsatisfiable
        }
    }
}

/// A service as the origin implements it: its API and its image hosts.
///
/// ## Concurrency
/// Called from the threads of all connections.
protocol ServedAPI: Sendable {
    /// The right answer to GET or HEAD.
    func answer(_ request: Request, _ host: PictureHost) -> Response

    /// The picture that replaces a withheld one; nil if there is none.
    var placeholder: Picture? { get }

    /// Whether a request shows a valid session.
    func isSignedIn(_ request: Request) -> Bool

    /// The answer to a request below `/_control` that posts no script of faults; nil for a path unknown to the service.
    func control(_ path: Substring) -> Response?
}

extension ServedAPI {
    func isSignedIn(_ request: Request) -> Bool { false }

    func control(_ path: Substring) -> Response? { nil }
}
