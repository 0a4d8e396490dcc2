import Rankings

/// How the image hosts of the boorus answer: nginx with ranges, ETag and Last-Modified, no test of the Referer.
struct ServedBooruHost: Sendable {
    let moment: ServedMoment

    /// The answer for a picture; nil stands for a path without one.
    func answer(_ request: Request, _ picture: Picture?) -> Response {
        guard let picture else { return .html("404 Not Found", status: 404) }
        let seconds = picture.modified.seconds + moment.laterBy
        let modified = JapanTime(seconds: seconds).http
        // as nginx makes it: both numbers in hexadecimal
        let tag = "\"\(String(seconds, radix: 16))-\(String(picture.bytes, radix: 16))\""
        var headers = [
            ("Server", "nginx"),
            ("Content-Type", picture.mediaType),
            ("Cache-Control", "public, max-age=\(Self.year)"),
            ("Last-Modified", modified),
            ("ETag", tag),
            ("Accept-Ranges", "bytes"),
        ]
        if request.ifNoneMatch.map({ $0 == tag || $0 == "*" }) ?? (request.ifModifiedSince == modified) {
            return Response(status: 304, headers: headers, body: .bytes([]))
        }
        let isCurrent = request.ifRange.map { $0 == tag || $0 == modified } ?? true
        switch ByteRange.decide(isCurrent ? request.range : nil, length: picture.bytes) {
        case .part(let range):
            headers.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(picture.bytes)"))
            return Response(status: 206, headers: headers, body: .picture(picture, range: range))
        case .unsatisfiable:
            return Response(status: 416, headers: [("Content-Range", "bytes */\(picture.bytes)")], body: .bytes([]))
        case .whole:
            return Response(status: 200, headers: headers, body: .picture(picture, range: 0..<picture.bytes))
        }
    }

    private static let year: Int64 = 31_536_000
}
