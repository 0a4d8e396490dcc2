import Rankings

/// An answer before it is sent.
struct Response: Sendable {
    var status: Int
    var headers: [(String, String)]
    var body: Body
    /// Whether the length is told; otherwise the body goes out chunked.
    var tellsLength = true

    /// Where the bytes come from.
    enum Body: Sendable {
        case bytes([UInt8])
        /// A part of a drawn picture. For HEAD the picture is not drawn: only its length counts.
        case picture(Picture, range: Range<Int>)
    }

    /// Bytes of the whole body.
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

    /// All bytes of the body, drawn if need be.
    var bytes: [UInt8] { Array(content() ?? []) }

    /// What is to be sent, drawn if need be; nil without memory.
    func content() -> ArraySlice<UInt8>? {
        switch body {
        case .bytes(let bytes): bytes[...]
        case .picture(let picture, let range): picture.file()?[range]
        }
    }

    /// JSON as pixiv sends it.
    static func json(
        _ json: JSONText, status: Int = 200, escapingSlashes: Bool = true, caching: String = "no-store"
    ) -> Response {
        Response(
            status: status,
            headers: [("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", caching)],
            body: .bytes(json.bytes(escapingSlashes: escapingSlashes)))
    }

    /// JSON as Rails sends it: slashes as they are.
    static func rails(_ json: JSONText, status: Int = 200) -> Response {
        Self.json(json, status: status, escapingSlashes: false, caching: "max-age=0, private, must-revalidate")
    }

    /// A page for people.
    static func html(_ text: String, status: Int) -> Response {
        let page =
            "<html>\r\n<head><title>\(text)</title></head>\r\n<body><center><h1>\(text)</h1></center></body></html>"
        return Response(status: status, headers: [("Content-Type", "text/html")], body: .bytes(Array(page.utf8)))
    }

    /// The answer of `/ajax` routes: an envelope around a body, `{"error":false,"message":"","body":…}`.
    static func envelope(_ body: JSONText) -> Response {
        json(Shapes.fill("envelope", ["body": body]))
    }

    /// An error in the envelope, with `[]` for a body as PHP has it.
    static func failure(_ message: String, status: Int) -> Response {
        json(Shapes.fill("failure", ["message": .text(message)]), status: status)
    }
}
