internal import HTTP
internal import Rankings
internal import Synchronization

/// One shared download of a picture: its present bytes, its requests under way and its waiters.
///
/// A pure state machine: it takes events and returns decisions; it knows no clock, file or network. No byte is requested twice
/// except in overlaps: a request ends where bytes begin that are present or under way.
struct Download: Sendable {
    enum Phase: Equatable, Sendable {
        /// A partial file of an earlier download is being examined.
        case opening
        /// The tier is being queried for the whole picture.
        case asking
        case running
        /// All bytes are present and are being compared with the listing's digest, or searched for the picture's end.
        case checking
        /// All bytes are present and may be given out.
        case complete
        case failed
    }

    let format: PictureFormat
    /// The digest that the bytes must have (`PictureLocation.digest`); nothing is given out before the comparison.
    let digest: String?
    var phase: Phase = .running
    /// The picture's length, from `stat` or the first answer.
    var total: Int64?
    /// Identifies the present bytes among all downloads; changes with each restart.
    var token: UInt64 = 0
    /// The source's name for the version of the bytes.
    var validator: String?
    /// The bytes already written.
    var present = ByteSet()
    var segments: [UInt64: Segment] = [:]
    var waiters: [UInt64: Waiter] = [:]
    /// The open pictures that read from this download.
    var handles: Set<UInt64> = []
    /// Whether a preload wants the whole picture.
    var isPreload = false
    /// Whether it was begun for a program that copies, and no other reader has come since.
    var isCopied = false
    /// Whether the picture is open more than once.
    var isShared = false
    /// Whether a reader has shown that it needs more than the first bytes.
    var isDemanded = false
    /// The end of the bytes that have been given to readers.
    private(set) var releasedTo: Int64 = 0
    /// The number of requests begun so far; a plan made before the last of them is void.
    var begun: UInt64 = 0
    var edges = PictureEdges()
    var headIsRight = false
    var tailIsRight = false
    /// Whether the last bytes do not prove that the picture is whole, so that its structure has to.
    private var hidesEnd = false
    /// Whether the length comes from the end of the body alone, without a header.
    var isMeasured = false
    var ignoresRanges = false
    var hasRestarted = false
    var failuresInRow = 0
    var failures = 0
    /// The number of breaks so far.
    var breaks = 0
    /// New bytes since the last failure.
    var broughtSinceFailure: Int64 = 0
    /// The time of the next try after a failure; nil while nothing holds requests back.
    var retryAt: ContinuousClock.Instant?
    /// The last time that anything came from the network, or that a first waiter was added.
    var lastProgress: ContinuousClock.Instant

    init(format: PictureFormat, digest: String? = nil, total: Int64?, now: ContinuousClock.Instant) {
        self.format = format
        self.digest = digest
        self.total = total
        lastProgress = now
    }

    /// Whether the whole picture is to be downloaded.
    var wantsWhole: Bool {
        // Of a picture with a digest not even the beginning can be given out before the comparison.
        digest != nil || isPreload || isDemanded || isShared || hidesEnd
            || waiters.values.contains { $0.range == nil }
    }

    /// Whether any byte has been given to a reader.
    var hasReleased: Bool { releasedTo > 0 }

    /// Whether a preload, a handle or a waiter wants anything.
    var isWanted: Bool {
        isPreload || !handles.isEmpty || !waiters.isEmpty
    }

    /// Whether a reader waits or may come back for more; decides the priority.
    var isRead: Bool {
        !handles.isEmpty || !waiters.isEmpty
    }

    /// Whether the download is to end: nothing wants it, and it is not so nearly complete that it may go on.
    func isForsaken(isClosing: Bool) -> Bool {
        guard !isWanted,
            phase == .running || phase == .opening || phase == .asking || phase == .checking && isClosing
        else { return false }
        let isNearlyDone = remaining.map { $0 <= Download.worthFinishing } ?? false && !segments.isEmpty
        return !isNearlyDone || isClosing
    }

    var received: Int64 { present.count }

    /// Whether it still waits for its first answer.
    var isQueued: Bool { !hasAnswer }

    /// Whether the source has answered, now or in the download that this one resumes.
    var hasAnswer: Bool { received > 0 || segments.values.contains(where: \.hasAnswer) }

    /// The bytes that the network still has to bring; nil while the length is unknown.
    var remaining: Int64? { total.map { $0 - received } }

    // MARK: - Waiters

    /// Whether a range may be given out: present, with a correct beginning, and with a checked end if it touches the end.
    func canRelease(_ range: Range<Int64>) -> Bool {
        guard let total, present.contains(range), digest == nil || phase == .complete else { return false }
        if range.lowerBound < Int64(PictureFormat.headLength), !headIsRight { return false }
        return tailIsRight || range.upperBound <= total - Int64(PictureFormat.tailLength)
    }

    /// Adds a waiter for bytes or for the length.
    mutating func add(_ waiter: Waiter, now: ContinuousClock.Instant) {
        if waiters.isEmpty { lastProgress = now }
        waiters[waiter.wait.id] = waiter
    }

    /// Removes and returns the matching waiters, in the order in which they came.
    mutating func takeWaiters(where isMeant: (Waiter) -> Bool) -> [Waiter] {
        waiters.filter { isMeant($0.value) }.keys.sorted().compactMap { waiters.removeValue(forKey: $0) }
    }

    /// Removes and returns the waiters with fulfilled needs.
    mutating func takeReady() -> [Waiter] {
        let ready = waiters.values.filter { waiter in
            waiter.range.map { canRelease($0.clamped(to: 0..<(total ?? .max))) } ?? (phase == .complete)
        }
        for range in ready.compactMap(\.range) { released(to: range.upperBound) }
        return takeWaiters { ready.contains($0) }
    }

    /// Takes note that bytes up to a place are given to a reader.
    mutating func released(to end: Int64) { releasedTo = max(releasedTo, min(end, total ?? end)) }

    // MARK: - Partial files

    /// Resumes from the bytes of an earlier download, with the edges read from its file.
    mutating func resume(_ partial: PartialState, edges: PictureEdges) -> DownloadChange {
        phase = .running
        let known = total ?? partial.total
        guard let named = partial.validator, validator ?? named == named,
            partial.total == nil || partial.total == known,
            (1...PictureLimits.largest).contains(known ?? 1),
            partial.present.ranges.last?.upperBound ?? 0 <= known ?? Download.largestUnknown
        else { return DownloadChange(outcome: .restart) }
        total = known
        validator = named
        present = partial.present
        self.edges = edges
        if let total { self.edges.learned(total: total) }
        return settle()
    }

    /// Discards the present bytes, to begin again.
    mutating func clear(total: Int64?, token: UInt64) {
        phase = .running
        self.total = total
        self.token = token
        validator = nil
        isMeasured = false
        releasedTo = 0
        keep(upTo: 0)
    }

    /// Discards the present bytes after a place, and the results of the checks of both ends.
    mutating func keep(upTo end: Int64) {
        present = ByteSet([0..<end])
        segments = [:]
        edges = PictureEdges()
        headIsRight = false
        tailIsRight = false
        hidesEnd = false
    }

    // MARK: - Progress

    /// Takes a length found elsewhere while the bytes of an answer without a length are coming.
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

    /// The place of the next bytes of a request's body; nil if the body is to bring no more.
    ///
    /// The plan holds until `wrote` is called or another request begins, which changes `begun`. Bytes that another request may
    /// bring as well, in overlaps, are planned when they come.
    func plan(of id: UInt64) -> BodyPlan? {
        guard let segment = segments[id], phase == .running, segment.hasAnswer else { return nil }
        let room = total ?? Download.largestUnknown
        let range = segment.next..<max(segment.next, min(segment.end, room))
        guard !range.isEmpty else { return nil }
        let certain = segments.count == 1 ? range : segment.own.clamped(to: 0..<segment.lastSeam.lowerBound)
        return BodyPlan(
            range: range, gaps: present.gaps(in: range), certain: certain, begun: begun, room: room)
    }

    /// Takes note that the next bytes of a request are in the file; `edges` has received them before.
    mutating func wrote(_ range: Range<Int64>, from id: UInt64, now: ContinuousClock.Instant) -> DownloadChange {
        guard let segment = segments[id], phase == .running else { return DownloadChange() }
        segments[id]?.next = range.upperBound
        let before = received
        present.insert(contentsOf: range.clamped(to: 0..<segment.end))
        if received > before { failuresInRow = 0 }
        broughtSinceFailure += received - before
        if broughtSinceFailure >= Download.worthATry { failures = 0 }
        lastProgress = now
        return settle()
    }

    /// Whether a request's body is read further.
    ///
    /// A request for all of its range ends with its last byte and keeps its connection; a request that was cut short is ended
    /// at the cut.
    func goesOn(_ id: UInt64) -> Bool {
        guard phase == .running else { return phase == .complete || phase == .checking }
        guard let segment = segments[id] else { return false }
        return segment.next < segment.end || segment.end >= segment.requested?.upperBound ?? total ?? .max
    }

    /// Checks the edges and the whole after bytes came.
    mutating func settle() -> DownloadChange {
        if digest != nil {
            // Files end in whatever their authors' programs wrote; the digest proves more than any end mark.
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
            // A declared length is one piece of evidence; without it the end has to be where the body ended.
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

    /// Takes the first bytes of a picture of a length, as the tier proves them, with their edges; the beginning and the end are
    /// checked as those of the image host are.
    mutating func proved(
        upTo end: Int64, of length: Int64, edges: PictureEdges, now: ContinuousClock.Instant
    ) -> DownloadChange {
        guard total ?? length == length, (0...length).contains(end), length <= PictureLimits.largest else {
            return DownloadChange(
                outcome: .failed(.lengthContradicts(told: length, shown: total ?? 0), keepsPartial: false))
        }
        total = length
        self.edges = edges
        self.edges.learned(total: length)
        present = ByteSet([0..<end])
        lastProgress = now
        return settle()
    }

    private static let cutOff = Failure.damaged("the picture is cut off: its end is missing")

    /// Takes the result of the check of all bytes.
    mutating func checked(isProven: Bool) -> DownloadChange {
        guard phase == .checking, let total else { return DownloadChange() }
        guard isProven else {
            phase = .running
            // The parts may be right but not where they belong.
            ignoresRanges = true
            guard digest != nil else { return changed(Self.cutOff) }
            return changed(.damaged("the bytes that came are not those that were listed: their MD5 digests differ"))
        }
        phase = .complete
        tailIsRight = true
        return DownloadChange(ready: takeReady(), outcome: .complete(length: total))
    }

    /// Handles a body that is longer than the picture.
    ///
    /// Either the source goes on after the picture's end, or the declared length is wrong: then the end is in the wrong place.
    mutating func overran() -> DownloadChange {
        if let total, edges.headIsComplete(total: total), PictureFormat(head: edges.head) == format,
            let tail = edges.completeTail(total: total), !format.isWhole(tail: tail, head: edges.head, length: total)
        {
            return fail(.lengthContradicts(told: nil, shown: total))
        }
        return fail(.broken("the answer is longer than the picture"))
    }

    // MARK: - Ends

    /// Ends the download with an error; the present bytes are discarded unless `keepsPartial` is set.
    mutating func fail(_ error: Failure, keepsPartial: Bool = false) -> DownloadChange {
        phase = .failed
        return DownloadChange(cancel: abandonSegments(), outcome: .failed(error, keepsPartial: keepsPartial))
    }

    /// Begins again once after a change of version, unless bytes of the old version have been given out.
    mutating func changed(_ error: Failure) -> DownloadChange {
        guard !hasRestarted, !hasReleased else { return fail(error, keepsPartial: keepsPartial(after: error)) }
        hasRestarted = true
        return DownloadChange(cancel: abandonSegments(), outcome: .restart)
    }

    /// Gives up a request of a download without readers, so that a reader gets its slot.
    ///
    /// The rest is requested again later.
    mutating func giveUp(_ id: UInt64) -> DownloadChange {
        guard segments.removeValue(forKey: id) != nil else { return DownloadChange() }
        // Without a version name the present bytes cannot be resumed safely.
        let isLost = validator == nil && !present.isEmpty && segments.isEmpty
        var change = remaining == 0 ? settle() : DownloadChange(outcome: isLost ? .restart : nil)
        change.cancel.append(id)
        return change
    }

    /// Gives up every request, with the overlaps that they left open; returns their numbers.
    mutating func abandonSegments() -> [UInt64] {
        present = proven
        defer { segments = [:] }
        return segments.keys.sorted()
    }
}

// MARK: - Waiting

/// A wait for bytes or for the length of a picture.
struct Waiter: Equatable, Sendable {
    /// The range of the bytes; nil for the length of a picture that no header declares.
    let range: Range<Int64>?
    /// The open picture; nil for a wait for the length.
    let handle: UInt64?
    let deadline: ContinuousClock.Instant
    let wait: Wait

    static func == (one: Self, other: Self) -> Bool { one.wait === other.wait }
}

/// The result given to a waiter.
enum WaitResult: Sendable {
    /// The bytes read.
    case bytes(PictureBytes)
    case length(Int64)
    /// The state has changed, and the read is to be repeated.
    case again
    case failed(Failure)
}

/// An answer that may come before or after its task begins to wait.
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

    /// A number that grows with each wait and gives their order.
    let id: UInt64
    /// The picture whose download is waited for.
    let key: PictureID
    private let state = Mutex(State.open)

    init(id: UInt64, key: PictureID) {
        self.id = id
        self.key = key
    }

    /// Whether there is an answer.
    var isAnswered: Bool {
        state.withLock { state in
            if case .answered = state { true } else { false }
        }
    }

    /// Gives the answer; only the first one counts.
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

// MARK: - Overlaps

/// The overlaps of a download: bytes where the parts of two requests meet, which both bring and which must be equal.
///
/// A server, or a front before it, may send the bytes of another place under the right `Content-Range`. Within one answer the
/// bytes follow one another; between several answers nothing else shows the error if the listing gives no digest. The bytes
/// that come second are compared with those that are present, as all repeated bytes are (`BodyPlan`), before anything after
/// them is taken.
///
/// A part without neighbours, as a read far ahead of all others brings it, has no overlap until its neighbours come: unless it
/// is the picture's beginning, its reader gets it unproven. A second part beside it would prove nothing either, since a source
/// that shifts all parts by one distance agrees with itself wherever two of them meet apart from known bytes.
extension Download {
    /// A range extended by the overlaps on both sides of it, where bytes are present or under way.
    func withSeams(_ range: Range<Int64>) -> Range<Int64> {
        guard digest == nil else { return range }
        let covered = covered
        let (first, end) = (range.lowerBound, range.upperBound)
        let before = max(0, first - Download.seam)
        let behind = total.map { end + min(Download.seam, max(0, $0 - end)) } ?? end
        let lower = covered.contains(before..<first) ? before : first
        return lower..<(covered.contains(end..<behind) ? behind : end)
    }

    /// The bytes that another process may resume from: those present, without overlaps of which one side is still to come.
    var proven: ByteSet {
        var doubted = ByteSet()
        for segment in segments.values where segment.next < segment.end { doubted.insert(contentsOf: segment.lastSeam) }
        return ByteSet(present.ranges.flatMap(doubted.gaps))
    }

    /// Whether no overlap is left to compare.
    private var isPutTogether: Bool {
        segments.values.allSatisfy { $0.next >= $0.end || $0.end - $0.next > Download.seam }
    }

    /// Whether a part from the middle begins like the picture itself.
    func beginsAgain(_ bytes: some Sequence<UInt8>, at place: Int64) -> Bool {
        // Each file of an archive begins as the archive does.
        format != .zip && place > 0 && PictureFormat(head: Array(bytes.prefix(PictureFormat.headLength))) == format
    }

    /// Handles a part that begins like the picture itself: it alone is wrong, and from now on the whole comes in one answer.
    ///
    /// The present bytes are not in doubt, and readers keep theirs; the whole is compared with them as it comes.
    mutating func beganAgain() -> DownloadChange {
        guard phase == .running else { return DownloadChange() }
        ignoresRanges = true
        return DownloadChange(cancel: abandonSegments())
    }

    /// Handles bytes of a request that differ from the present ones.
    ///
    /// - Parameters:
    ///   - place: The first differing byte.
    ///   - id: The request.
    ///   - beginning: The first of the received bytes, and their place.
    /// - Returns: The resulting change.
    mutating func contradicted(
        at place: Int64, by id: UInt64, beginning: (bytes: [UInt8], place: Int64) = ([], 0)
    ) -> DownloadChange {
        guard let segment = segments[id], phase == .running else { return DownloadChange() }
        if beginning.place == segment.requested?.lowerBound, beginsAgain(beginning.bytes, at: beginning.place) {
            return beganAgain()
        }
        // The whole comes in one answer already, which is then of another version.
        if ignoresRanges { return changed(.damaged("the picture changed at the source during the download")) }
        let own = segment.own
        return misplaced(at: place < own.lowerBound ? own.lowerBound : min(place, own.upperBound))
    }

    /// Handles a part from another place than the source declares: from now on the whole comes in one answer.
    ///
    /// - Parameter border: The place up to which the present bytes, if without a hole, are not in doubt.
    /// - Returns: The resulting change.
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
