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

    /// JSON as the service sends it.
    static func json(_ json: JSONText, status: Int = 200) -> Response {
        Response(
            status: status,
            headers: [("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", "no-store")],
            body: .bytes(json.bytes()))
    }

    /// JSON as Rails sends it: slashes as they are.
    static func rails(_ json: JSONText, status: Int = 200) -> Response {
        Response(
            status: status,
            headers: [
                ("Content-Type", "application/json; charset=utf-8"),
                ("Cache-Control", "max-age=0, private, must-revalidate"),
            ], body: .bytes(json.bytes(escapingSlashes: false)))
    }

    /// A page for people.
    static func html(_ text: String, status: Int) -> Response {
        let page =
            "<html>\r\n<head><title>\(text)</title></head>\r\n<body><center><h1>\(text)</h1></center></body></html>"
        return Response(status: status, headers: [("Content-Type", "text/html")], body: .bytes(Array(page.utf8)))
    }

    /// The answer of `/ajax` routes: an envelope around a body, `{"error":false,"message":"","body":…}`.
    static func envelope(_ body: JSONText) -> Response {
        json(.object([("error", false), ("message", ""), ("body", body)]))
    }

    /// An error in the envelope, with `[]` for a body as PHP has it.
    static func failure(_ message: String, status: Int) -> Response {
        json(.object([("error", true), ("message", .text(message)), ("body", .list([]))]), status: status)
    }
}
