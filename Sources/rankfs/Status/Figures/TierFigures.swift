import HTTP
import Tier

extension StatusDocument {
    /// The shared tier, and what came of it since the start.
    struct TierFigures: Codable, Hashable, Sendable {
        /// `up`, `resting` or `read-only`.
        var state: String
        /// Why, if it does not work.
        var reason: String?
        /// Seconds until it is asked again.
        var restsFor: Int?
        /// Pictures that came from it, and those that were not there.
        var hits: Int
        var misses: Int
        /// Pictures that came from it after another machine had downloaded them.
        var awaited: Int
        /// Answers that another machine had been given, and those that the service was asked for.
        var answersShared: Int
        var answersAsked: Int
        /// Objects that were damaged.
        var wrong: Int
        /// Pictures brought there, and those that wait for it.
        var uploads: Int
        var waiting: Int
        /// Pictures that were to be brought there and will not be: the store does not take them, or they have gone.
        var dropped: Int?
        var receivedBytes: Int64
        var sentBytes: Int64
        /// Requests to the store: GET, and PUT or DELETE.
        var reads: Int?
        var writes: Int?
    }
}

extension StatusDocument.TierFigures {
    init(_ parts: TierParts) {
        let (status, requests) = (parts.tier.status, parts.requests)
        let counts = status.counts
        self.init(
            state: status.state, reason: status.reason, restsFor: status.restsFor, hits: counts.hits,
            misses: counts.misses, awaited: counts.awaited, answersShared: counts.answersShared,
            answersAsked: counts.answersAsked, wrong: counts.wrong, uploads: counts.uploads, waiting: status.waiting,
            dropped: counts.dropped,
            receivedBytes: counts.receivedBytes, sentBytes: counts.sentBytes, reads: requests.get,
            writes: requests.write)
    }

    var metrics: [MetricFamily] {
        [
            .gauge("rankfs_tier_works", "Whether the shared tier is asked now.", [.init(state == "up" ? 1 : 0)]),
            .counter(
                "rankfs_tier_pictures_total", "Pictures looked for on the shared tier.",
                [.init(hits, [("found", "yes")]), .init(misses, [("found", "no")])]),
            .counter(
                "rankfs_tier_awaited_total", "Pictures that another machine was downloading.", [.init(awaited)]),
            .counter(
                "rankfs_tier_answers_total", "Answers of the service, by whether another machine had been given them.",
                [.init(answersShared, [("shared", "yes")]), .init(answersAsked, [("shared", "no")])]),
            .counter("rankfs_tier_wrong_total", "Damaged objects found.", [.init(wrong)]),
            .counter("rankfs_tier_uploads_total", "Pictures brought to the shared tier.", [.init(uploads)]),
            .counter(
                "rankfs_tier_dropped_total", "Pictures that were to be brought there and will not be.",
                [.init(dropped ?? 0)]),
            .gauge("rankfs_tier_waiting", "Pictures that wait to be brought there.", [.init(waiting)]),
            .counter("rankfs_tier_received_bytes_total", "Bytes of pictures from there.", [.init(receivedBytes)]),
            .counter("rankfs_tier_sent_bytes_total", "Bytes of pictures brought there.", [.init(sentBytes)]),
            .counter(
                "rankfs_tier_requests_total", "Requests to the object store.",
                [.init(reads ?? 0, [("kind", "read")]), .init(writes ?? 0, [("kind", "write")])]),
        ]
    }

    /// What `rankfs status` shows.
    var summary: [String] {
        var state = state == "up" ? "" : "\(state): \(LogText.escaped(reason ?? "")); "
        if let restsFor { state += "asked again in \(restsFor) s; " }
        var lines = [
            "  tier       \(state)\(Counted.text(hits, "picture")) from it, \(misses) not there, "
                + "\(answersShared) of \(answersShared + answersAsked) answers shared"
        ]
        if uploads + waiting > 0 {
            lines.append("             \(Counted.text(uploads, "upload")), \(waiting) waiting")
        }
        if let dropped, dropped > 0 { lines.append("             \(Counted.text(dropped, "picture")) not brought") }
        if wrong > 0 { lines.append("             \(Counted.text(wrong, "damaged object"))") }
        return lines
    }
}
