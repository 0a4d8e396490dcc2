internal import HTTP
internal import ImageHost

extension Download {
    /// Checks the head of an answer; an outcome means that its body must not be taken.
    mutating func answered(_ head: HTTPHead, to id: UInt64, now: ContinuousClock.Instant) -> DownloadChange {
        guard let segment = segments[id], phase == .running else { return DownloadChange() }
        lastProgress = now
        let expectation = SegmentCheck.Expectation(
            asked: segment.asked, isConditional: segment.isConditional, total: total, version: validator, format: format
        )
        switch SegmentCheck.check(ImageAnswer(head), expectation) {
        case .success(let answer): return take(answer, for: id)
        case .failure(.final(let error)): return fail(error, keepsPartial: keepsPartial(after: error))
        case .failure(.changed(let error)): return changed(error)
        case .failure(.passing(let error, let after)):
            segments[id] = nil
            var change = pause(after: after.map { .seconds($0) }, or: error, now: now)
            change.cancel.append(id)
            return change
        }
    }

    private mutating func take(_ answer: CheckedAnswer, for id: UInt64) -> DownloadChange {
        guard var segment = segments[id] else { return DownloadChange() }
        segment.hasAnswer = true
        let isPart = segment.asked != nil && !answer.ignoredRange
        if validator == nil, answer.validator == nil {
            // Nothing would tell that two answers belong together: all of it comes in one.
            ignoresRanges = true
            if isPart { return DownloadChange(cancel: abandonSegments(), outcome: .restart) }
        }
        validator = validator ?? answer.validator
        if let told = answer.total {
            if total == nil { edges.learned(total: told) }
            total = told
        }
        var change = DownloadChange()
        if answer.ignoredRange { ignoresRanges = true }
        if !isPart, ignoresRanges {
            // The whole comes from its first byte; further ranges would each bring the whole again.
            change.cancel = segments.keys.filter { $0 != id }.sorted()
            segments = [:]
            (segment.next, segment.written) = (0, 0)
            segment.end = answer.end ?? .max
        } else {
            (segment.next, segment.written) = (answer.start, answer.start)
            segment.end = min(segment.end, answer.end ?? .max)
        }
        segments[id] = segment
        return change
    }

    /// A request has ended.
    mutating func finished(
        _ id: UInt64, _ result: Result<Void, HTTPError>, now: ContinuousClock.Instant
    ) -> DownloadChange {
        guard let segment = segments.removeValue(forKey: id), phase == .running else { return DownloadChange() }
        switch result {
        case .success where total == nil && segment.hasAnswer:
            total = segment.next
            edges.learned(total: segment.next)
            return settle()
        case .success:
            guard segment.next < segment.end else { return DownloadChange() }
            if let shown = total, segment.asked == nil, edges.endsWhole(format, at: segment.next) {
                return fail(.lengthContradicts(told: segment.next, shown: shown))
            }
            return broke(.broken("the picture ended early"), now: now)
        case .failure(let error):
            return segment.next >= segment.end ? DownloadChange() : broke(error, now: now)
        }
    }

    /// A request failed on the way: goes on where it stopped if that promises anything.
    private mutating func broke(_ error: HTTPError, now: ContinuousClock.Instant) -> DownloadChange {
        switch error {
        case .unreachable(let reason): return pause(after: nil, or: .unreachable(reason), now: now)
        case .timedOut: return pause(after: nil, or: .timedOut, now: now)
        case .broken(let reason): return pause(after: nil, or: .broken("the download broke off: \(reason)"), now: now)
        case .cancelled: return pause(after: nil, or: .unreachable("the download was ended"), now: now)
        case .limited(let seconds): return fail(.limited(retryAfter: seconds), keepsPartial: validator != nil)
        case .offline: return fail(.offline, keepsPartial: validator != nil)
        case .invalidAnswer(let reason): return changed(.broken("the answer contradicts itself: \(reason)"))
        case .tooLarge: return fail(.broken("the answer is longer than any picture may be"))
        case .redirectRefused(let reason), .untrusted(let reason):
            return fail(.untrusted(reason), keepsPartial: validator != nil)
        case .refused(let reason): return fail(.broken(reason), keepsPartial: validator != nil)
        }
    }

    /// Whether what is there may be gone on with although an answer was refused with this error.
    func keepsPartial(after error: ImageCacheError) -> Bool {
        switch error {
        case .gone, .damaged, .lengthContradicts: false
        default: validator != nil
        }
    }

    /// Waits for another try, or gives up with `error` if there were enough.
    private mutating func pause(
        after wait: Duration?, or error: ImageCacheError, now: ContinuousClock.Instant
    ) -> DownloadChange {
        failures += 1
        failuresInRow += 1
        guard failuresInRow <= DownloadLimits.triesWithoutProgress, failures <= DownloadLimits.triesInAll else {
            return fail(error, keepsPartial: validator != nil)
        }
        // Without a name for its version, what is there cannot be continued safely.
        if validator == nil, !present.ranges.isEmpty, segments.isEmpty {
            return changed(.broken("the download broke off and the source does not say which version it serves"))
        }
        // The first failure after progress is tried again at once: a connection that the server closed.
        let pause = failuresInRow == 1 ? Duration.zero : DownloadLimits.firstPause * (1 << (failuresInRow - 2))
        retryAt = now + (wait ?? pause)
        return DownloadChange()
    }

    /// Lets requests go again once the pause is over.
    mutating func wake(now: ContinuousClock.Instant) -> Bool {
        guard let retryAt, retryAt <= now else { return false }
        self.retryAt = nil
        return true
    }
}
