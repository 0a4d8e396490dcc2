import Rankings

/// The content of `/.rankfs/status.json`: the values of the figures that `StatusFigure.all` lists.
///
/// Counters count since the start, so that a watcher computes rates from two documents and their `monotonic`.
struct StatusDocument: Hashable, Sendable {
    /// A download.
    struct Download {
        /// The path below the mount point, or the key of the picture if the path is not known.
        let name: String
        let received: Int64
        let total: Int64?
        /// Whether a reader waits for it; false for a preload.
        let isRead: Bool
    }

    /// The values by the paths of their figures; an absent figure has none.
    private var values: [String: JSON] = [:]

    /// A document without figures.
    init() {}

    /// Makes the present document of a mount for a reader: whole for the owner, otherwise the public part.
    init(of mount: ServedMount, toOwner: Bool = true) {
        let moment = StatusMoment(mount)
        for figure in StatusFigure.all { self[figure.path] = figure.value(moment) }
        if !toOwner { self = publicPart }
    }

    /// The value of a figure; null if it is absent.
    subscript(path: String) -> JSON {
        get {
            assert(StatusFigure.all.contains { $0.path == path }, "\(path) is no figure")
            return values[path] ?? .null
        }
        set { values[path] = newValue.isNull ? nil : newValue }
    }

    /// Whether a figure is there.
    func has(_ path: String) -> Bool { !self[path].isNull }

    /// A figure as a whole number, rounded down; 0 if it is absent.
    func number(_ path: String) -> Int64 { Int64(saturating: real(path)) }

    /// A figure as a number; 0 if it is absent.
    func real(_ path: String) -> Double {
        switch self[path] {
        case .integer(let number): Double(number)
        case .real(let number): number
        default: 0
        }
    }

    /// A figure as text; empty if it is absent.
    func text(_ path: String) -> String { self[path].text ?? "" }

    /// A figure as a truth value; false if it is absent.
    func flag(_ path: String) -> Bool { self[path].flag ?? false }

    /// The downloads in the order in which they began.
    var downloads: [Download] {
        self["cache.downloads"].elements.map { download in
            Download(
                name: Self.name(download), received: download["received"].number ?? 0,
                total: download["total"].number, isRead: download["is_read"].flag ?? false)
        }
    }

    /// The name of the first preload that waits for its turn.
    var firstQueued: String? { self["cache.queue"].elements.first.map(Self.name) }

    private static func name(_ picture: JSON) -> String { picture["path"].text ?? picture["picture"].text ?? "" }

    /// The messages of a list, oldest first, safe for a terminal.
    func messages(_ path: String) -> [(time: Int64, level: String, text: String)] {
        self[path].elements.map {
            (
                $0["time"].number ?? 0, $0["level"].text ?? "",
                LogText.escaped($0["message"].text ?? "", limit: LogText.longestLine)
            )
        }
    }

    /// Unix seconds of the end of the last cool-down.
    var opensAgain: Int64? {
        ["network.closed_until", "network.image_host_closed_until"].compactMap { self[$0].number }.max()
    }

    /// The reason why no request can pass for long; nil if a front turns no program away.
    func frontSentence(at now: Int64) -> String? {
        number("network.turned_away_until") > now ? messages("network.troubles").last?.text : nil
    }

    /// The hosts with a cool-down at a moment, in Unix seconds, and its end.
    func waits(at now: Int64) -> [(host: String, end: Int64)] {
        [("service", "network.closed_until"), ("image host", "network.image_host_closed_until")]
            .map { ($0, number($1)) }.filter { $1 > now }
    }
}

// MARK: - JSON

extension StatusDocument {
    /// The part for other users of the mount: figures, but no pictures being read, directories or signed-in user.
    var publicPart: StatusDocument {
        var document = self
        for figure in StatusFigure.all where figure.isPrivate {
            document[figure.path] = figure.isOptional ? .null : figure.kind == .list ? .array([]) : .string("")
        }
        return document
    }

    /// The document as JSON text with sorted keys and a final newline.
    var json: [UInt8] {
        let text = Self.object(values.map { ($0.key.split(separator: "."), $0.value) })
        return Array(text.document(colon: " : ").utf8)
    }

    /// Objects within objects, by the parts of the paths.
    private static func object(_ values: [(path: [Substring], value: JSON)]) -> JSON {
        let groups = Dictionary(grouping: values) { $0.path.first ?? "" }
        return .object(
            groups.sorted { $0.key < $1.key }.map { name, group in
                let leaf = group.first { $0.path.count == 1 }?.value
                return JSON.Member(
                    name: String(name), value: leaf ?? object(group.map { (Array($0.path.dropFirst()), $0.value) }))
            })
    }

    /// Parses a document from JSON text, with its figures within bounds; nil if the text is not a status document.
    ///
    /// Bounds are needed because every user may mount a file system that claims to be rankfs.
    init?(json: [UInt8]) {
        guard let told = (try? JSONReader.read(json))?.bounded else { return nil }
        for figure in StatusFigure.all {
            let value = figure.path.split(separator: ".").reduce(told) { $0[String($1)] }
            guard figure.admits(value) else { return nil }
            self[figure.path] = value
        }
    }

    // MARK: - Metrics

    /// The content of `/.rankfs/metrics`: the figures for Prometheus.
    ///
    /// The text format of Prometheus, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
    var metrics: [UInt8] {
        let labels = ["mount_point", "source", "version"].map { "\($0)=\"\(Self.escaped(text($0)))\"" }
        var lines = [
            "# HELP rankfs_build_info Version and source of the mount; always 1.", "# TYPE rankfs_build_info gauge",
            "rankfs_build_info{\(labels.joined(separator: ","))} 1",
        ]
        var family: Substring = ""
        for figure in StatusFigure.all {
            for metric in figure.metrics {
                let sample = metric.measure(self[figure.path], number("time"))
                guard !sample.isNull else { continue }
                let name = metric.name.prefix { $0 != "{" }
                if name != family {
                    lines.append("# HELP \(name) \(metric.help)")
                    lines.append("# TYPE \(name) \(name.hasSuffix("_total") ? "counter" : "gauge")")
                }
                family = name
                lines.append("\(metric.name) \(sample.line)")
            }
        }
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// The text with backslashes, quotes and line ends escaped.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"": result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    // MARK: - Text

    /// The document as text for people.
    ///
    /// - Parameter now: The reader's time in Unix seconds, from which remaining cool-downs are computed.
    /// - Returns: Lines, without the end of the last one.
    func summary(at now: Int64) -> String {
        let directory = text("cache.directory")
        let pinned =
            number("cache.pinned_pictures") > 0
            ? ", \(number("cache.pinned_pictures")) of them pinned with \(size("cache.pinned_bytes"))" : ""
        let entries = number("catalog.loaded_entries")
        var lines = [
            "\(LogText.escaped(text("mount_point"))): \(text("source")), rankfs \(text("version")), "
                + "process \(number("pid")), up \(DisplayText.duration(number("uptime")))",
            "  stored     \(counted("cache.stored_pictures", "picture")), \(size("cache.stored_bytes")) "
                + "of \(size("cache.budget"))" + pinned
                + (directory.isEmpty ? "" : ", in \(LogText.escaped(directory))"),
            "  received   \(size("cache.received_bytes")); \(number("cache.preloaded")) preloaded, "
                + "\(number("cache.evicted")) evicted",
            "  listings   \(number("catalog.stored_listings")) stored, \(number("catalog.loaded_listings")) in memory "
                + "with \(entries) \(entries == 1 ? "entry" : "entries"); \(counted("catalog.known_sizes", "size")) known",
            "  now        \(number("cache.open_pictures")) open, \(counted("waiting_requests", "request")) waiting, "
                + "\(counted("network.active_transfers", "transfer")), \(number("network.queued_transfers")) queued",
        ]
        if let requests { lines.append("  requests   \(requests)") }
        lines += downloadsSummary
        if number("thumbnails.files") > 0 {
            lines.append(
                "  thumbnails \(counted("thumbnails.files", "file")) for file managers, from "
                    + "\(size("thumbnails.received_bytes")) of previews")
        }
        if has("tier.state") { lines += tierSummary }
        if has("sign_in.user") {
            lines.append(
                text("sign_in.state") == "expired"
                    ? "  account    the session of \(number("sign_in.user")) has expired: sign in again with `rankfs login`"
                    : "  account    signed in as \(number("sign_in.user"))")
        }
        lines += obstacles(at: now)
        lines += messages("recent").map { "  \($0.level)    \(Log.timestamp($0.time)) \($0.text)" }
        return lines.joined(separator: "\n")
    }

    /// `12 to the service, 500 for sizes, 30 for pictures, 3 failed`; nil if there were none.
    ///
    /// Connections are left out, because a host may answer them with any status.
    var requests: String? {
        func sum(_ purpose: String, _ names: [String]) -> Int64 {
            names.reduce(0) { $0 + number("network.requests.\(purpose).\($1)") }
        }
        let purposes = [("api", "to the service"), ("size", "for sizes"), ("picture", "for pictures")]
        let previews = ("preview", "for previews")
        let failures = [
            "answers.limited", "answers.refused", "answers.server_failed", "failures.unreachable",
            "failures.timed_out", "failures.broken", "failures.invalid",
        ]
        let sent = (purposes + [previews]).map { (count: sum($0, ["head", "get"]), words: $1) }
        guard sent.contains(where: { $0.count > 0 }) else { return nil }
        var parts = sent.filter { $0.count > 0 || $0.words != previews.1 }.map { "\($0.count) \($0.words)" }
        let failed = (purposes + [previews]).reduce(0) { $0 + sum($1.0, failures) }
        if failed > 0 { parts.append("\(failed) failed") }
        return parts.joined(separator: ", ")
    }

    /// A figure with the noun of its things.
    func counted(_ path: String, _ noun: String) -> String { number(path).counted(noun) }

    /// A figure in bytes.
    func size(_ path: String) -> String { SizeText.text(number(path)) }

    private var downloadsSummary: [String] {
        var lines = downloads.map { download in
            let total = download.total.map { " of \(SizeText.text($0))" } ?? ""
            let name = LogText.escaped(download.name, limit: LogText.longestLine)
            return "  \(download.isRead ? "reading" : "preload")    \(name): "
                + SizeText.text(download.received) + total
        }
        if number("cache.queued_preloads") > 0 {
            lines.append("  queued     \(counted("cache.queued_preloads", "preload"))")
        }
        if !flag("cache.is_storing") {
            lines.append("  storing    not for now: the disk is full or fails; make room there")
        }
        return lines
    }

    private var tierSummary: [String] {
        var state = text("tier.state") == "up" ? "" : "\(text("tier.state")): \(LogText.escaped(text("tier.reason"))); "
        if has("tier.rests_for") { state += "asked again in \(number("tier.rests_for")) s; " }
        let shared = number("tier.answers_shared")
        var lines = [
            "  tier       \(state)\(counted("tier.hits", "picture")) from it, \(number("tier.misses")) not there, "
                + "\(shared) of \(shared + number("tier.answers_asked")) answers shared"
        ]
        if number("tier.uploads") + number("tier.waiting") > 0 {
            lines.append("             \(counted("tier.uploads", "upload")), \(number("tier.waiting")) waiting")
        }
        if number("tier.dropped") > 0 { lines.append("             \(counted("tier.dropped", "picture")) not brought") }
        if number("tier.wrong") > 0 { lines.append("             \(counted("tier.wrong", "damaged object"))") }
        return lines
    }

    /// The lines about obstacles to requests.
    private func obstacles(at now: Int64) -> [String] {
        var lines: [String] = []
        if flag("network.metered") {
            lines.append("  metered    nothing is downloaded ahead, for the network is metered")
        }
        lines += messages("network.troubles").map { "  network    \($0.text)" }
        if flag("network.offline") { lines.append("  offline    no request leaves; only what is stored is there") }
        return lines
            + waits(at: now).map { host, end in
                "  waiting    the \(host) asked to be left alone for another \(DisplayText.duration(end - now))"
            }
    }
}
