import RankFS
import Rankings

/// What `/.rankfs/status.json` says; names in JSON are these in lower case with underscores.
///
/// All that is said of a figure stands in the file of its section, in `Figures/`, or here: its name and meaning, where it comes from,
/// its metric for Prometheus and its words in `rankfs status`.
/// Counters count since the start, so that a watcher gets rates from two documents and their `monotonic`.
struct StatusDocument: Codable, Hashable, Sendable {
    /// The program's version.
    var version: String
    var source: String
    var mountPoint: String
    /// The serving process.
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
    /// Nil if they are off.
    var thumbnails: ThumbnailFigures?
    /// Nil if nothing is shared with other machines.
    var tier: TierFigures?
    /// Requests of the kernel that wait for an answer.
    var waitingRequests: Int
    /// Inodes that the kernel knows; 1 when it knows the root alone.
    var inodes: Int
    /// Open files and directories.
    var handles: Int
    /// Warnings and errors since the start, also those that are not in `recent` any more.
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

    /// The document for people.
    ///
    /// - Parameter now: Unix seconds of who reads it, by which cool-downs count down.
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
    /// What other users of the mount may know: figures, but not what is read, where it is stored and who is signed in.
    var publicPart: StatusDocument {
        var document = self
        document.cache = cache.publicPart
        document.signIn = signIn.publicPart
        document.recent = []
        return document
    }

    /// The document as JSON text with sorted keys and a final newline.
    var json: [UInt8] {
        // Only numbers beyond 64 bits cannot be encoded, and there are none.
        let text = try? JSONText(self, spelling: .snakeCase)
        return Array((text ?? .object([])).document(colon: " : ").utf8)
    }

    /// The document that some JSON text holds, its figures within bounds; nil if it is another one's.
    ///
    /// Every user may mount something that calls itself rankfs.
    init?(json: [UInt8]) {
        guard let told = try? JSONReader.read(json),
            let document = try? told.bounded.decoded(as: StatusDocument.self, spelling: .snakeCase)
        else { return nil }
        self = document
    }
}

/// What `/.rankfs/metrics` says, a pure function of the status.
///
/// The text format of Prometheus, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
enum Metrics {
    /// The text of a document's figures.
    static func text(of document: StatusDocument) -> [UInt8] {
        Array(document.metrics.map(\.text).joined().utf8)
    }
}
