import RankFS
import Rankings

/// The content of `/.rankfs/status.json`; names in JSON are those of the properties in lower case with underscores.
///
/// The file of each section (`*Figures.swift`), or this one, defines everything about its figures: name and meaning, origin, metric
/// for Prometheus and text in `rankfs status`.
/// Counters count since the start, so that a watcher computes rates from two documents and their `monotonic`.
struct StatusDocument: Codable, Hashable, Sendable {
    /// The program's version.
    var version: String
    var source: String
    var mountPoint: String
    /// The process identifier of the serving process.
    var pid: Int32
    /// Unix seconds of the mount's start and of this document.
    var started: Int64
    var time: Int64
    /// Seconds of a clock that is never set, for differences.
    var monotonic: Double
    /// Seconds.
    var uptime: Int64
    var catalog: CatalogFigures
    var cache: CacheFigures
    var network: NetworkFigures
    var signIn: SignInFigures
    /// Nil if thumbnails are off.
    var thumbnails: ThumbnailFigures?
    /// Nil if nothing is shared with other machines.
    var tier: TierFigures?
    /// Requests of the kernel that wait for an answer.
    var waitingRequests: Int
    /// Inodes that the kernel knows; 1 when it knows the root alone.
    var inodes: Int
    /// Open files and directories.
    var handles: Int
    /// Warnings and errors since the start, including those no longer in `recent`.
    var warnings: Int
    var errors: Int
    /// The newest warnings and errors, oldest first.
    var recent: [Event]

    /// A warning or an error.
    struct Event: Codable, Hashable, Sendable {
        /// Unix seconds.
        var time: Int64
        var level: String
        var message: String
    }
}

extension StatusDocument {
    /// All figures for Prometheus.
    var metrics: [MetricFamily] {
        programMetrics + cache.metrics + network.metrics(at: time) + signIn.metrics + network.requests.metrics
            + catalog.metrics + kernelMetrics + (thumbnails?.metrics ?? []) + (tier?.metrics ?? [])
    }

    /// The document as text for people.
    ///
    /// - Parameter now: The reader's time in Unix seconds, from which remaining cool-downs are computed.
    /// - Returns: Lines.
    func summary(at now: Int64) -> [String] {
        var lines = [
            "\(LogText.escaped(mountPoint)): \(source), rankfs \(version), process \(pid), "
                + "up \(DisplayText.duration(uptime))"
        ]
        lines += cache.summary
        lines += catalog.summary
        lines.append(
            "  now        \(cache.openPictures) open, \(Counted.text(waitingRequests, "request")) waiting, "
                + "\(Counted.text(network.activeTransfers, "transfer")), \(network.queuedTransfers) queued")
        lines += network.requests.summary
        lines += cache.downloadsSummary
        lines += thumbnails?.summary ?? []
        lines += tier?.summary ?? []
        lines += signIn.summary
        lines += network.summary(at: now)
        for event in recent {
            let message = LogText.escaped(event.message, limit: LogText.longestLine)
            lines.append("  \(event.level)    \(LogOutput.timestamp(event.time)) \(message)")
        }
        return lines
    }

    private var programMetrics: [MetricFamily] {
        [
            .gauge(
                "rankfs_build_info", "Version and source of the mount; always 1.",
                [.init(1, [("mount_point", mountPoint), ("source", source), ("version", version)])]),
            .gauge("rankfs_start_time_seconds", "Unix time of the start.", [.init(started)]),
            .counter(
                "rankfs_messages_total", "Warnings and errors in the log.",
                [.init(errors, [("level", "error")]), .init(warnings, [("level", "warning")])]),
        ]
    }

    private var kernelMetrics: [MetricFamily] {
        [
            .gauge(
                "rankfs_waiting_requests", "Requests of the kernel that wait for an answer.", [.init(waitingRequests)]),
            .gauge("rankfs_inodes", "Inodes that the kernel knows.", [.init(inodes)]),
            .gauge("rankfs_open_handles", "Open files and directories.", [.init(handles)]),
        ]
    }
}

extension StatusDocument {
    /// The part for other users of the mount: figures, but no pictures being read, directories or signed-in user.
    var publicPart: StatusDocument {
        var document = self
        document.cache = cache.publicPart
        document.signIn = signIn.publicPart
        document.recent = []
        return document
    }

    /// The document as JSON text with sorted keys and a final newline.
    var json: [UInt8] {
        // Encoding fails only for numbers beyond 64 bits, and there are none.
        let text = try? JSONText(self, spelling: .snakeCase)
        return Array((text ?? .object([])).document(colon: " : ").utf8)
    }

    /// Parses a document from JSON text, with its figures within bounds; nil if the text is not a status document.
    ///
    /// Bounds are needed because every user may mount a file system that claims to be rankfs.
    init?(json: [UInt8]) {
        guard let told = try? JSONReader.read(json),
            let document = try? told.bounded.decoded(as: StatusDocument.self, spelling: .snakeCase)
        else { return nil }
        self = document
    }
}

/// The content of `/.rankfs/metrics`, a pure function of the status.
///
/// The text format of Prometheus, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
enum Metrics {
    /// The text of a document's figures.
    static func text(of document: StatusDocument) -> [UInt8] {
        Array(document.metrics.map(\.text).joined().utf8)
    }
}
