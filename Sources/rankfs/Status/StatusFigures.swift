import CLinux
import Catalog
import Fuse
import Glibc
import HTTP
import ImageCache
import RankFS
import Rankings
import Sourcing
import Synchronization
import Tier

/// A mount that is served, as its status describes it.
///
/// ## Concurrency
///
/// Any thread may call. The mutex guards the session and the file system, which are made later than this object.
final class ServedMount: Sendable {
    let request: MountRequest
    let mountPoint: String
    let place: CachePlace
    let parts: Parts
    let thumbnails: ThumbnailSeeder?
    let log: Log
    let started = TimeSource.wallClock()
    private let mounted = Mutex<(session: Session, fileSystem: RankFileSystem)?>(nil)

    init(
        request: MountRequest, mountPoint: String, place: CachePlace, parts: Parts, thumbnails: ThumbnailSeeder?,
        log: Log
    ) {
        (self.request, self.mountPoint, self.place) = (request, mountPoint, place)
        (self.parts, self.thumbnails, self.log) = (parts, thumbnails, log)
    }

    /// Sets the session and the file system once they exist.
    func attach(_ session: Session, serving fileSystem: RankFileSystem) {
        mounted.withLock { $0 = (session, fileSystem) }
    }

    /// The session and the file system; nil before the mount is made.
    var served: (session: Session, fileSystem: RankFileSystem)? { mounted.withLock { $0 } }
}

/// The state of a mount at one moment, from which the figures are taken.
struct StatusMoment {
    let mount: ServedMount
    let time = TimeSource.wallClock()
    let monotonic = Self.seconds()
    let waitingRequests: Int
    let kernel: RankFileSystem.Figures?
    let messages: (warnings: Int, errors: Int)
    let cache: ImageCacheStatus
    let catalog: CatalogStatus
    let thumbnails: ThumbnailSeeder.Figures?
    let tier: Tier.Status?
    let transfers: (active: Int, queued: Int)
    let service: (tokens: Double, closedUntil: Int64?)
    let pauses: [String: HostPause]
    private let requests: [RequestPurpose: RequestCounts]

    /// Takes the state of now.
    init(_ mount: ServedMount) {
        let (parts, served) = (mount.parts, mount.served)
        self.mount = mount
        waitingRequests = served?.session.waiting ?? 0
        kernel = served?.fileSystem.figures
        messages = mount.log.counts
        cache = parts.cache.status()
        catalog = parts.catalog.status()
        thumbnails = mount.thumbnails?.figures
        tier = parts.tier?.status
        transfers = parts.queue.counts
        service = parts.queue.service
        pauses = parts.queue.pauses
        requests = Dictionary(parts.transport.requestCounts.map { ($0.purpose, $0.counts) }) { $1 }
    }

    /// Seconds of the clock that is never set, to the millisecond.
    private static func seconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec / 1_000_000) / 1000
    }

    /// The hosts with a front that turns programs away, by name.
    var fronts: [(key: String, value: HostPause)] {
        pauses.filter { $0.value.front != nil }.sorted { $0.key < $1.key }
    }

    /// The requests of a purpose since the start.
    func requests(_ purpose: RequestPurpose) -> RequestCounts { requests[purpose] ?? RequestCounts() }
}

/// A figure of the status: its place in `status.json`, its metrics for Prometheus, and its origin.
///
/// A new figure is a row of one of the tables in this file.
struct StatusFigure: Sendable {
    /// The kinds of values.
    enum Kind { case whole, real, flag, text, list }

    /// A metric with the labels that distinguish it from others of its family, which stand beside it.
    ///
    /// A family whose name ends with `_total` only goes up.
    ///
    /// `measure` returns the sample of a value at a time in Unix seconds; null if there is none.
    typealias Metric = (
        name: String, help: String, measure: @Sendable (_ value: JSON, _ time: Int64) -> JSON
    )

    /// The names of the objects that hold the figure, and its own, separated by dots.
    let path: String
    let kind: Kind
    /// Returns the value at a moment; null if it is absent.
    let value: @Sendable (StatusMoment) -> JSON
    /// Whether the figure may be absent.
    private(set) var isOptional = false
    /// Whether only the mount's owner sees it.
    private(set) var isPrivate = false
    private(set) var metrics: [Metric] = []

    private init(_ path: String, _ kind: Kind, _ value: @escaping @Sendable (StatusMoment) -> JSON) {
        self.path = path
        self.kind = kind
        self.value = value
    }

    /// Whether a value is one of this figure.
    func admits(_ value: JSON) -> Bool {
        switch (kind, value) {
        case (_, .null): isOptional
        case (.whole, .real(let number)): Int64(exactly: number) != nil
        case (.whole, .integer), (.real, .integer), (.real, .real), (.flag, .bool), (.text, .string), (.list, .array):
            true
        default: false
        }
    }

    // MARK: Rows

    private static func whole<Number: BinaryInteger & SendableMetatype>(
        _ path: String, _ value: @escaping @Sendable (StatusMoment) -> Number?
    ) -> Self {
        Self(path, .whole) { value($0).map { .integer(Int64(clamping: $0)) } ?? .null }
    }

    private static func real(_ path: String, _ value: @escaping @Sendable (StatusMoment) -> Double) -> Self {
        Self(path, .real) { .real(value($0)) }
    }

    private static func flag(_ path: String, _ value: @escaping @Sendable (StatusMoment) -> Bool) -> Self {
        Self(path, .flag) { .bool(value($0)) }
    }

    private static func text(_ path: String, _ value: @escaping @Sendable (StatusMoment) -> String?) -> Self {
        Self(path, .text) { value($0).map(JSON.string) ?? .null }
    }

    private static func list(_ path: String, _ value: @escaping @Sendable (StatusMoment) -> [JSON]) -> Self {
        Self(path, .list) { .array(value($0)) }
    }

    /// The same figure, which may be absent.
    private var optional: Self {
        var figure = self
        figure.isOptional = true
        return figure
    }

    /// The same figure, for the mount's owner only.
    private var hidden: Self {
        var figure = self
        figure.isPrivate = true
        return figure
    }

    /// The same figure with one more metric: the value itself if no other measure is given, and 1 or 0 for a truth value.
    private func metric(
        _ name: String, _ help: String,
        _ measure: @escaping @Sendable (JSON, _ time: Int64) -> JSON = { value, _ in
            if case .bool(let flag) = value { .integer(flag ? 1 : 0) } else { value }
        }
    ) -> Self {
        var figure = self
        figure.metrics.append((name, help, measure))
        return figure
    }
}

// MARK: - Tables

extension StatusFigure {
    /// All figures, in the order of their metrics.
    static let all = program + cache + network + requests + catalog + kernel + (thumbnails + tier).map(\.optional)

    private static let program: [Self] = [
        .text("version") { _ in Version.text },
        .text("source") { $0.mount.request.source.rawValue },
        .text("mount_point") { $0.mount.mountPoint },
        .whole("pid") { _ in getpid() },
        .whole("started") { $0.mount.started }.metric("rankfs_start_time_seconds", "Unix time of the start."),
        .whole("time") { $0.time },
        // Of a clock that is never set, for differences.
        .real("monotonic") { $0.monotonic },
        .whole("uptime") { max(0, $0.time - $0.mount.started) },
        // Since the start, including those no longer in `recent`.
        .whole("errors") { $0.messages.errors }
            .metric(#"rankfs_messages_total{level="error"}"#, "Warnings and errors in the log."),
        .whole("warnings") { $0.messages.warnings }.metric(#"rankfs_messages_total{level="warning"}"#, ""),
        .list("recent") { moment in
            moment.mount.log.recent.map {
                .members([
                    ("level", .string($0.level.name)), ("message", .string($0.message)), ("time", .integer($0.time)),
                ])
            }
        }.hidden,
    ]

    /// Wishes that are named: as many as a terminal has lines for.
    private static let shownQueue = 20

    private static let cache: [Self] = [
        .text("cache.directory") { $0.mount.place.directory }.hidden,
        .whole("cache.stored_pictures") { $0.cache.storedPictures }
            .metric("rankfs_cache_stored_pictures", "Pictures stored."),
        .whole("cache.stored_bytes") { $0.cache.storedBytes }
            .metric("rankfs_cache_stored_bytes", "Bytes of stored pictures."),
        .whole("cache.pinned_pictures") { $0.cache.pinned.pictures }
            .metric("rankfs_cache_pinned_pictures", "Stored pictures that are pinned."),
        .whole("cache.pinned_bytes") { $0.cache.pinned.bytes }
            .metric("rankfs_cache_pinned_bytes", "Bytes of pinned pictures."),
        .whole("cache.budget") { $0.cache.budget }
            .metric("rankfs_cache_budget_bytes", "Bytes that stored pictures may take."),
        .flag("cache.is_storing") { $0.cache.isStoring }
            .metric("rankfs_cache_writable", "1 if the disk takes pictures."),
        .whole("cache.open_pictures") { $0.cache.openPictures }
            .metric("rankfs_cache_open_pictures", "Pictures that are open."),
        .whole("cache.evicted") { $0.cache.evicted }
            .metric("rankfs_cache_evicted_pictures_total", "Pictures evicted."),
        .whole("cache.preloaded") { $0.cache.preloaded }
            .metric("rankfs_preloaded_pictures_total", "Pictures preloaded."),
        .whole("cache.received_bytes") { $0.cache.receivedBytes }
            .metric("rankfs_picture_received_bytes_total", "Bytes of pictures received."),
        .list("cache.downloads") { moment in
            moment.cache.downloads.map {
                .members([
                    ("is_queued", .bool($0.isQueued)), ("is_read", .bool($0.isRead)),
                    ("path", $0.path.map(JSON.string)), ("picture", .string($0.picture.key)),
                    ("received", .integer($0.received)), ("total", $0.total.map(JSON.integer)),
                ])
            }
        }.hidden
            .metric(#"rankfs_downloads{activity="preloading"}"#, "Pictures on their way, by what for.") { list, _ in
                .integer(Int64(list.elements.count { $0["is_read"].flag != true }))
            }
            .metric(#"rankfs_downloads{activity="reading"}"#, "") { list, _ in
                .integer(Int64(list.elements.count { $0["is_read"].flag == true }))
            },
        .whole("cache.queued_preloads") { $0.cache.queued.count }
            .metric("rankfs_queued_preloads", "Preloads that wait for their turn."),
        .list("cache.queue") { moment in
            moment.cache.queued.prefix(shownQueue).map {
                .members([("path", $0.path.map { .string($0()) }), ("picture", .string($0.id.key))])
            }
        }.hidden,
    ]

    private static let network: [Self] = [
        .whole("network.active_transfers") { $0.transfers.active }
            .metric(#"rankfs_transfers{state="active"}"#, "Requests under way and waiting for a connection."),
        .whole("network.queued_transfers") { $0.transfers.queued }.metric(#"rankfs_transfers{state="queued"}"#, ""),
        // API requests that may be sent at once.
        .real("network.tokens") { ($0.service.tokens * 100).rounded() / 100 }
            .metric("rankfs_api_tokens", "API requests that may go at once."),
        coolDown("closed_until", of: "api") { $0.service.closedUntil },
        coolDown("image_host_closed_until", of: "images") { moment in
            moment.pauses.values.filter { $0.front == nil }.map(\.end).max()
        },
        // A front turns programs away.
        coolDown("turned_away_until", of: "front") { $0.fronts.map(\.value.end).max() },
        // API requests a second once the tokens are spent.
        .real("network.rate") { $0.mount.parts.rate }.optional,
        .flag("network.offline") { $0.mount.parts.isOffline },
        .flag("network.metered") { $0.mount.parts.meter.isMetered },
        .list("network.troubles") { moment in
            let parts = moment.mount.parts
            let fronts = moment.fronts.map { ($0.value.began, parts.frontSentence($0.key, $0.value)) }
            return (parts.health.troubles + fronts).map {
                .members([("message", .string($1)), ("since", .integer($0))])
            }
        },
        .whole("sign_in.user") { $0.mount.parts.source.signIn.user?.rawValue }.optional.hidden,
        .text("sign_in.state") { state(of: $0.mount.parts.source.signIn) }
            .metric("rankfs_signed_in", "1 if the mount has a session that works.") { state, _ in
                .integer(state.text == "signed_in" ? 1 : 0)
            },
    ]

    /// The Unix seconds at which a host's cool-down ends; its metric has the seconds that are left.
    private static func coolDown(
        _ name: String, of host: String, _ end: @escaping @Sendable (StatusMoment) -> Int64?
    ) -> Self {
        .whole("network.\(name)", end).optional
            .metric(
                #"rankfs_cool_down_seconds{host="\#(host)"}"#, "For how long a host still wants no requests."
            ) { end, time in .integer(max(0, (end.number ?? 0) - time)) }
    }

    /// A state of the session in a word.
    static func state(of signIn: SignIn) -> String {
        switch signIn {
        case .signedOut: "signed_out"
        case .signedIn: "signed_in"
        case .expired: "expired"
        }
    }

    private static let catalog: [Self] = [
        .whole("catalog.loaded_listings") { $0.catalog.loadedListings }
            .metric(#"rankfs_listings{place="memory"}"#, "Listings stored, and those in memory."),
        .whole("catalog.stored_listings") { $0.catalog.storedListings }.metric(#"rankfs_listings{place="stored"}"#, ""),
        .whole("catalog.loaded_entries") { $0.catalog.loadedEntries }
            .metric("rankfs_listing_entries", "Entries of the listings in memory."),
        .whole("catalog.known_sizes") { $0.catalog.knownSizes }
            .metric("rankfs_known_sizes", "Pictures whose size is known."),
        // Requests that `images=original` and `works/` caused since the start.
        .whole("catalog.original_questions_to_host") { $0.catalog.originalQuestions.host }
            .metric(#"rankfs_original_questions_total{host="images"}"#, "Questions about originals."),
        .whole("catalog.original_questions_to_service") { $0.catalog.originalQuestions.service }
            .metric(#"rankfs_original_questions_total{host="api"}"#, ""),
    ]

    private static let kernel: [Self] = [
        .whole("waiting_requests") { $0.waitingRequests }
            .metric("rankfs_waiting_requests", "Requests of the kernel that wait for an answer."),
        .whole("inodes") { $0.kernel?.inodes ?? 0 }.metric("rankfs_inodes", "Inodes that the kernel knows."),
        .whole("handles") { $0.kernel?.handles ?? 0 }.metric("rankfs_open_handles", "Open files and directories."),
    ]

    private static let thumbnails: [Self] = [
        .whole("thumbnails.files") { $0.thumbnails?.files }
            .metric("rankfs_thumbnails_total", "Thumbnail files written."),
        .whole("thumbnails.received_bytes") { $0.thumbnails?.bytes }
            .metric("rankfs_thumbnail_received_bytes_total", "Bytes of previews received for thumbnails."),
    ]

    private static let tier: [Self] = [
        .text("tier.state") { $0.tier?.state }
            .metric("rankfs_tier_works", "Whether the shared tier is asked now.") { state, _ in
                state.isNull ? .null : .integer(state.text == "up" ? 1 : 0)
            },
        .text("tier.reason") { $0.tier?.reason },
        // Seconds until the next request to it.
        .whole("tier.rests_for") { $0.tier?.restsFor },
        .whole("tier.hits") { $0.tier?.counts.hits }
            .metric(#"rankfs_tier_pictures_total{found="yes"}"#, "Pictures looked for on the shared tier."),
        .whole("tier.misses") { $0.tier?.counts.misses }.metric(#"rankfs_tier_pictures_total{found="no"}"#, ""),
        .whole("tier.awaited") { $0.tier?.counts.awaited }
            .metric("rankfs_tier_awaited_total", "Pictures that another machine was downloading."),
        .whole("tier.answers_shared") { $0.tier?.counts.answersShared }
            .metric(
                #"rankfs_tier_answers_total{shared="yes"}"#,
                "Answers of the service, by whether another machine had been given them."),
        .whole("tier.answers_asked") { $0.tier?.counts.answersAsked }
            .metric(#"rankfs_tier_answers_total{shared="no"}"#, ""),
        .whole("tier.wrong") { $0.tier?.counts.wrong }.metric("rankfs_tier_wrong_total", "Damaged objects found."),
        .whole("tier.unproven") { $0.tier?.counts.unproven }
            .metric("rankfs_tier_unproven_total", "Objects that no machine with the secret wrote."),
        .whole("tier.slow") { $0.tier?.counts.slow }
            .metric("rankfs_tier_slow_total", "Pictures that would have come sooner from the service."),
        .whole("tier.slowed_down") { $0.tier?.counts.slowedDown }
            .metric("rankfs_tier_slowed_down_total", "Answers of the store that there are too many requests."),
        .whole("tier.uploads") { $0.tier?.counts.uploads }
            .metric("rankfs_tier_uploads_total", "Pictures brought to the shared tier."),
        // The store refuses them, or they are no longer stored.
        .whole("tier.dropped") { $0.tier?.counts.dropped }
            .metric("rankfs_tier_dropped_total", "Pictures that were to be brought there and will not be."),
        .whole("tier.waiting") { $0.tier?.waiting }
            .metric("rankfs_tier_waiting", "Pictures that wait to be brought there."),
        .whole("tier.received_bytes") { $0.tier?.counts.receivedBytes }
            .metric("rankfs_tier_received_bytes_total", "Bytes of pictures from there."),
        .whole("tier.sent_bytes") { $0.tier?.counts.sentBytes }
            .metric("rankfs_tier_sent_bytes_total", "Bytes of pictures brought there."),
        .whole("tier.reads") { $0.mount.parts.tierMeans?.requests.get }
            .metric(#"rankfs_tier_requests_total{kind="read"}"#, "Requests to the object store."),
        .whole("tier.writes") { $0.mount.parts.tierMeans?.requests.write }
            .metric(#"rankfs_tier_requests_total{kind="write"}"#, ""),
        latency(0), latency(1), latency(2), latency(3),
        .whole("tier.latency.milliseconds") { $0.tier.map { Int64($0.counts.answersTook / .milliseconds(1)) } }
            .metric("rankfs_tier_latency_milliseconds_total", "The time of all those answers together."),
    ]

    /// The answers of the store about documents and leases within one of the limits, and not within the one before.
    private static func latency(_ index: Int) -> Self {
        let limits = TierCounts.answerTimes
        let name = index < limits.count ? "\(limits[index])" : "more"
        return .whole("tier.latency.\(name)") { $0.tier?.counts.answers[index] }
            .metric(
                "rankfs_tier_latency_total{milliseconds=\"\(name)\"}",
                "Answers of the store about documents and leases, by the time within which they came.")
    }

    // MARK: Requests

    private static let requests = [
        sent("get") { $0.get }, sent("head") { $0.head },
        answers("succeeded") { $0.succeeded }, answers("redirected") { $0.redirected },
        answers("limited") { $0.limited }, answers("refused") { $0.refused },
        answers("server_failed") { $0.serverFailed },
        failures("unreachable") { $0.unreachable }, failures("timed_out") { $0.timedOut },
        failures("broken") { $0.broken }, failures("invalid") { $0.invalid }, failures("cancelled") { $0.cancelled },
        counts("received_bytes", "received_bytes_total", [], "Bytes of bodies received.") { $0.receivedBytes },
    ].flatMap(\.self)

    private typealias Count<Number> = @Sendable (RequestCounts) -> Number

    private static func sent(_ name: String, _ count: @escaping Count<Int>) -> [Self] {
        counts(name, "requests_total", [("method", name)], "Requests sent.", count)
    }

    private static func answers(_ name: String, _ count: @escaping Count<Int>) -> [Self] {
        counts(
            "answers.\(name)", "answers_total", [("result", name)], "Answers, by what their status means.", count)
    }

    private static func failures(_ name: String, _ count: @escaping Count<Int>) -> [Self] {
        counts(
            "failures.\(name)", "failures_total", [("reason", name)], "Requests that ended without a whole answer.",
            count)
    }

    /// A count of requests since the start, for each purpose; the tier has a section of its own.
    private static func counts<Number: BinaryInteger & SendableMetatype>(
        _ path: String, _ family: String, _ labels: [(name: String, value: String)], _ help: String,
        _ count: @escaping Count<Number>
    ) -> [Self] {
        RequestPurpose.allCases.filter { $0 != .tier }.map { purpose in
            let labels = (labels + [("purpose", purpose.rawValue)]).sorted { $0.name < $1.name }
            let text = labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
            return .whole("network.requests.\(purpose.rawValue).\(path)") { count($0.requests(purpose)) }
                .metric("rankfs_http_\(family){\(text)}", help)
        }
    }
}
