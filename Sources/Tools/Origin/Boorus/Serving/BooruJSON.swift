extension JSONValue {
    /// A list of tags as one string.
    static func words(_ names: [String]) -> JSONValue {
        .string(names.joined(separator: " "))
    }

    /// A number or null.
    static func optional(_ number: Int64?) -> JSONValue {
        number.map(JSONValue.number) ?? .null
    }
}

extension Response {
    /// JSON as Rails sends it: slashes as they are.
    static func rails(_ json: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status,
            headers: [
                ("Content-Type", "application/json; charset=utf-8"),
                ("Cache-Control", "max-age=0, private, must-revalidate"),
            ], body: .bytes(json.bytes(escapingSlashes: false)))
    }
}
