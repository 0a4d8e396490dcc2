import Catalog
import HTTP
import ImageCache
import Rankings
import Thumbnails
import Tier

extension StatusDocument {
    /// Figures of stored pictures and current downloads; sizes in bytes.
    struct CacheFigures: Codable, Hashable, Sendable {
        var directory: String
        var storedPictures: Int
        var storedBytes: Int64
        var budget: Int64
        /// Whether the disk takes pictures.
        var isStoring: Bool
        var openPictures: Int
        /// Since the start, as are the next two.
        var receivedBytes: Int64
        var preloaded: Int
        var evicted: Int
        /// The downloads in the order in which they began.
        var downloads: [Download]
        /// Wishes that wait for their turn, and the first of them.
        var queuedPreloads: Int
        var queue: [Queued]
    }

    /// A download.
    struct Download: Codable, Hashable, Sendable {
        var picture: String
        /// The path below the mount point; nil if it is not known.
        var path: String?
        var received: Int64
        var total: Int64?
        /// Whether a reader waits for it; false for a preload.
        var isRead: Bool
        /// Whether it still waits for its first answer.
        var isQueued: Bool
    }

    /// A wish: a preload not yet begun.
    struct Queued: Codable, Hashable, Sendable {
        var picture: String
        /// The path below the mount point; nil if it is not known.
        var path: String?
    }
}

extension StatusDocument.CacheFigures {
    /// Wishes that are named: as many as a terminal has lines for.
    private static let shownQueue = 20

    init(_ status: ImageCacheStatus, directory: String) {
        self.directory = directory
        storedPictures = status.storedPictures
        storedBytes = status.storedBytes
        budget = status.budget
        isStoring = status.isStoring
        openPictures = status.openPictures
        receivedBytes = status.receivedBytes
        preloaded = status.preloaded
        evicted = status.evicted
        downloads = status.downloads.map {
            StatusDocument.Download(
                picture: $0.picture.key, path: $0.path, received: $0.received, total: $0.total, isRead: $0.isRead,
                isQueued: $0.isQueued)
        }
        queuedPreloads = status.queued.count
        queue = status.queued.prefix(Self.shownQueue).map {
            StatusDocument.Queued(picture: $0.picture.key, path: $0.path)
        }
    }

    /// The figures without downloads, queue and directory.
    var publicPart: Self {
        var figures = self
        figures.directory = ""
        figures.downloads = []
        figures.queue = []
        return figures
    }

    var metrics: [MetricFamily] {
        let reading = downloads.count(where: \.isRead)
        return [
            .gauge("rankfs_cache_stored_pictures", "Pictures stored.", [.init(storedPictures)]),
            .gauge("rankfs_cache_stored_bytes", "Bytes of stored pictures.", [.init(storedBytes)]),
            .gauge("rankfs_cache_budget_bytes", "Bytes that stored pictures may take.", [.init(budget)]),
            .gauge("rankfs_cache_writable", "1 if the disk takes pictures.", [.init(isStoring ? 1 : 0)]),
            .gauge("rankfs_cache_open_pictures", "Pictures that are open.", [.init(openPictures)]),
            .counter("rankfs_cache_evicted_pictures_total", "Pictures evicted.", [.init(evicted)]),
            .counter("rankfs_preloaded_pictures_total", "Pictures preloaded.", [.init(preloaded)]),
            .counter("rankfs_picture_received_bytes_total", "Bytes of pictures received.", [.init(receivedBytes)]),
            .gauge(
                "rankfs_downloads", "Pictures on their way, by what for.",
                [
                    .init(downloads.count - reading, [("activity", "preloading")]),
                    .init(reading, [("activity", "reading")]),
                ]),
            .gauge("rankfs_queued_preloads", "Preloads that wait for their turn.", [.init(queuedPreloads)]),
        ]
    }

    /// The lines of `rankfs status` about stored pictures.
    var summary: [String] {
        [
            "  stored     \(Counted.text(storedPictures, "picture")), \(ValueParsers.sizeText(storedBytes)) "
                + "of \(ValueParsers.sizeText(budget))"
                + (directory.isEmpty ? "" : ", in \(LogText.escaped(directory))"),
            "  received   \(ValueParsers.sizeText(receivedBytes)); \(preloaded) preloaded, \(evicted) evicted",
        ]
    }

    /// The lines of `rankfs status` about downloads.
    var downloadsSummary: [String] {
        var lines = downloads.map { download in
            let total = download.total.map { " of \(ValueParsers.sizeText($0))" } ?? ""
            let name = LogText.escaped(download.path ?? download.picture, limit: LogText.longestLine)
            return "  \(download.isRead ? "reading" : "preload")    \(name): "
                + ValueParsers.sizeText(download.received) + total
        }
        if queuedPreloads > 0 { lines.append("  queued     \(Counted.text(queuedPreloads, "preload"))") }
        if !isStoring { lines.append("  storing    not for now: the disk is full or fails; make room there") }
        return lines
    }
}

// MARK: - Catalog figures

extension StatusDocument {
    /// Figures of the catalog: listings and known sizes.
    struct CatalogFigures: Codable, Hashable, Sendable {
        var storedListings: Int
        var loadedListings: Int
        var loadedEntries: Int
        var knownSizes: Int
        /// Requests that `images=original` and `works/` caused since the start: to the image host, to the service.
        var originalQuestionsToHost: Int
        var originalQuestionsToService: Int
    }
}

extension StatusDocument.CatalogFigures {
    init(_ status: CatalogStatus) {
        storedListings = status.storedListings
        loadedListings = status.loadedListings
        loadedEntries = status.loadedEntries
        knownSizes = status.knownSizes
        originalQuestionsToHost = status.originalQuestions.host
        originalQuestionsToService = status.originalQuestions.service
    }

    var metrics: [MetricFamily] {
        [
            .gauge(
                "rankfs_listings", "Listings stored, and those in memory.",
                [.init(loadedListings, [("place", "memory")]), .init(storedListings, [("place", "stored")])]),
            .gauge("rankfs_listing_entries", "Entries of the listings in memory.", [.init(loadedEntries)]),
            .gauge("rankfs_known_sizes", "Pictures whose size is known.", [.init(knownSizes)]),
            .counter(
                "rankfs_original_questions_total", "Questions about originals.",
                [
                    .init(originalQuestionsToHost, [("host", "images")]),
                    .init(originalQuestionsToService, [("host", "api")]),
                ]),
        ]
    }

    /// The line of `rankfs status`.
    var summary: [String] {
        [
            "  listings   \(storedListings) stored, \(loadedListings) in memory "
                + "with \(loadedEntries) \(loadedEntries == 1 ? "entry" : "entries"); "
                + "\(Counted.text(knownSizes, "size")) known"
        ]
    }
}

// MARK: - Thumbnail figures

extension StatusDocument {
    /// Figures of the thumbnails made since the start.
    struct ThumbnailFigures: Codable, Hashable, Sendable {
        /// Thumbnail files written.
        var files: Int
        /// Bytes of small previews received for these files.
        var receivedBytes: Int64
    }
}

extension StatusDocument.ThumbnailFigures {
    init(_ figures: ThumbnailSeeder.Figures) {
        files = figures.files
        receivedBytes = figures.bytes
    }

    var metrics: [MetricFamily] {
        [
            .counter("rankfs_thumbnails_total", "Thumbnail files written.", [.init(files)]),
            .counter(
                "rankfs_thumbnail_received_bytes_total", "Bytes of previews received for thumbnails.",
                [.init(receivedBytes)]),
        ]
    }

    /// The line of `rankfs status`.
    var summary: [String] {
        guard files > 0 else { return [] }
        return [
            "  thumbnails \(Counted.text(files, "file")) for file managers, from "
                + "\(ValueParsers.sizeText(receivedBytes)) of previews"
        ]
    }
}

// MARK: - Tier figures

extension StatusDocument {
    /// The state of the shared tier, and its counters since the start.
    struct TierFigures: Codable, Hashable, Sendable {
        /// `up`, `resting` or `read-only`.
        var state: String
        /// The reason, if the tier does not work.
        var reason: String?
        /// Seconds until the next request to it.
        var restsFor: Int?
        /// Pictures found on the tier, and pictures not found there.
        var hits: Int
        var misses: Int
        /// Pictures that came from the tier after another machine had downloaded them.
        var awaited: Int
        /// Answers that another machine had received, and answers requested from the service.
        var answersShared: Int
        var answersAsked: Int
        /// Damaged objects.
        var wrong: Int
        /// Uploaded pictures, and pictures that wait for their upload.
        var uploads: Int
        var waiting: Int
        /// Pictures that were to be uploaded and will not be: the store refuses them, or they are no longer stored.
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

    /// The lines of `rankfs status`.
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

// MARK: - Sign in figures

extension StatusDocument {
    /// The user of the mount's session; never the session itself.
    struct SignInFigures: Codable, Hashable, Sendable {
        /// `signed_out`, `signed_in` or `expired`.
        var state: String
        /// The number of the user.
        var user: Int64?
    }
}

extension StatusDocument.SignInFigures {
    init(_ signIn: SignIn) {
        user = signIn.user?.rawValue
        state =
            switch signIn {
            case .signedOut: "signed_out"
            case .signedIn: "signed_in"
            case .expired: "expired"
            }
    }

    /// The figures without the user.
    var publicPart: Self { Self(state: state) }

    var metrics: [MetricFamily] {
        [
            .gauge(
                "rankfs_signed_in", "1 if the mount has a session that works.", [.init(state == "signed_in" ? 1 : 0)])
        ]
    }

    /// The line of `rankfs status`.
    var summary: [String] {
        guard let user else { return [] }
        return [
            state == "expired"
                ? "  account    the session of \(user) has expired: sign in again with `rankfs login`"
                : "  account    signed in as \(user)"
        ]
    }
}
