internal import HTTP

extension Core {
    /// Bytes to write and the file they go to.
    struct Accepted: Sendable {
        var acceptance: Acceptance
        var file: PartialFile
        /// Bytes that the whole picture may take.
        var room: Int64
    }

    /// What follows from written bytes.
    struct Written: Sendable {
        var goesOn: Bool
        /// What to note beside the partial file, if it is time.
        var state: (total: Int64?, validator: String?, present: RangeSet)?
    }

    mutating func answered(
        _ head: HTTPHead, to segment: UInt64, of key: FileKey, now: ContinuousClock.Instant
    ) -> Bool {
        guard downloads[key]?.download.segments[segment] != nil else { return false }
        let change = downloads[key]?.download.answered(head, to: segment, now: now)
        apply(change, to: key, now: now)
        let goesOn = downloads[key]?.download.segments[segment] != nil
        if let total = downloads[key]?.download.total, budget.reserved(for: key) != total { reserve(total, for: key) }
        // What is known now may be worth more connections.
        pump(now: now)
        return goesOn
    }

    mutating func accept(_ count: Int, from segment: UInt64, of key: FileKey) -> Accepted? {
        guard let acceptance = downloads[key]?.download.accept(count, from: segment), let entry = downloads[key]
        else { return nil }
        receivedBytes += Int64(count)
        return Accepted(
            acceptance: acceptance, file: entry.file, room: entry.download.total ?? DownloadLimits.largestUnknown)
    }

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
        return Written(goesOn: acceptance.goesOn && entry.download.segments[segment] != nil, state: state)
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
