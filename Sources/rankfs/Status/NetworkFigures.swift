import HTTP

extension StatusDocument {
    /// The figures of the network.
    struct NetworkFigures: Codable, Hashable, Sendable {
        var activeTransfers: Int
        var queuedTransfers: Int
        /// API requests that may be sent at once.
        var tokens: Double
        /// Unix seconds at which the cool-down that the service requested ends.
        var closedUntil: Int64?
        /// Unix seconds at which the cool-down that the image host requested ends.
        var imageHostClosedUntil: Int64?
        /// Unix seconds until which no requests are sent to a host because its front turns programs away.
        var turnedAwayUntil: Int64?
        /// API requests a second once the tokens are spent.
        var rate: Double?
        var requests: Requests
        /// Whether the mount is offline, so that no request may leave.
        var offline = false
        /// Whether the network is metered, so that nothing is downloaded ahead.
        var metered = false
        /// The reasons why hosts cannot be reached: unknown names, proxies that refuse, wrong certificates.
        var troubles: [Trouble] = []
    }

    /// The reason why a host cannot be reached at present.
    struct Trouble: Codable, Hashable, Sendable {
        /// Unix seconds.
        var since: Int64
        /// A sentence with cause and remedy.
        var message: String
    }
}

extension StatusDocument.NetworkFigures {
    init(_ parts: Parts) {
        let transfers = parts.queue.counts
        let gate = parts.gate.state
        let pauses = parts.queue.pauses
        let fronts = pauses.filter { $0.value.front != nil }
        var troubles = parts.health.troubles.map {
            StatusDocument.Trouble(since: $0.since, message: $0.sentence)
        }
        for (host, pause) in fronts.sorted(by: { $0.key < $1.key }) {
            troubles.append(StatusDocument.Trouble(since: pause.began, message: parts.frontSentence(host, pause)))
        }
        self.init(
            activeTransfers: transfers.active, queuedTransfers: transfers.queued,
            tokens: (gate.tokens * 100).rounded() / 100, closedUntil: gate.closedUntil,
            imageHostClosedUntil: pauses.values.filter { $0.front == nil }.map(\.end).max(),
            turnedAwayUntil: fronts.values.map(\.end).max(), rate: parts.rate,
            requests: StatusDocument.Requests(parts.transport.requestCounts), offline: parts.isOffline,
            metered: parts.meter.isMetered,
            troubles: troubles)
    }

    /// Unix seconds of the end of the last cool-down.
    var opensAgain: Int64? {
        [closedUntil, imageHostClosedUntil, turnedAwayUntil].compactMap(\.self).max()
    }

    /// The hosts with a cool-down at a moment, in Unix seconds, and its end.
    func waits(at now: Int64) -> [(host: String, end: Int64)] {
        [("service", closedUntil), ("image host", imageHostClosedUntil)].compactMap { host, end in
            end.flatMap { $0 > now ? (host, $0) : nil }
        }
    }

    /// The metrics for Prometheus.
    ///
    /// - Parameter now: Unix seconds.
    /// - Returns: Metric families; cool-downs as the seconds that are left.
    func metrics(at now: Int64) -> [MetricFamily] {
        func left(_ end: Int64?) -> Int64 { max(0, (end ?? 0) - now) }
        return [
            .gauge(
                "rankfs_transfers", "Requests under way and waiting for a connection.",
                [.init(activeTransfers, [("state", "active")]), .init(queuedTransfers, [("state", "queued")])]),
            .gauge("rankfs_api_tokens", "API requests that may go at once.", [.init(text: "\(tokens)")]),
            .gauge(
                "rankfs_cool_down_seconds", "For how long a host still wants no requests.",
                [
                    .init(left(closedUntil), [("host", "api")]),
                    .init(left(imageHostClosedUntil), [("host", "images")]),
                    .init(left(turnedAwayUntil), [("host", "front")]),
                ]),
        ]
    }

    /// The lines of `rankfs status` about obstacles to requests.
    ///
    /// - Parameter now: Unix seconds.
    /// - Returns: Lines.
    func summary(at now: Int64) -> [String] {
        var lines: [String] = []
        if metered { lines.append("  metered    nothing is downloaded ahead, for the network is metered") }
        for trouble in troubles {
            lines.append("  network    \(LogText.escaped(trouble.message, limit: LogText.longestLine))")
        }
        if offline { lines.append("  offline    no request leaves; only what is stored is there") }
        for (host, end) in waits(at: now) {
            let left = DisplayText.duration(end - now)
            lines.append("  waiting    the \(host) asked to be left alone for another \(left)")
        }
        return lines
    }
}

// MARK: - Request figures

extension StatusDocument {
    /// Requests since the start, by purpose.
    struct Requests: Codable, Hashable, Sendable {
        /// Listings, works and authors.
        var api = Counts()
        /// Queries for the sizes of pictures.
        var size = Counts()
        /// Pictures and parts of them.
        var picture = Counts()
        /// Small previews for thumbnails.
        var preview = Counts()
        /// Connections to the image host, made before a picture is requested.
        var connection: Counts? = Counts()
    }

    /// Requests sent and their outcomes; a request that is repeated or redirected counts each time.
    struct Counts: Codable, Hashable, Sendable {
        var head = 0
        var get = 0
        /// Bytes of bodies.
        var receivedBytes: Int64 = 0
        var answers = Answers()
        var failures = Failures()

        /// Answers by their status.
        struct Answers: Codable, Hashable, Sendable {
            /// 2xx.
            var succeeded = 0
            /// 3xx.
            var redirected = 0
            /// 429: too many requests.
            var limited = 0
            /// The other 4xx.
            var refused = 0
            /// 5xx.
            var serverFailed = 0
        }

        /// Requests that ended without a whole answer.
        struct Failures: Codable, Hashable, Sendable {
            var unreachable = 0
            var timedOut = 0
            var broken = 0
            /// The answer is malformed, or redirects to a place that is not allowed.
            var invalid = 0
            /// No reader wanted the rest.
            var cancelled = 0
        }
    }
}

extension StatusDocument.Requests {
    init(_ counts: [(purpose: RequestPurpose, counts: RequestCounts)]) {
        for (purpose, counts) in counts {
            switch purpose {
            case .api: api = .init(counts)
            case .size: size = .init(counts)
            case .picture: picture = .init(counts)
            case .preview: preview = .init(counts)
            case .connection: connection = .init(counts)
            // The tier has a section of its own.
            case .tier: break
            }
        }
    }

    /// All purposes, each with its name in the document.
    private var all: [(name: String, counts: StatusDocument.Counts)] {
        inText + [("connection", connection ?? .init())]
    }

    /// The purposes shown in texts: without connections, which a host may answer with any status.
    private var inText: [(name: String, counts: StatusDocument.Counts)] {
        [("api", api), ("size", size), ("picture", picture), ("preview", preview)]
    }

    var metrics: [MetricFamily] {
        let sent = all.flatMap { name, counts in
            [
                MetricFamily.Sample(counts.get, [("method", "get"), ("purpose", name)]),
                MetricFamily.Sample(counts.head, [("method", "head"), ("purpose", name)]),
            ]
        }
        let answers = all.flatMap { name, counts in
            counts.answers.named.map { MetricFamily.Sample($0.count, [("purpose", name), ("result", $0.name)]) }
        }
        let failures = all.flatMap { name, counts in
            counts.failures.named.map { MetricFamily.Sample($0.count, [("purpose", name), ("reason", $0.name)]) }
        }
        return [
            .counter("rankfs_http_requests_total", "Requests sent.", sent),
            .counter("rankfs_http_answers_total", "Answers, by what their status means.", answers),
            .counter("rankfs_http_failures_total", "Requests that ended without a whole answer.", failures),
            .counter(
                "rankfs_http_received_bytes_total", "Bytes of bodies received.",
                all.map { .init($0.counts.receivedBytes, [("purpose", $0.name)]) }),
        ]
    }

    /// `12 to the service, 500 for sizes, 30 for pictures, 3 failed`; nil if there were none.
    var text: String? {
        guard inText.contains(where: { $0.counts.sent > 0 }) else { return nil }
        var parts = ["\(api.sent) to the service", "\(size.sent) for sizes", "\(picture.sent) for pictures"]
        if preview.sent > 0 { parts.append("\(preview.sent) for previews") }
        let failed = inText.reduce(0) { $0 + $1.counts.failed }
        if failed > 0 { parts.append("\(failed) failed") }
        return parts.joined(separator: ", ")
    }

    /// The line of `rankfs status`.
    var summary: [String] {
        text.map { ["  requests   \($0)"] } ?? []
    }
}

extension StatusDocument.Counts {
    init(_ counts: RequestCounts) {
        head = counts.head
        get = counts.get
        receivedBytes = counts.receivedBytes
        answers = Answers(
            succeeded: counts.succeeded, redirected: counts.redirected, limited: counts.limited,
            refused: counts.refused, serverFailed: counts.serverFailed)
        failures = Failures(
            unreachable: counts.unreachable, timedOut: counts.timedOut, broken: counts.broken, invalid: counts.invalid,
            cancelled: counts.cancelled)
    }

    /// Requests sent.
    var sent: Int { head + get }

    /// Requests that were refused, or that ended without an answer although it was wanted.
    var failed: Int {
        answers.limited + answers.refused + answers.serverFailed + failures.unreachable + failures.timedOut
            + failures.broken + failures.invalid
    }
}

extension StatusDocument.Counts.Answers {
    /// All counts, each with its name in metrics.
    var named: [(name: String, count: Int)] {
        [
            ("succeeded", succeeded), ("redirected", redirected), ("limited", limited), ("refused", refused),
            ("server_failed", serverFailed),
        ]
    }
}

extension StatusDocument.Counts.Failures {
    /// All counts, each with its name in metrics.
    var named: [(name: String, count: Int)] {
        [
            ("unreachable", unreachable), ("timed_out", timedOut), ("broken", broken), ("invalid", invalid),
            ("cancelled", cancelled),
        ]
    }
}
