extension Core {
    /// How to ask for the paths of downloads and of queued preloads: closures from outside are not called under the lock.
    struct Paths {
        var downloads: [(@Sendable () -> String)?]
        var queued: [(@Sendable () -> String)?]
    }

    /// What displays show, without paths.
    func status(now: ContinuousClock.Instant) -> (ImageCacheStatus, Paths) {
        let running = downloads.values.filter { $0.flight.phase != .complete }.sorted { $0.number < $1.number }
        let status = ImageCacheStatus(
            storedPictures: index.entries.count, storedBytes: index.bytes, budget: configuration.budget,
            openPictures: handles.count,
            downloads: running.map {
                .init(
                    picture: $0.picture.id, received: $0.flight.received, total: $0.flight.total,
                    isRead: $0.flight.isRead, isQueued: $0.flight.isQueued)
            },
            queued: wishes.map { .init(picture: $0.picture.id) },
            receivedBytes: receivedBytes, preloaded: preloadedCount, evicted: evictedCount,
            isStoring: isStoring)
        return (status, Paths(downloads: running.map(\.picture.path), queued: wishes.map(\.picture.path)))
    }
}

extension Flight {
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
