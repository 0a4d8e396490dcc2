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
    let cache: ImageCacheStatus
    let catalog: CatalogStatus
    let tier: Tier.Status?
    let service: (tokens: Double, closedUntil: Int64?)
    let pauses: [String: HostPause]
    private let requests: [RequestPurpose: RequestCounts]

    /// Takes the state of now.
    init(_ mount: ServedMount) {
        let parts = mount.parts
        self.mount = mount
        cache = parts.cache.status()
        catalog = parts.catalog.status()
        tier = parts.tier?.status
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
    typealias Metric = (name: String, help: String, measure: Measure)
    /// The sample of a figure's value at a time in Unix seconds; null if there is none.
    typealias Measure = @Sendable (_ value: JSON, _ time: Int64) -> JSON

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

    /// A function of the state of a mount.
    private typealias Value<Result> = @Sendable (StatusMoment) -> Result

    /// A whole number, and the name and the text of a metric with it, if there is one.
    private static func whole<Number: BinaryInteger & SendableMetatype>(
        _ path: String, _ value: @escaping Value<Number?>, _ metric: String? = nil, _ help: String = ""
    ) -> Self {
        let figure = Self(path: path, kind: .whole) { value($0).map { .integer(Int64(clamping: $0)) } ?? .null }
        return metric.map { figure.metric($0, help) { number, _ in number } } ?? figure
    }

    private static func real(_ path: String, _ value: @escaping Value<Double>) -> Self {
        Self(path: path, kind: .real) { .real(value($0)) }
    }

    private static func flag(_ path: String, _ value: @escaping Value<Bool>) -> Self {
        Self(path: path, kind: .flag) { .bool(value($0)) }
    }

    private static func text(_ path: String, _ value: @escaping Value<String?>) -> Self {
        Self(path: path, kind: .text) { value($0).map(JSON.string) ?? .null }
    }

    private static func list(_ path: String, _ value: @escaping Value<[JSON]>) -> Self {
        Self(path: path, kind: .list) { .array(value($0)) }
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

    /// The same figure with one more metric, whose name begins with the program's.
    private func metric(_ name: String, _ help: String, _ measure: @escaping Measure) -> Self {
        var figure = self
        figure.metrics.append(("rankfs_" + name, help, measure))
        return figure
    }

    // MARK: - Tables

    /// All figures, in the order of their metrics.
    static let all = program + cache + network + requests + catalog + kernel + (thumbnails + tier).map(\.optional)

    private static let program: [Self] = [
        .text("version") { _ in Version.text },
        .text("source", \.mount.request.source.rawValue),
        .text("mount_point", \.mount.mountPoint),
        .whole("pid", { _ in getpid() }),
        .whole("started", \.mount.started, "start_time_seconds", "Unix time of the start."),
        .whole("time", \.time),
        // Of a clock that is never set, for differences.
        .real("monotonic", \.monotonic),
        .whole("uptime", { max(0, $0.time - $0.mount.started) }),
        // Since the start, including those no longer in `recent`.
        .whole(
            "errors", \.mount.log.counts.errors, #"messages_total{level="error"}"#, "Warnings and errors in the log."),
        .whole("warnings", \.mount.log.counts.warnings, #"messages_total{level="warning"}"#),
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
        .text("cache.directory", \.mount.place.directory).hidden,
        .whole("cache.stored_pictures", \.cache.storedPictures, "cache_stored_pictures", "Pictures stored."),
        .whole("cache.stored_bytes", \.cache.storedBytes, "cache_stored_bytes", "Bytes of stored pictures."),
        .whole(
            "cache.pinned_pictures", { $0.cache.pinned.pictures }, "cache_pinned_pictures",
            "Stored pictures that are pinned."
        ),
        .whole("cache.pinned_bytes", { $0.cache.pinned.bytes }, "cache_pinned_bytes", "Bytes of pinned pictures."),
        .whole("cache.budget", \.cache.budget, "cache_budget_bytes", "Bytes that stored pictures may take."),
        .flag("cache.is_storing", \.cache.isStoring)
            .metric("cache_writable", "1 if the disk takes pictures.") { isStoring, _ in
                .integer(isStoring.flag == true ? 1 : 0)
            },
        .whole("cache.open_pictures", \.cache.openPictures, "cache_open_pictures", "Pictures that are open."),
        .whole("cache.evicted", \.cache.evicted, "cache_evicted_pictures_total", "Pictures evicted."),
        .whole("cache.preloaded", \.cache.preloaded, "preloaded_pictures_total", "Pictures preloaded."),
        .whole(
            "cache.received_bytes", \.cache.receivedBytes, "picture_received_bytes_total", "Bytes of pictures received."
        ),
        .list("cache.downloads") { moment in
            moment.cache.downloads.map {
                .members([
                    ("is_queued", .bool($0.isQueued)), ("is_read", .bool($0.isRead)),
                    ("path", $0.path.map(JSON.string)), ("picture", .string($0.picture.key)),
                    ("received", .integer($0.received)), ("total", $0.total.map(JSON.integer)),
                ])
            }
        }.hidden
            .metric(#"downloads{activity="preloading"}"#, "Pictures on their way, by what for.") { list, _ in
                .integer(Int64(list.elements.count { $0["is_read"].flag != true }))
            }
            .metric(#"downloads{activity="reading"}"#, "") { list, _ in
                .integer(Int64(list.elements.count { $0["is_read"].flag == true }))
            },
        .whole("cache.queued_preloads", \.cache.queued.count, "queued_preloads", "Preloads that wait for their turn."),
        .list("cache.queue") { moment in
            moment.cache.queued.prefix(shownQueue).map {
                .members([("path", $0.path.map { .string($0()) }), ("picture", .string($0.id.key))])
            }
        }.hidden,
    ]

    private static let network: [Self] = [
        .whole(
            "network.active_transfers", \.mount.parts.queue.counts.active, #"transfers{state="active"}"#,
            "Requests under way and waiting for a connection."),
        .whole("network.queued_transfers", \.mount.parts.queue.counts.queued, #"transfers{state="queued"}"#),
        // API requests that may be sent at once.
        .real("network.tokens") { ($0.service.tokens * 100).rounded() / 100 }
            .metric("api_tokens", "API requests that may go at once.") { tokens, _ in tokens },
        coolDown("closed_until", of: "api", \.service.closedUntil),
        coolDown("image_host_closed_until", of: "images") { moment in
            moment.pauses.values.filter { $0.front == nil }.map(\.end).max()
        },
        // A front turns programs away.
        coolDown("turned_away_until", of: "front") { $0.fronts.map(\.value.end).max() },
        // API requests a second once the tokens are spent.
        .real("network.rate", \.mount.parts.rate).optional,
        .flag("network.offline", \.mount.parts.isOffline),
        .flag("network.metered", \.mount.parts.meter.isMetered),
        .list("network.troubles") { moment in
            let parts = moment.mount.parts
            let fronts = moment.fronts.map { ($0.value.began, parts.frontSentence($0.key, $0.value)) }
            return (parts.health.troubles + fronts).map {
                .members([("message", .string($1)), ("since", .integer($0))])
            }
        },
        .whole("sign_in.user", \.mount.parts.source.signIn.user?.rawValue).optional.hidden,
        .text("sign_in.state") { state(of: $0.mount.parts.source.signIn) }
            .metric("signed_in", "1 if the mount has a session that works.") { state, _ in
                .integer(state.text == "signed_in" ? 1 : 0)
            },
    ]

    /// The Unix seconds at which a host's cool-down ends; its metric has the seconds that are left.
    private static func coolDown(_ name: String, of host: String, _ end: @escaping Value<Int64?>) -> Self {
        .whole("network.\(name)", end).optional
            .metric(#"cool_down_seconds{host="\#(host)"}"#, "For how long a host still wants no requests.") {
                .integer(max(0, ($0.number ?? 0) - $1))
            }
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
        .whole(
            "catalog.loaded_listings", \.catalog.loadedListings, #"listings{place="memory"}"#,
            "Listings stored, and those in memory."),
        .whole("catalog.stored_listings", \.catalog.storedListings, #"listings{place="stored"}"#),
        .whole(
            "catalog.loaded_entries", \.catalog.loadedEntries, "listing_entries", "Entries of the listings in memory."),
        .whole("catalog.known_sizes", \.catalog.knownSizes, "known_sizes", "Pictures whose size is known."),
        // Requests that `images=original` and `works/` caused since the start.
        .whole(
            "catalog.original_questions_to_host", \.catalog.originalQuestions.host,
            #"original_questions_total{host="images"}"#, "Questions about originals."),
        .whole(
            "catalog.original_questions_to_service", \.catalog.originalQuestions.service,
            #"original_questions_total{host="api"}"#),
    ]

    private static let kernel: [Self] = [
        .whole(
            "waiting_requests", { $0.mount.served?.session.waiting ?? 0 }, "waiting_requests",
            "Requests of the kernel that wait for an answer."),
        .whole(
            "inodes", { $0.mount.served?.fileSystem.figures.inodes ?? 0 }, "inodes", "Inodes that the kernel knows."),
        .whole(
            "handles", { $0.mount.served?.fileSystem.figures.handles ?? 0 }, "open_handles",
            "Open files and directories."),
    ]

    private static let thumbnails: [Self] = [
        .whole("thumbnails.files", \.mount.thumbnails?.figures.files, "thumbnails_total", "Thumbnail files written."),
        .whole(
            "thumbnails.received_bytes", \.mount.thumbnails?.figures.bytes, "thumbnail_received_bytes_total",
            "Bytes of previews received for thumbnails."),
    ]

    private static let tier: [Self] = [
        .text("tier.state", \.tier?.state)
            .metric("tier_works", "Whether the shared tier is asked now.") { state, _ in
                state.isNull ? .null : .integer(state.text == "up" ? 1 : 0)
            },
        .text("tier.reason", \.tier?.reason),
        // Seconds until the next request to it.
        .whole("tier.rests_for", \.tier?.restsFor),
        .whole(
            "tier.hits", \.tier?.counts.hits, #"tier_pictures_total{found="yes"}"#,
            "Pictures looked for on the shared tier."),
        .whole("tier.misses", \.tier?.counts.misses, #"tier_pictures_total{found="no"}"#),
        .whole(
            "tier.awaited", \.tier?.counts.awaited, "tier_awaited_total",
            "Pictures that another machine was downloading."),
        .whole(
            "tier.answers_shared", \.tier?.counts.answersShared, #"tier_answers_total{shared="yes"}"#,
            "Answers of the service, by whether another machine had been given them."),
        .whole("tier.answers_asked", \.tier?.counts.answersAsked, #"tier_answers_total{shared="no"}"#),
        .whole("tier.wrong", \.tier?.counts.wrong, "tier_wrong_total", "Damaged objects found."),
        .whole(
            "tier.unproven", \.tier?.counts.unproven, "tier_unproven_total",
            "Objects that no machine with the secret wrote."),
        .whole(
            "tier.slow", \.tier?.counts.slow, "tier_slow_total",
            "Pictures that would have come sooner from the service."),
        .whole(
            "tier.slowed_down", \.tier?.counts.slowedDown, "tier_slowed_down_total",
            "Answers of the store that there are too many requests."),
        .whole("tier.uploads", \.tier?.counts.uploads, "tier_uploads_total", "Pictures brought to the shared tier."),
        // The store refuses them, or they are no longer stored.
        .whole(
            "tier.dropped", \.tier?.counts.dropped, "tier_dropped_total",
            "Pictures that were to be brought there and will not be."),
        .whole("tier.waiting", \.tier?.waiting, "tier_waiting", "Pictures that wait to be brought there."),
        .whole(
            "tier.received_bytes", \.tier?.counts.receivedBytes, "tier_received_bytes_total",
            "Bytes of pictures from there."),
        .whole(
            "tier.sent_bytes", \.tier?.counts.sentBytes, "tier_sent_bytes_total", "Bytes of pictures brought there."),
        .whole(
            "tier.reads", \.mount.parts.tierMeans?.requests.get, #"tier_requests_total{kind="read"}"#,
            "Requests to the object store."),
        .whole("tier.writes", \.mount.parts.tierMeans?.requests.write, #"tier_requests_total{kind="write"}"#),
        latency(0), latency(1), latency(2), latency(3),
        .whole(
            "tier.latency.milliseconds", { $0.tier.map { Int64($0.counts.answersTook / .milliseconds(1)) } },
            "tier_latency_milliseconds_total", "The time of all those answers together."),
    ]

    /// The answers of the store about documents and leases within one of the limits, and not within the one before.
    private static func latency(_ index: Int) -> Self {
        let limits = TierCounts.answerTimes
        let name = index < limits.count ? "\(limits[index])" : "more"
        return .whole(
            "tier.latency.\(name)", { $0.tier?.counts.answers[index] },
            "tier_latency_total{milliseconds=\"\(name)\"}",
            "Answers of the store about documents and leases, by the time within which they came.")
    }

    // MARK: Requests

    private static let requests: [Self] =
        counts("", "requests", "method", "Requests sent.", [("get", \.get), ("head", \.head)])
        + counts(
            "answers.", "answers", "result", "Answers, by what their status means.",
            [
                ("succeeded", \.succeeded), ("redirected", \.redirected), ("limited", \.limited),
                ("refused", \.refused), ("server_failed", \.serverFailed),
            ])
        + counts(
            "failures.", "failures", "reason", "Requests that ended without a whole answer.",
            [
                ("unreachable", \.unreachable), ("timed_out", \.timedOut), ("broken", \.broken), ("invalid", \.invalid),
                ("cancelled", \.cancelled),
            ])
        + counts(
            "", "received_bytes", nil, "Bytes of bodies received.", [("received_bytes", { Int($0.receivedBytes) })])

    /// Counts of requests since the start, for each purpose; the tier has a section of its own.
    ///
    /// - Parameters:
    ///   - section: The beginning of their names.
    ///   - family: The name of their metric.
    ///   - label: The label that has their name; nil for none.
    ///   - help: The text about the metric.
    ///   - counts: Their names and values.
    /// - Returns: The figures.
    private static func counts(
        _ section: String, _ family: String, _ label: String?, _ help: String,
        _ counts: [(name: String, value: @Sendable (RequestCounts) -> Int)]
    ) -> [Self] {
        counts.flatMap { name, value in
            RequestPurpose.allCases.filter { $0 != .tier }.map { purpose in
                let labels = [label.map { "\($0)=\"\(name)\"" }, "purpose=\"\(purpose.rawValue)\""]
                let text = labels.compactMap(\.self).sorted().joined(separator: ",")
                return .whole(
                    "network.requests.\(purpose.rawValue).\(section)\(name)", { value($0.requests(purpose)) },
                    "http_\(family)_total{\(text)}", help)
            }
        }
    }
}
