extension Download {
    /// What the scheduler is told of it.
    func demand(_ key: FileKey, number: UInt64) -> DownloadScheduler.Demand {
        DownloadScheduler.Demand(
            key: key, number: number, requests: segments.values.map(load),
            newest: segments.keys.max() ?? 0, isRead: isRead, isAwaited: !waiters.isEmpty, hasAnswer: hasAnswer,
            awaited: awaitedPiece, wanted: wantedPiece, spare: sparePiece, total: total)
    }

    /// What a request still has to bring, as the scheduler counts it.
    private func load(_ segment: Segment) -> Int64 {
        let end = min(segment.end, total ?? segment.next + Core.assumedLength)
        return max(0, end - segment.next) + (segment.hasAnswer ? 0 : DownloadScheduler.latency)
    }
}
