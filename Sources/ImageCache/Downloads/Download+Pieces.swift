internal import HTTP

/// Bytes that a download lacks, as it names them to the scheduler: who says how many of them one request brings.
struct Piece: Equatable, Sendable {
    /// Neither there nor under way, in one stretch.
    var gap: Range<Int64>
    /// Whether several requests may bring it.
    var isDivisible = true
    /// The request under way that reaches into the gap, and is to end where the gap begins.
    var cut: UInt64?

    /// Bytes of it; a guess where nobody told the length.
    var length: Int64 { gap.upperBound == .max ? Core.assumedLength : Int64(gap.count) }

    /// So much of it.
    func prefix(_ length: Int64) -> Piece {
        var piece = self
        piece.gap = gap.lowerBound..<gap.lowerBound + min(Int64(gap.count), max(1, length))
        return piece
    }
}

extension Download {
    /// The bytes that a waiting read needs and that nothing under way brings soon.
    var awaitedPiece: Piece? {
        guard mayAsk else { return nil }
        return waitingRanges.lazy.compactMap { self.piece(for: $0) }.first
    }

    /// The next bytes of a picture that is wanted whole.
    var wantedPiece: Piece? {
        guard mayAsk, wantsWhole, let gap = gap(from: 0) else { return nil }
        return Piece(gap: gap, isDivisible: isDivisible)
    }

    /// The end of a large picture that one plain request, made before its length was known, is to bring as a whole: idle
    /// connections may have it, at the price of that request's.
    var sparePiece: Piece? {
        guard mayAsk, wantsWhole, let total, validator != nil, !ignoresRanges, gap(from: 0) == nil,
            let (id, plain) = segments.first(where: { $0.value.asked == nil && $0.value.hasAnswer })
        else { return nil }
        let end = min(plain.end, total)
        let kept = plain.next + DownloadScheduler.keptOfPlain
        guard end - plain.next > DownloadScheduler.longestPlain, kept < end else { return nil }
        return Piece(gap: kept..<end, cut: id)
    }

    private var mayAsk: Bool { phase == .running && retryAt == nil && isWanted }

    /// Whether parts of it can be asked for and put together.
    private var isDivisible: Bool { total != nil && !ignoresRanges }

    private var waitingRanges: [Range<Int64>] {
        waiters.values.compactMap { need in
            if case .bytes(let range) = need { range } else { nil }
        }.sorted { $0.lowerBound < $1.lowerBound }
    }

    private func piece(for range: Range<Int64>) -> Piece? {
        let missing = present.firstMissing(from: range.lowerBound)
        guard missing < range.upperBound else { return nil }
        if let (id, running) = segments.first(where: { $0.value.written <= missing && missing < $0.value.end }) {
            if isSmall || ignoresRanges || missing - running.next <= DownloadLimits.near { return nil }
            let seek = seekRange(for: range, missing, in: running.next..<min(running.end, total ?? running.end))
            // A walk backwards asks from before what is read: its own request is already the best one.
            guard seek.lowerBound > running.next else { return nil }
            return Piece(gap: seek, isDivisible: false, cut: id)
        }
        guard let gap = gap(from: missing, containing: true) else { return nil }
        let before = missing - gap.lowerBound
        guard isSmall || ignoresRanges || before <= DownloadLimits.near else {
            let seek = seekRange(for: range, missing, in: gap)
            return Piece(gap: seek, isDivisible: false)
        }
        guard !wantsWhole, isDivisible, range.lowerBound < DownloadLimits.head || !isSmall else {
            return Piece(gap: gap, isDivisible: wantsWhole && isDivisible)
        }
        // A look at the beginning costs what it needs; a request that is bounded keeps its connection.
        let needed = min(range.upperBound, gap.upperBound)
        let bounded = max(needed - gap.lowerBound, DownloadLimits.head)
        let isNearlyAll = Int64(gap.count) - bounded <= DownloadLimits.worthFinishing
        return Piece(gap: gap, isDivisible: false).prefix(isNearlyAll ? Int64(gap.count) : bounded)
    }

    /// Of small pictures what is asked for other than their beginning comes with the rest, whatever order they are read in.
    private var isSmall: Bool { total.map { $0 <= DownloadLimits.alwaysWhole } ?? true }

    /// A bounded range for a read far from everything under way.
    ///
    /// A read that ends where bytes begin which are there is a walk backwards: it takes a larger step down.
    private func seekRange(for range: Range<Int64>, _ missing: Int64, in gap: Range<Int64>) -> Range<Int64> {
        let page = DownloadLimits.page
        let isBackwards = gap.upperBound < (total ?? .max) && gap.upperBound - missing <= DownloadLimits.near
        let start = isBackwards ? missing - DownloadLimits.stepBack : missing
        let lower = max(gap.lowerBound, start / page * page)
        let upper = isBackwards ? gap.upperBound : max(lower + DownloadLimits.seekWindow, range.upperBound)
        return lower..<min(gap.upperBound, upper)
    }

    /// The first stretch that is neither there nor under way, at or after `offset`, or the one around it.
    private func gap(from offset: Int64, containing: Bool = false) -> Range<Int64>? {
        var covered = present
        for segment in segments.values { covered.insert(segment.written..<max(segment.next, segment.end)) }
        let gaps = covered.gaps(in: 0..<(total ?? .max))
        return gaps.first { containing ? $0.contains(offset) : $0.upperBound > offset }
    }

    /// Begins a request for all of a piece's gap; its bytes count as under way from now on.
    mutating func begin(_ piece: Piece, id: UInt64) -> SegmentStart {
        let range = piece.gap
        if let cut = piece.cut { segments[cut]?.end = range.lowerBound }
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

    // MARK: - Readers that go on

    /// Takes note of what a reader waits for, which may show that it wants more than the first bytes.
    ///
    /// Only who reads in larger steps asks for more than the kernel's read-ahead at once.
    mutating func noteNeed(_ range: Range<Int64>) {
        let asksForMuch = range.lowerBound == 0 && range.count > DownloadLimits.look
        let goesOn = range.lowerBound >= DownloadLimits.head && present.contains(0..<range.lowerBound)
        if asksForMuch || goesOn { isDemanded = true }
    }
}
