import HTTP

extension StatusDocument {
    /// What the network is doing.
    struct NetworkFigures: Codable, Hashable, Sendable {
        var activeTransfers: Int
        var queuedTransfers: Int
        /// API requests that may go at once.
        var tokens: Double
        /// Unix seconds until which the service asked to be left alone.
        var closedUntil: Int64?
        /// Unix seconds until which the image host asked to be left alone.
        var imageHostClosedUntil: Int64?
        /// Unix seconds until which a host is not asked because something in front of it turns programs away.
        var turnedAwayUntil: Int64?
        /// API requests a second once the tokens are spent.
        var rate: Double?
        var requests: Requests
        /// Whether no request may leave.
        var offline = false
        /// Whether the network is metered, so that nothing is downloaded ahead.
        var metered = false
        /// What keeps hosts from being asked: names that do not exist, proxies that refuse, certificates that are wrong.
        var troubles: [Trouble] = []
    }

    /// Why a host cannot be asked at present.
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
        let service = parts.queue.service
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
            tokens: (service.tokens * 100).rounded() / 100, closedUntil: service.closedUntil,
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

    /// Who still wants no requests at a moment, in Unix seconds, and until when.
    func waits(at now: Int64) -> [(host: String, end: Int64)] {
        [("service", closedUntil), ("image host", imageHostClosedUntil)].compactMap { host, end in
            end.flatMap { $0 > now ? (host, $0) : nil }
        }
    }

    /// What Prometheus is told.
    ///
    /// - Parameter now: Unix seconds.
    /// - Returns: Cool-downs as the seconds that are left.
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

    /// What `rankfs status` shows of what keeps requests from leaving.
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
            let left = StatusCommand.duration(end - now)
            lines.append("  waiting    the \(host) asked to be left alone for another \(left)")
        }
        return lines
    }
}
