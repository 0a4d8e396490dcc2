/// What `/.rankfs/metrics` says, a pure function of the status.
///
/// The text format of Prometheus, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
enum Metrics {
    /// The text of a document's figures.
    static func text(of document: StatusDocument) -> [UInt8] {
        let families =
            program(document) + cache(document.cache) + network(document) + requests(document.network.requests)
            + catalog(document.catalog) + kernel(document)
        return Array(families.map(\.text).joined().utf8)
    }

    private static func program(_ document: StatusDocument) -> [MetricFamily] {
        [
            .gauge(
                "rankfs_build_info", "Version and source of the mount; always 1.",
                [
                    .init(
                        1,
                        [
                            ("mount_point", document.mountPoint), ("source", document.source),
                            ("version", document.version),
                        ])
                ]),
            .gauge("rankfs_start_time_seconds", "Unix time of the start.", [.init(document.started)]),
            .counter(
                "rankfs_messages_total", "Warnings and errors in the log.",
                [
                    .init(document.errors, [("level", "error")]), .init(document.warnings, [("level", "warning")]),
                ]),
        ]
    }

    private static func cache(_ cache: StatusDocument.CacheFigures) -> [MetricFamily] {
        let reading = cache.downloads.count(where: \.isRead)
        return [
            .gauge("rankfs_cache_stored_pictures", "Pictures stored.", [.init(cache.storedPictures)]),
            .gauge("rankfs_cache_stored_bytes", "Bytes of stored pictures.", [.init(cache.storedBytes)]),
            .gauge("rankfs_cache_budget_bytes", "Bytes that stored pictures may take.", [.init(cache.budget)]),
            .gauge("rankfs_cache_writable", "1 if the disk takes pictures.", [.init(cache.isStoring ? 1 : 0)]),
            .gauge("rankfs_cache_open_pictures", "Pictures that are open.", [.init(cache.openPictures)]),
            .counter("rankfs_cache_evicted_pictures_total", "Pictures evicted.", [.init(cache.evicted)]),
            .counter("rankfs_preloaded_pictures_total", "Pictures preloaded.", [.init(cache.preloaded)]),
            .counter(
                "rankfs_picture_received_bytes_total", "Bytes of pictures received.", [.init(cache.receivedBytes)]),
            .gauge(
                "rankfs_downloads", "Pictures on their way, by what for.",
                [
                    .init(cache.downloads.count - reading, [("activity", "preloading")]),
                    .init(reading, [("activity", "reading")]),
                ]),
            .gauge("rankfs_queued_preloads", "Preloads that wait for their turn.", [.init(cache.queuedPreloads)]),
        ]
    }

    private static func network(_ document: StatusDocument) -> [MetricFamily] {
        let network = document.network
        func left(_ end: Int64?) -> Int64 { max(0, (end ?? 0) - document.time) }
        return [
            .gauge(
                "rankfs_transfers", "Requests under way and waiting for a connection.",
                [
                    .init(network.activeTransfers, [("state", "active")]),
                    .init(network.queuedTransfers, [("state", "queued")]),
                ]),
            .gauge("rankfs_api_tokens", "API requests that may go at once.", [.init(text: "\(network.tokens)")]),
            .gauge(
                "rankfs_cool_down_seconds", "For how long a host still wants no requests.",
                [
                    .init(left(network.closedUntil), [("host", "api")]),
                    .init(left(network.imageHostClosedUntil), [("host", "images")]),
                ]),
            .gauge(
                "rankfs_signed_in", "1 if the mount has a session that works.",
                [.init(document.signIn.state == "signed_in" ? 1 : 0)]),
        ]
    }

    private static func requests(_ requests: StatusDocument.Requests) -> [MetricFamily] {
        let sent = requests.all.flatMap { name, counts in
            [
                MetricFamily.Sample(counts.get, [("method", "get"), ("purpose", name)]),
                MetricFamily.Sample(counts.head, [("method", "head"), ("purpose", name)]),
            ]
        }
        let answers = requests.all.flatMap { name, counts in
            let answers = counts.answers
            let all = [
                ("succeeded", answers.succeeded), ("redirected", answers.redirected), ("limited", answers.limited),
                ("refused", answers.refused), ("server_failed", answers.serverFailed),
            ]
            return all.map { MetricFamily.Sample($0.1, [("purpose", name), ("result", $0.0)]) }
        }
        let failures = requests.all.flatMap { name, counts in
            let failures = counts.failures
            let all = [
                ("unreachable", failures.unreachable), ("timed_out", failures.timedOut), ("broken", failures.broken),
                ("invalid", failures.invalid), ("cancelled", failures.cancelled),
            ]
            return all.map { MetricFamily.Sample($0.1, [("purpose", name), ("reason", $0.0)]) }
        }
        return [
            .counter("rankfs_http_requests_total", "Requests sent.", sent),
            .counter("rankfs_http_answers_total", "Answers, by what their status means.", answers),
            .counter("rankfs_http_failures_total", "Requests that ended without a whole answer.", failures),
            .counter(
                "rankfs_http_received_bytes_total", "Bytes of bodies received.",
                requests.all.map { .init($0.counts.receivedBytes, [("purpose", $0.name)]) }),
        ]
    }

    private static func catalog(_ catalog: StatusDocument.CatalogFigures) -> [MetricFamily] {
        [
            .gauge(
                "rankfs_listings", "Listings stored, and those in memory.",
                [
                    .init(catalog.loadedListings, [("place", "memory")]),
                    .init(catalog.storedListings, [("place", "stored")]),
                ]),
            .gauge("rankfs_listing_entries", "Entries of the listings in memory.", [.init(catalog.loadedEntries)]),
            .gauge("rankfs_known_sizes", "Pictures whose size is known.", [.init(catalog.knownSizes)]),
            .counter(
                "rankfs_original_questions_total", "Questions about originals.",
                [
                    .init(catalog.originalQuestionsToHost, [("host", "images")]),
                    .init(catalog.originalQuestionsToService, [("host", "api")]),
                ]),
        ]
    }

    private static func kernel(_ document: StatusDocument) -> [MetricFamily] {
        var families: [MetricFamily] = [
            .gauge(
                "rankfs_waiting_requests", "Requests of the kernel that wait for an answer.",
                [.init(document.waitingRequests)]),
            .gauge("rankfs_inodes", "Inodes that the kernel knows.", [.init(document.inodes)]),
            .gauge("rankfs_open_handles", "Open files and directories.", [.init(document.handles)]),
        ]
        if let thumbnails = document.thumbnails {
            families += [
                .counter("rankfs_thumbnails_total", "Thumbnail files written.", [.init(thumbnails.files)]),
                .counter(
                    "rankfs_thumbnail_received_bytes_total", "Bytes of previews received for thumbnails.",
                    [.init(thumbnails.receivedBytes)]),
            ]
        }
        return families
    }
}
