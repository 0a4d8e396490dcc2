import Rankings

/// An answer before it is sent.
struct Response: Sendable {
    var status: Int
    var headers: [(String, String)]
    var body: Body
    /// Whether the header declares the length; otherwise the body is chunked.
    var tellsLength = true

    /// The origin of the bytes.
    enum Body: Sendable {
        case bytes([UInt8])
        /// A part of a drawn picture. For HEAD the picture is not drawn: only its length counts.
        case picture(Picture, range: Range<Int>)
    }

    /// The length of the body in bytes.
    var length: Int {
        switch body {
        case .bytes(let bytes): bytes.count
        case .picture(_, let range): range.count
        }
    }

    /// The answer with more headers.
    func with(_ headers: [(String, String)]) -> Response {
        var answer = self
        answer.headers += headers
        return answer
    }

    /// All bytes of the body, drawn if necessary; empty if memory is short.
    var bytes: [UInt8] { Array(content() ?? []) }

    /// The bytes to send, drawn if necessary; nil if memory is short.
    func content() -> ArraySlice<UInt8>? {
        switch body {
        case .bytes(let bytes): bytes[...]
        case .picture(let picture, let range):
            if range.upperBound <= picture.format.opening.count {
                picture.format.opening[range]
            } else {
                picture.file()?[range]
            }
        }
    }

    /// A JSON answer as pixiv sends it.
    static func json(
        _ json: JSON, status: Int = 200, escapingSlashes: Bool = true, caching: String = "no-store"
    ) -> Response {
        Response(
            status: status,
            headers: [("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", caching)],
            body: .bytes(json.bytes(escapingSlashes: escapingSlashes)))
    }

    /// A JSON answer as Rails sends it: slashes unescaped.
    static func rails(_ json: JSON, status: Int = 200) -> Response {
        Self.json(json, status: status, escapingSlashes: false, caching: "max-age=0, private, must-revalidate")
    }

    /// An HTML page with a title.
    static func html(_ text: String, status: Int) -> Response {
        let page =
            "<html>\r\n<head><title>\(text)</title></head>\r\n<body><center><h1>\(text)</h1></center></body></html>"
        return Response(status: status, headers: [("Content-Type", "text/html")], body: .bytes(Array(page.utf8)))
    }

    /// The answer to a request past the end of pixiv's rankings.
    static let outOfRange = json(.members([("error", "ランキング集計の範囲外です")]), status: 404)

    /// The answer of an `/ajax` route: an envelope around a body, `{"error":false,"message":"","body":…}`.
    static func envelope(_ body: JSON) -> Response {
        json(Shapes.fill("envelope", ["body": body]))
    }

    /// An error in the envelope, with `[]` as its body, as PHP writes it.
    static func failure(_ message: String, status: Int) -> Response {
        json(Shapes.fill("failure", ["message": .string(message)]), status: status)
    }
}
