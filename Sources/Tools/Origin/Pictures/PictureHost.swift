import Rankings

/// How the image host answers: 403 without a Referer of pixiv's, ranges, Last-Modified but no ETag, some lengths missing.
struct PictureHost: Sendable {
    let seed: UInt64
    let now: Int64
    /// Whether some answers come without a length, as the host's do.
    let chunks: Bool
    /// Seconds by which Last-Modified is later than the upload.
    let laterBy: Int64

    /// One picture in this many is sent without a length.
    private static let chunkedEvery = 10
    /// Of those, one in this many does not tell it to HEAD either.
    private static let silentEvery = 3
    private static let year: Int64 = 31_536_000

    /// The answer for a picture; nil stands for a path without one.
    func answer(_ request: Request, _ picture: Picture?) -> Response {
        guard let referer = request.referer, referer.contains("pixiv.net") else {
            return .html("403 Forbidden", status: 403)
        }
        return serve(request, picture)
    }

    /// As ``answer(_:_:)``, whoever asks.
    func serve(_ request: Request, _ picture: Picture?) -> Response {
        guard let picture else { return .html("404 Not Found", status: 404) }
        if picture.isBroken { return .html("500 Internal Server Error", status: 500) }
        let modified = JapanTime(seconds: picture.modified.seconds + laterBy).http
        var headers = [
            ("Server", "nginx"),
            ("Content-Type", picture.mediaType),
            ("Cache-Control", "max-age=\(Self.year)"),
            ("Expires", JapanTime(seconds: now + Self.year).http),
            ("Last-Modified", modified),
            ("X-Content-Type-Options", "nosniff"),
            ("Via", "http/1.1 f014 (second)"),
        ]
        let wanted = request.ifRange == nil || request.ifRange == modified ? request.range : nil
        switch ByteRange.decide(wanted, length: picture.bytes) {
        case .part(let range):
            headers.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(picture.bytes)"))
            return Response(status: 206, headers: headers, body: .picture(picture, range: range))
        case .unsatisfiable:
            return Response(status: 416, headers: [("Content-Range", "bytes */\(picture.bytes)")], body: .bytes([]))
        case .whole:
            var answer = Response(status: 200, headers: headers, body: .picture(picture, range: 0..<picture.bytes))
            answer.tellsLength = tellsLength(request)
            return answer
        }
    }

    private func tellsLength(_ request: Request) -> Bool {
        guard chunks else { return true }
        var chance = Chance(seed ^ 0xe1, text: request.path)
        let isChunked = chance.oneIn(Self.chunkedEvery)
        let isSilent = chance.oneIn(Self.silentEvery)
        return !isChunked || request.method == "HEAD" && !isSilent
    }
}
