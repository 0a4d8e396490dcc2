extension Core {
    /// How to ask for the paths of downloads and of queued preloads: closures from outside are not called under the lock.
    struct Paths {
        var downloads: [(@Sendable () -> String)?]
        var queued: [(@Sendable () -> String)?]
    }

    /// What displays show, without paths.
    func status(now: ContinuousClock.Instant) -> (ImageCacheStatus, Paths) {
        let running = downloads.running
        let status = ImageCacheStatus(
            storedPictures: index.entries.count, storedBytes: index.bytes, budget: budget.limit,
            openPictures: pictures.count,
            downloads: running.map {
                .init(
                    picture: $0.picture.id, received: $0.download.received, total: $0.download.total,
                    isRead: $0.download.isRead, isQueued: $0.download.isQueued)
            },
            queued: scheduler.wishes.map { .init(picture: $0.picture.id) },
            receivedBytes: receivedBytes, preloaded: preloadedCount, evicted: budget.evicted,
            isStoring: budget.isStoring)
        return (status, Paths(downloads: running.map(\.picture.path), queued: scheduler.wishes.map(\.picture.path)))
    }
}

extension Download {
    /// Whether it still waits for its first answer.
    var isQueued: Bool {
        received == 0 && !segments.values.contains(where: \.hasAnswer)
    }
}

extension ImageCacheStatus {
    /// The same figures with paths.
    func named(by paths: Core.Paths) -> ImageCacheStatus {
        var result = self
        for (index, path) in paths.downloads.enumerated() { result.downloads[index].path = path?() }
        for (index, path) in paths.queued.enumerated() { result.queued[index].path = path?() }
        return result
    }
}
