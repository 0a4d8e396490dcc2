internal import HTTP
internal import Rankings
internal import Synchronization

/// One shared download of a picture: which bytes are there, which are under way, who waits.
///
/// A pure state machine: it is told what happened and says what to do; it knows no clock, file or network. No byte is
/// asked for twice but for those at seams: a request ends where bytes begin that are there or under way.
struct Download: Sendable {
    enum Phase: Equatable, Sendable {
        /// A partial file of an earlier download is being looked at.
        case opening
        /// The tier is asked for all of it.
        case asking
        case running
        /// All bytes are there, and are being held against the digest that the listing told, or searched for the picture's end.
        case checking
        /// All bytes are there and may be given out.
        case complete
        case failed
    }

    let format: PictureFormat
    /// What the bytes must add up to (`PictureLocation.digest`); nothing is given out before they were found to.
    let digest: String?
    var phase: Phase = .running
    /// The picture's length, from `stat` or the first answer.
    var total: Int64?
    /// Names the bytes that are there among all downloads; another one after each fresh start.
    var token: UInt64 = 0
    /// What the source calls their version.
    var validator: String?
    /// Bytes written.
    var present = RangeSet()
    var segments: [UInt64: Segment] = [:]
    var waiters: [UInt64: Waiter] = [:]
    /// Open pictures that read from here.
    var handles: Set<UInt64> = []
    /// Whether a preload wants the whole.
    var isPreload = false
    /// Whether several have the picture open.
    var isShared = false
    /// Whether a reader has shown to want more than the first bytes.
    var isDemanded = false
    /// Where the bytes end that have been given to readers.
    private(set) var releasedTo: Int64 = 0
    /// Requests begun so far; a plan made before the last of them is void.
    var begun: UInt64 = 0
    var edges = PictureEdges()
    var headIsRight = false
    var tailIsRight = false
    /// Whether its last bytes do not show that it is whole; then its structure has to.
    private var hidesEnd = false
    /// Whether no header told its length, only the end of the body.
    var isMeasured = false
    var ignoresRanges = false
    var hasRestarted = false
    var failuresInRow = 0
    var failures = 0
    /// All breaks so far.
    var breaks = 0
    /// New bytes since the last failure.
    var broughtSinceFailure: Int64 = 0
    /// When to try again after a failure; nil while nothing keeps requests back.
    var retryAt: ContinuousClock.Instant?
    /// The last time that anything came from the network, or that somebody began to wait.
    var lastProgress: ContinuousClock.Instant

    init(format: PictureFormat, digest: String? = nil, total: Int64?, now: ContinuousClock.Instant) {
        self.format = format
        self.digest = digest
        self.total = total
        lastProgress = now
    }

    /// Whether the whole picture is to come.
    var wantsWhole: Bool {
        // Of a picture with a digest not even the beginning can be given out before.
        digest != nil || isPreload || isDemanded || isShared || hidesEnd
            || waiters.values.contains { $0.need == .length }
    }

    /// Whether any byte has been given to a reader.
    var hasReleased: Bool { releasedTo > 0 }

    /// Whether anybody wants anything.
    var isWanted: Bool {
        isPreload || !handles.isEmpty || !waiters.isEmpty
    }

    /// Whether a reader waits or may come back for more; decides the priority.
    var isRead: Bool {
        !handles.isEmpty || !waiters.isEmpty
    }

    /// Whether it is to end: nothing wants it, unless it is nearly done and may go on.
    func isForsaken(isClosing: Bool) -> Bool {
        guard !isWanted,
            phase == .running || phase == .opening || phase == .asking || phase == .checking && isClosing
        else { return false }
        let isNearlyDone = remaining.map { $0 <= DownloadLimits.worthFinishing } ?? false && !segments.isEmpty
        return !isNearlyDone || isClosing
    }

    var received: Int64 { present.count }

    /// Whether it still waits for its first answer.
    var isQueued: Bool { received == 0 && !segments.values.contains(where: \.hasAnswer) }

    /// Whether the source has told anything, now or to the download that this one goes on with.
    var hasAnswer: Bool { received > 0 || segments.values.contains(where: \.hasAnswer) }

    /// Bytes that the network still has to bring.
    var remaining: Int64? { total.map { $0 - received } }

    // MARK: - Waiters

    /// Whether a range may be given out: there, with a right beginning, and its end checked if it touches the end.
    func canRelease(_ range: Range<Int64>) -> Bool {
        guard let total, present.contains(range), digest == nil || phase == .complete else { return false }
        if range.lowerBound < Int64(PictureFormat.headLength), !headIsRight { return false }
        return tailIsRight || range.upperBound <= total - Int64(PictureFormat.tailLength)
    }

    /// Lets a read or a question wait.
    mutating func add(_ waiter: Waiter, now: ContinuousClock.Instant) {
        if waiters.isEmpty { lastProgress = now }
        waiters[waiter.wait.id] = waiter
    }

    /// Takes out the waiters that are meant, in the order in which they came.
    mutating func takeWaiters(where isMeant: (Waiter) -> Bool) -> [Waiter] {
        waiters.filter { isMeant($0.value) }.keys.sorted().compactMap { waiters.removeValue(forKey: $0) }
    }

    /// Takes out the waiters whose needs are met.
    mutating func takeReady() -> [Waiter] {
        let ready = waiters.values.filter { waiter in
            switch waiter.need {
            case .bytes(let range): canRelease(range.clamped(to: 0..<(total ?? .max)))
            case .length: phase == .complete
            }
        }
        for case .bytes(let range) in ready.map(\.need) { released(to: range.upperBound) }
        return takeWaiters { ready.contains($0) }
    }

    /// Bytes up to a place are given to a reader.
    mutating func released(to end: Int64) { releasedTo = max(releasedTo, min(end, total ?? end)) }

    // MARK: - Partial files

    /// Goes on with the bytes of an earlier download, whose edges were read from its file.
    mutating func resume(_ partial: PartialState, edges: PictureEdges) -> DownloadChange {
        phase = .running
        let known = total ?? partial.total
        guard let named = partial.validator, validator ?? named == named,
            partial.total == nil || partial.total == known,
            (1...PictureLimits.largest).contains(known ?? 1),
            partial.present.ranges.last?.upperBound ?? 0 <= known ?? DownloadLimits.largestUnknown
        else { return DownloadChange(outcome: .restart) }
        total = known
        validator = named
        present = partial.present
        self.edges = edges
        if let total { self.edges.learned(total: total) }
        return settle()
    }

    /// Throws away what is there, to begin again.
    mutating func clear(total: Int64?, token: UInt64) {
        phase = .running
        self.total = total
        self.token = token
        validator = nil
        isMeasured = false
        releasedTo = 0
        keep(upTo: 0)
    }

    /// Forgets what is there behind a place, and what its ends show.
    mutating func keep(upTo end: Int64) {
        present = RangeSet([0..<end])
        segments = [:]
        edges = PictureEdges()
        headIsRight = false
        tailIsRight = false
        hidesEnd = false
    }

    // MARK: - Progress

    /// Somebody else found out the length while the bytes of an answer without one are coming.
    mutating func learned(total length: Int64) -> DownloadChange {
        guard total == nil, phase == .running else {
            total = total ?? length
            return DownloadChange()
        }
        guard segments.values.allSatisfy({ $0.next <= length }), (present.ranges.last?.upperBound ?? 0) <= length
        else { return fail(.broken("the answer is longer than the picture")) }
        total = length
        for (id, segment) in segments { segments[id]?.end = min(segment.end, length) }
        edges.learned(total: length)
        return settle()
    }

    /// Where the next bytes of a request's body go; nil if it is to bring no more.
    ///
    /// It holds until `wrote` is told, or another request begins: `begun` tells. What another one may bring besides, at the seams,
    /// is planned when it comes.
    func plan(of id: UInt64) -> BodyPlan? {
        guard let segment = segments[id], phase == .running, segment.hasAnswer else { return nil }
        let room = total ?? DownloadLimits.largestUnknown
        let range = segment.next..<max(segment.next, min(segment.end, room))
        guard !range.isEmpty else { return nil }
        let certain = segments.count == 1 ? range : segment.own.clamped(to: 0..<segment.lastSeam.lowerBound)
        return BodyPlan(
            range: range, gaps: present.gaps(in: range), certain: certain, begun: begun, room: room)
    }

    /// Takes note that the next bytes of a request are in the file; `edges` were told of them before.
    mutating func wrote(_ range: Range<Int64>, from id: UInt64, now: ContinuousClock.Instant) -> DownloadChange {
        guard let segment = segments[id], phase == .running else { return DownloadChange() }
        segments[id]?.next = range.upperBound
        let before = received
        present.insert(range.clamped(to: 0..<segment.end))
        if received > before { failuresInRow = 0 }
        broughtSinceFailure += received - before
        if broughtSinceFailure >= DownloadLimits.worthATry { failures = 0 }
        lastProgress = now
        return settle()
    }

    /// Whether a request's body is read further: one that is whole ends with its last byte and keeps its connection, one that was
    /// cut short is ended where it was cut.
    func goesOn(_ id: UInt64) -> Bool {
        guard phase == .running else { return phase == .complete || phase == .checking }
        guard let segment = segments[id] else { return false }
        return segment.next < segment.end || segment.end >= segment.requested?.upperBound ?? total ?? .max
    }

    /// Looks at the edges and the whole after bytes came.
    mutating func settle() -> DownloadChange {
        if digest != nil {
            // Files end in whatever their authors' programs wrote; the digest says more than any mark.
            headIsRight = true
            tailIsRight = true
        }
        if !headIsRight, edges.headIsComplete(total: total) {
            guard PictureFormat(head: edges.head) == format else {
                return fail(.damaged("the answer does not begin like a picture of its kind"))
            }
            headIsRight = true
        }
        if !tailIsRight, !hidesEnd, let total, let tail = edges.completeTail(total: total),
            headIsRight || format != .webp
        {
            tailIsRight = format.isWhole(tail: tail, head: edges.head, length: total)
            // A length that was told is one witness; without it the end has to be where the body ended.
            if isMeasured, !tailIsRight { return changed(Self.cutOff) }
            if !tailIsRight || isMeasured && format.hasNoEndMark { (tailIsRight, hidesEnd) = (false, true) }
        }
        var change = DownloadChange()
        if let total, headIsRight, tailIsRight || hidesEnd, isPutTogether, present.contains(0..<total) {
            let proof = digest.map(Proof.digest) ?? (hidesEnd ? .structure(format, endsAtLength: isMeasured) : nil)
            phase = proof == nil ? .complete : .checking
            // A request that has brought its last byte ends by itself and keeps its connection.
            change.cancel = segments.filter { $0.value.next < $0.value.end }.keys.sorted()
            segments = [:]
            change.outcome = proof.map { .check($0, length: total) } ?? .complete(length: total)
        }
        change.ready = takeReady()
        return change
    }

    /// All bytes have come at once, and are known to be right.
    mutating func arrived(whole length: Int64) -> DownloadChange {
        total = length
        present = RangeSet([0..<length])
        headIsRight = true
        tailIsRight = true
        return settle()
    }

    private static let cutOff = ImageCacheError.damaged("the picture is cut off: its end is missing")

    /// All bytes have been looked at for what was left to prove.
    mutating func checked(isProven: Bool) -> DownloadChange {
        guard phase == .checking, let total else { return DownloadChange() }
        guard isProven else {
            phase = .running
            // The parts may be right and not where they belong.
            ignoresRanges = true
            guard digest != nil else { return changed(Self.cutOff) }
            return changed(.damaged("the bytes that came are not those that were listed: their MD5 digests differ"))
        }
        phase = .complete
        tailIsRight = true
        return DownloadChange(ready: takeReady(), outcome: .complete(length: total))
    }

    /// More came than the picture has.
    ///
    /// Either the source goes on where the picture ends, or the length was told wrong: then its end is in the wrong place.
    mutating func overran() -> DownloadChange {
        if let total, edges.headIsComplete(total: total), PictureFormat(head: edges.head) == format,
            let tail = edges.completeTail(total: total), !format.isWhole(tail: tail, head: edges.head, length: total)
        {
            return fail(.lengthContradicts(told: nil, shown: total))
        }
        return fail(.broken("the answer is longer than the picture"))
    }

    // MARK: - Ends

    /// Gives the download up; what is there is thrown away.
    mutating func fail(_ error: ImageCacheError, keepsPartial: Bool = false) -> DownloadChange {
        phase = .failed
        return DownloadChange(cancel: abandonSegments(), outcome: .failed(error, keepsPartial: keepsPartial))
    }

    /// Another version than before: begins again once, unless bytes of the old one have been given out.
    mutating func changed(_ error: ImageCacheError) -> DownloadChange {
        guard !hasRestarted, !hasReleased else { return fail(error, keepsPartial: keepsPartial(after: error)) }
        hasRestarted = true
        return DownloadChange(cancel: abandonSegments(), outcome: .restart)
    }

    /// Gives a request up, of a download that nobody reads, so that a reader has its slot; the rest is asked for again later.
    mutating func giveUp(_ id: UInt64) -> DownloadChange {
        guard segments.removeValue(forKey: id) != nil else { return DownloadChange() }
        // Without a name for its version, what is there cannot be continued safely.
        let isLost = validator == nil && !present.ranges.isEmpty && segments.isEmpty
        var change = remaining == 0 ? settle() : DownloadChange(outcome: isLost ? .restart : nil)
        change.cancel.append(id)
        return change
    }

    /// Gives every request up, with the seams that they left open; returns them.
    mutating func abandonSegments() -> [UInt64] {
        present = proven
        defer { segments = [:] }
        return segments.keys.sorted()
    }
}

// MARK: - Waiting

/// A read that waits for bytes, or a question for the length.
struct Waiter: Equatable, Sendable {
    enum Need: Equatable, Sendable {
        case bytes(Range<Int64>)
        /// The length of a picture that no header tells.
        case length
    }

    let need: Need
    /// The open picture; nil for a question for the length.
    let handle: UInt64?
    let deadline: ContinuousClock.Instant
    let wait: Wait

    static func == (one: Self, other: Self) -> Bool { one.wait === other.wait }
}

/// What a waiter is told.
enum WaitResult: Sendable {
    /// What was read, and the version that the reader has from now on.
    case bytes(PictureBytes, PictureVersion?)
    case length(Int64)
    /// Things changed: look again.
    case again
    case failed(ImageCacheError)
}

/// An answer that may come before or after the waiting for it begins.
///
/// ## Concurrency
///
/// Any thread may answer; one task waits, once.
final class Wait: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<WaitResult, Never>)
        case answered(WaitResult)
    }

    /// Grows with each wait: their order.
    let id: UInt64
    /// The picture whose download is waited for.
    let key: FileKey
    private let state = Mutex(State.open)

    init(id: UInt64, key: FileKey) {
        self.id = id
        self.key = key
    }

    /// Whether there is an answer.
    var isAnswered: Bool {
        state.withLock { state in
            if case .answered = state { true } else { false }
        }
    }

    /// Gives the answer; the first one counts.
    func answer(_ result: WaitResult) {
        let waiting = state.withLock { state -> CheckedContinuation<WaitResult, Never>? in
            switch state {
            case .open:
                state = .answered(result)
                return nil
            case .awaited(let continuation):
                state = .answered(result)
                return continuation
            case .answered: return nil
            }
        }
        waiting?.resume(returning: result)
    }

    /// Suspends until there is an answer.
    var result: WaitResult {
        get async {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> WaitResult? in
                    if case .answered(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        }
    }
}

// MARK: - Seams

/// The seams of a download: bytes where the parts of two requests meet, which both bring and which must be the same.
///
/// A server, or what stands before it, may send the bytes of another place under the right `Content-Range`; in one answer they
/// are one after the other, in several nothing else shows it where no digest was told. The bytes that come second are held against those
/// that are there, as all that come again are (`BodyPlan`), before anything behind them is taken.
///
/// A part that touches nothing, as a read far ahead of all others brings it, has no seam until its neighbours come: unless it is
/// the picture's beginning, its reader is given it unproven. A second part beside it would not tell either, since a source that
/// shifts all of them by one distance agrees with itself wherever two meet apart from bytes that are known.
extension Download {
    /// A range with the seams on both sides of it, where bytes are there or under way.
    func withSeams(_ range: Range<Int64>) -> Range<Int64> {
        guard digest == nil else { return range }
        let covered = covered
        let (first, end) = (range.lowerBound, range.upperBound)
        let before = max(0, first - DownloadLimits.seam)
        let behind = total.map { end + min(DownloadLimits.seam, max(0, $0 - end)) } ?? end
        let lower = covered.contains(before..<first) ? before : first
        return lower..<(covered.contains(end..<behind) ? behind : end)
    }

    /// What is there but for seams of which one side is still to come: what another process may go on with.
    var proven: RangeSet {
        var doubted = RangeSet()
        for segment in segments.values where segment.next < segment.end { doubted.insert(segment.lastSeam) }
        return RangeSet(present.ranges.flatMap(doubted.gaps))
    }

    /// Whether no seam is left to compare.
    private var isPutTogether: Bool {
        segments.values.allSatisfy { $0.next >= $0.end || $0.end - $0.next > DownloadLimits.seam }
    }

    /// Whether a part from the middle is the picture's beginning.
    func beginsAgain(_ bytes: some Sequence<UInt8>, at place: Int64) -> Bool {
        // Each file of an archive begins as the archive does.
        format != .zip && place > 0 && PictureFormat(head: Array(bytes.prefix(PictureFormat.headLength))) == format
    }

    /// A request brought other bytes than those that are there.
    ///
    /// - Parameters:
    ///   - place: The first of them.
    ///   - id: The request.
    /// - Returns: What follows.
    mutating func contradicted(at place: Int64, by id: UInt64) -> DownloadChange {
        guard let segment = segments[id], phase == .running else { return DownloadChange() }
        // All of it comes in one answer already, which is of another version.
        if ignoresRanges { return changed(.damaged("the picture changed at the source during the download")) }
        let own = segment.own
        return misplaced(at: place < own.lowerBound ? own.lowerBound : min(place, own.upperBound))
    }

    /// A part does not come from where the source says: from now on all of it comes in one answer.
    ///
    /// - Parameter border: Up to where what is there without a hole is not in doubt.
    /// - Returns: What follows.
    mutating func misplaced(at border: Int64) -> DownloadChange {
        guard phase == .running else { return DownloadChange() }
        ignoresRanges = true
        let end = min(border, proven.firstMissing(from: 0))
        guard releasedTo <= end else {
            return fail(.damaged("the source sends other parts of the picture than it says"))
        }
        guard hasReleased else { return DownloadChange(cancel: abandonSegments(), outcome: .restart) }
        let change = DownloadChange(cancel: abandonSegments())
        keep(upTo: end)
        return change
    }
}
