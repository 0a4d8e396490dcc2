internal import HTTP

extension Core {
    /// Where the next bytes of a body go.
    struct Window: Sendable {
        /// Bytes of the picture that only this request brings.
        var range: Range<Int64>
        /// Bytes that the whole picture may take.
        var room: Int64
    }

    /// What follows from an answer's head or from written bytes.
    struct Written: Sendable {
        var goesOn: Bool
        /// Where the next ones go if they all go to one place; otherwise `accept` tells.
        var window: Window?
        /// What to note beside the partial file, if it is time.
        var state: (total: Int64?, validator: String?, present: RangeSet)?
    }

    mutating func answered(
        _ head: HTTPHead, to segment: UInt64, of key: FileKey, now: ContinuousClock.Instant
    ) -> Written {
        guard downloads[key]?.download.segments[segment] != nil else { return Written(goesOn: false) }
        let change = downloads[key]?.download.answered(head, to: segment, now: now)
        apply(change, to: key, now: now)
        if let total = downloads[key]?.download.total, budget.reserved(for: key) != total { reserve(total, for: key) }
        // What is known now may be worth more connections.
        pump(now: now)
        let goesOn = downloads[key]?.download.segments[segment] != nil
        return Written(goesOn: goesOn, window: window(of: segment, key))
    }

    /// Where the next bytes of a body go, unless they go to several places.
    private func window(of segment: UInt64, _ key: FileKey) -> Window? {
        guard let download = downloads[key]?.download, let range = download.window(of: segment) else { return nil }
        return Window(range: range, room: download.total ?? DownloadLimits.largestUnknown)
    }

    /// Says which of the bytes that have come to write; until `wrote` is told, they count as under way.
    mutating func accept(_ count: Int, from segment: UInt64, of key: FileKey) -> (acceptance: Acceptance, room: Int64)?
    {
        guard let acceptance = downloads[key]?.download.accept(count, from: segment) else { return nil }
        receivedBytes += Int64(count)
        return (acceptance, downloads[key]?.download.total ?? DownloadLimits.largestUnknown)
    }

    /// Takes bytes that have come and were written to their window.
    mutating func arrived(
        _ bytes: UnsafeRawBufferPointer, from segment: UInt64, of key: FileKey, now: ContinuousClock.Instant
    ) -> Written {
        guard let (acceptance, _) = accept(bytes.count, from: segment, of: key) else { return Written(goesOn: false) }
        return unsafe wrote(bytes, acceptance, from: segment, of: key, now: now)
    }

    /// Takes note that what was accepted is written.
    mutating func wrote(
        _ bytes: UnsafeRawBufferPointer, _ acceptance: Acceptance, from segment: UInt64, of key: FileKey,
        now: ContinuousClock.Instant
    ) -> Written {
        guard downloads[key]?.download.segments[segment] != nil else { return Written(goesOn: false) }
        let total = downloads[key]?.download.total
        unsafe downloads[key]?.download.edges.note(bytes, at: acceptance.offset, total: total)
        if acceptance.isTooLong {
            apply(downloads[key]?.download.overran(), to: key, now: now)
            return Written(goesOn: false)
        }
        let change = downloads[key]?.download.wrote(acceptance, from: segment, now: now)
        downloads[key]?.unnoted += acceptance.writes.reduce(0) { $0 + Int64($1.count) }
        apply(change, to: key, now: now)
        guard let entry = downloads[key] else { return Written(goesOn: false) }
        // A whole picture's request is left to end by itself, which keeps its connection.
        if entry.download.phase == .complete { return Written(goesOn: acceptance.goesOn) }
        if change?.outcome != nil { pump(now: now) }
        var state: (total: Int64?, validator: String?, present: RangeSet)?
        if entry.unnoted >= PartialState.interval, entry.download.phase == .running {
            downloads[key]?.unnoted = 0
            state = (entry.download.total, entry.download.validator, entry.download.present)
        }
        return Written(
            goesOn: acceptance.goesOn && entry.download.segments[segment] != nil, window: window(of: segment, key),
            state: state)
    }

    mutating func finished(
        _ segment: UInt64, of key: FileKey, _ result: Result<Void, HTTPError>, now: ContinuousClock.Instant
    ) {
        guard downloads[key]?.download.segments[segment] != nil else {
            // It belonged to a download that is over; its connection is free for others.
            return pump(now: now)
        }
        downloads[key]?.transfers[segment] = nil
        let change = downloads[key]?.download.finished(segment, result, now: now)
        apply(change, to: key, now: now)
        _ = downloads[key]?.download.wake(now: now)
        // Nobody waited for its end, and it did not come: keep what is there.
        release(key, now: now)
    }

    /// Neither disk nor memory takes the bytes.
    mutating func cannotWrite(
        _ error: FileError, from segment: UInt64, of key: FileKey, now: ContinuousClock.Instant
    ) {
        // A download that is over concerns nobody, least of all the next one of the same picture.
        guard downloads[key]?.download.segments[segment] != nil else { return }
        refused(error.text)
        fail(
            key,
            .unusable("the picture can neither be stored nor kept in memory (\(error.text)); make room on the disk"),
            keepsPartial: false, now: now)
    }
}
