extension Flight {
    /// The requests to make now.
    ///
    /// - Parameters:
    ///   - idle: Connections that nothing uses, over all downloads. A reader's first request does not need one.
    ///   - others: Downloads that wait for their first connection: it is better left to them than shared.
    ///   - nextID: Numbers for requests; advanced.
    /// - Returns: Requests in the order to start them; they count as under way from now on.
    mutating func plan(idle: Int, others: Int = 0, nextID: inout UInt64) -> [SegmentStart] {
        guard phase == .running, retryAt == nil, isWanted else { return [] }
        var starts: [SegmentStart] = []
        for range in waitingRanges() {
            if let start = start(for: range, helpers: idle - starts.count, nextID: &nextID) { starts.append(start) }
        }
        while wantsWhole, idle - starts.count > 0 || segments.isEmpty {
            let helpers = idle - others - starts.count
            guard let gap = firstGap(from: 0) ?? shortenPlainRequest(idle: helpers) else { break }
            starts.append(begin(fillRange(of: gap, helpers: helpers), nextID: &nextID))
        }
        return starts
    }

    private func waitingRanges() -> [Range<Int64>] {
        waiters.values.compactMap { need in
            if case .bytes(let range) = need { range } else { nil }
        }.sorted { $0.lowerBound < $1.lowerBound }
    }

    /// The request that a waiting read needs, or nil if one under way will bring its bytes soon.
    private mutating func start(for range: Range<Int64>, helpers: Int, nextID: inout UInt64) -> SegmentStart? {
        let missing = present.firstMissing(from: range.lowerBound)
        guard missing < range.upperBound else { return nil }
        let isSmall = total.map { $0 <= FlightLimits.alwaysWhole } ?? true
        if let (id, running) = segments.first(where: { $0.value.written <= missing && missing < $0.value.end }) {
            if isSmall || ignoresRanges || missing - running.next <= FlightLimits.near { return nil }
            let seek = seekRange(to: missing, in: running.next..<min(running.end, total ?? running.end))
            // A walk backwards asks from before what is read: its own request is already the best one.
            guard seek.lowerBound > running.next else { return nil }
            segments[id]?.end = seek.lowerBound
            return begin(seek, nextID: &nextID)
        }
        guard !(isSmall && !segments.isEmpty), let gap = firstGap(from: missing, containing: true) else { return nil }
        if isSmall || ignoresRanges || missing - gap.lowerBound <= FlightLimits.near {
            return begin(fillRange(of: gap, helpers: helpers), nextID: &nextID)
        }
        return begin(seekRange(to: missing, in: gap), nextID: &nextID)
    }

    /// A bounded range for a read far from everything under way.
    ///
    /// A read that ends where bytes begin which are there is a walk backwards: it takes a larger step down.
    private func seekRange(to missing: Int64, in gap: Range<Int64>) -> Range<Int64> {
        let page = FlightLimits.page
        let isBackwards = gap.upperBound < (total ?? .max) && gap.upperBound - missing <= FlightLimits.near
        let start = isBackwards ? missing - FlightLimits.smallestChunk : missing
        let lower = max(gap.lowerBound, start / page * page)
        let window = isBackwards || wantsWhole ? chunk : FlightLimits.seekWindow
        let upper = isBackwards ? gap.upperBound : lower + window
        return lower..<min(gap.upperBound, upper)
    }

    /// The part of a gap that one request fetches: all of it, or of a large picture an equal share for each idle connection.
    private func fillRange(of gap: Range<Int64>, helpers: Int) -> Range<Int64> {
        guard let total, total > FlightLimits.splitAbove, !ignoresRanges else { return gap }
        let length = min(gap.upperBound, total) - gap.lowerBound
        let share = Self.share(of: length, for: helpers)
        return gap.lowerBound..<min(gap.upperBound, gap.lowerBound + min(share, FlightLimits.largestChunk))
    }

    /// Leaves the end of a large picture to idle connections if one plain request, made before its length was known, is to
    /// bring all of it.
    ///
    /// - Returns: What that request does not bring any more; losing its connection is the price.
    private mutating func shortenPlainRequest(idle: Int) -> Range<Int64>? {
        guard idle > 0, let total, validator != nil, !ignoresRanges,
            let (id, plain) = segments.first(where: { $0.value.asked == nil && $0.value.hasAnswer }),
            min(plain.end, total) - plain.next > FlightLimits.splitAbove
        else { return nil }
        let end = min(plain.end, plain.next + chunk)
        segments[id]?.end = end
        return firstGap(from: 0)
    }

    /// An equal share of a large picture for each connection, but not too small a one.
    private var chunk: Int64 { Self.share(of: total ?? 0, for: connections) }

    private static func share(of length: Int64, for connections: Int) -> Int64 {
        let grain = FlightLimits.chunkGrain
        let share = (length / Int64(max(1, connections)) + grain - 1) / grain * grain
        return max(FlightLimits.smallestChunk, share)
    }

    /// The first stretch that is neither there nor under way, at or after `offset`, or the one around it.
    private func firstGap(from offset: Int64, containing: Bool = false) -> Range<Int64>? {
        var covered = present
        for segment in segments.values { covered.insert(segment.written..<max(segment.next, segment.end)) }
        let gaps = covered.gaps(in: 0..<(total ?? .max))
        return gaps.first { containing ? $0.contains(offset) : $0.upperBound > offset }
    }

    private mutating func begin(_ range: Range<Int64>, nextID: inout UInt64) -> SegmentStart {
        let id = nextID
        nextID += 1
        // A whole picture needs no range, and servers that know none are plenty.
        let isWhole = range.lowerBound == 0 && (total == nil || range.upperBound == total)
        let asked = isWhole || ignoresRanges ? nil : range
        let first = asked?.lowerBound ?? 0
        let ifRange = asked == nil ? nil : validator
        segments[id] = Segment(
            asked: asked, isConditional: ifRange != nil, next: first, written: first,
            end: asked?.upperBound ?? total ?? .max)
        return SegmentStart(id: id, asked: asked, ifRange: ifRange)
    }
}
