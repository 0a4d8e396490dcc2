/// What follows from bytes that two requests brought.
extension Core {
    /// Takes seams that have come with a body.
    mutating func met(_ seams: [Seam], of key: FileKey, now: ContinuousClock.Instant) -> [Seam] {
        for seam in seams { change(key, now: now) { $0.met(seam) } }
        return downloads[key]?.download.comparable ?? []
    }

    /// Both sides of a seam have been compared.
    mutating func compared(_ seam: Seam, agrees: Bool, of key: FileKey, now: ContinuousClock.Instant) {
        change(key, now: now) { $0.compared(seam, agrees: agrees) }
    }

    /// Has a download decide, and goes on with what it then lacks if it gave requests up.
    mutating func change(
        _ key: FileKey, now: ContinuousClock.Instant, _ decide: (inout Download) -> DownloadChange
    ) {
        guard var download = downloads[key]?.download else { return }
        let change = decide(&download)
        downloads[key]?.download = download
        apply(change, to: key, now: now)
        guard downloads[key]?.download.phase == .running, !change.cancel.isEmpty || change.outcome != nil else {
            return
        }
        // What was noted of the bytes that are there may be void.
        downloads[key]?.unnoted = PartialState.interval
        pump(now: now)
    }

    /// Whether a request's body is wanted further, or may end by itself.
    func isWanted(_ segment: UInt64, of key: FileKey) -> Bool {
        guard let download = downloads[key]?.download else { return false }
        return download.phase == .complete || download.phase == .checking || download.segments[segment] != nil
    }
}
