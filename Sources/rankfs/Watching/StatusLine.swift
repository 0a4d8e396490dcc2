/// A mount's doings in one line, for service managers and for logs: pure.
enum StatusLine {
    /// The line.
    ///
    /// - Parameters:
    ///   - document: What the mount says.
    ///   - rate: Bytes a second, if known.
    ///   - clock: A moment for people.
    /// - Returns: Such as `reading 1, preloading 2, 3.2M/s, 812M of 2G stored; the service asked to be left alone until 12:03:00`.
    static func text(_ document: StatusDocument, rate: Int64?, clock: (Int64) -> String) -> String {
        let cache = document.cache
        let reading = cache.downloads.count(where: \.isRead)
        let preloading = cache.downloads.count - reading
        var parts: [String] = []
        if reading > 0 { parts.append("reading \(reading)") }
        if preloading > 0 { parts.append("preloading \(preloading)") }
        if parts.isEmpty { parts.append("idle") }
        if let rate, rate > 0 { parts.append("\(ValueParsers.sizeText(rate))/s") }
        parts.append("\(ValueParsers.sizeText(cache.storedBytes)) of \(ValueParsers.sizeText(cache.budget)) stored")
        return ([parts.joined(separator: ", ")] + troubles(document, clock: clock)).joined(separator: "; ")
    }

    /// What keeps the mount from doing more, each with what helps where something does.
    static func troubles(_ document: StatusDocument, clock: (Int64) -> String) -> [String] {
        var troubles = document.network.waits(at: document.time).map { host, end in
            "the \(host) asked to be left alone until \(clock(end))"
        }
        troubles += document.network.troubles.map { LogText.escaped($0.message, limit: LogText.longestLine) }
        if !document.cache.isStoring { troubles.append("nothing is stored: make room on the disk") }
        if document.signIn.state == "expired" { troubles.append("signed out: `rankfs login` again") }
        return troubles
    }
}
