import ImageCache
import Rankings

extension StatusDocument {
    /// What is stored and under way; sizes in bytes.
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
        /// In the order in which they began.
        var downloads: [Download]
        /// Preloads that wait for their turn, and the first of them.
        var queuedPreloads: Int
        var queue: [Queued]
    }

    /// A picture on its way.
    struct Download: Codable, Hashable, Sendable {
        var picture: String
        /// Below the mount point; nil if nobody told.
        var path: String?
        var received: Int64
        var total: Int64?
        /// Somebody reads it; false for a preload.
        var isRead: Bool
        /// It still waits for its first answer.
        var isQueued: Bool
    }

    /// A preload that waits.
    struct Queued: Codable, Hashable, Sendable {
        var picture: String
        /// Below the mount point; nil if nobody told.
        var path: String?
    }
}

extension StatusDocument.CacheFigures {
    /// Queued preloads that are named: as many as a terminal has lines for.
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

    /// Without what is read and where it is stored.
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

    /// What `rankfs status` shows of what is stored.
    var summary: [String] {
        [
            "  stored     \(Counted.text(storedPictures, "picture")), \(ValueParsers.sizeText(storedBytes)) "
                + "of \(ValueParsers.sizeText(budget))"
                + (directory.isEmpty ? "" : ", in \(LogText.escaped(directory))"),
            "  received   \(ValueParsers.sizeText(receivedBytes)); \(preloaded) preloaded, \(evicted) evicted",
        ]
    }

    /// What it shows of what is under way.
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
