/// What a request itself must fulfil before anything is done for it.
enum RequestRule {
    /// Headers that say nothing of the user and may follow a redirect to another host.
    private static let harmless: Set<String> = ["accept", "accept-language"]

    /// Throws `.refused` for lines that would end a header early, and for ranges that are none.
    static func check(_ request: HTTPRequest) throws(HTTPError) {
        for line in request.headers + (request.ifRange.map { ["If-Range: \($0)"] } ?? []) {
            guard line.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }), line.utf8.contains(0x3A) else {
                throw .refused("A header line of the request is malformed; control characters are not allowed.")
            }
        }
        if let range = request.range {
            guard range.first >= 0, range.last.map({ $0 >= range.first }) ?? true else {
                throw .refused("The range of the request is empty or negative.")
            }
        }
    }

    /// The lines that may go to another host than the one they were meant for.
    static func headersForAnotherHost(_ lines: [String]) -> [String] {
        lines.filter { line in
            harmless.contains(line.prefix { $0 != ":" }.lowercased())
        }
    }
}
