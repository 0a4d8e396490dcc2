internal import HTTP
internal import Rankings

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
    var waiters: [UInt64: Need] = [:]
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
    /// What requests brought of bytes that others bring too, and that has not been compared yet.
    var meetings: [Seam] = []
    /// What requests bring of which no seam has been found to agree.
    var unproven: [UInt64: UnprovenPart] = [:]
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
        digest != nil || isPreload || isDemanded || isShared || hidesEnd || waiters.values.contains(.length)
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
        if unproven.values.contains(where: { $0.range.overlaps(range) && $0.isProvenSoon(by: present) }) {
            return false
        }
        return tailIsRight || range.upperBound <= total - Int64(PictureFormat.tailLength)
    }

    /// The waiters whose needs are met; they are forgotten here.
    mutating func takeReady() -> [UInt64] {
        let ready = waiters.filter { _, need in
            switch need {
            case .bytes(let range): canRelease(range.clamped(to: 0..<(total ?? .max)))
            case .length: phase == .complete
            }
        }.map(\.key).sorted()
        for id in ready {
            if case .bytes(let range) = waiters.removeValue(forKey: id) { released(to: range.upperBound) }
        }
        return ready
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
        meetings = []
        unproven = [:]
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
    /// It holds until `wrote` is told. Another request may be let begin in there while bytes are being written; then both bring the
    /// same ones, which are written twice and counted once.
    func plan(of id: UInt64) -> BodyPlan? {
        guard let segment = segments[id], phase == .running, segment.hasAnswer else { return nil }
        let room = total ?? DownloadLimits.largestUnknown
        let range = segment.next..<max(segment.next, min(segment.end, room))
        return range.isEmpty ? nil : BodyPlan(range: range, gaps: present.gaps(in: range), room: room)
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
        return segment.next < segment.end || segment.end >= segment.asked?.upperBound ?? total ?? .max
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

    /// A request brought other bytes than those that are there: what it brings is of another version.
    mutating func contradicted() -> DownloadChange {
        guard phase == .running else { return DownloadChange() }
        return changed(.damaged("the picture changed at the source during the download"))
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
        ended(id)
        // Without a name for its version, what is there cannot be continued safely.
        let isLost = validator == nil && !present.ranges.isEmpty && segments.isEmpty
        return DownloadChange(cancel: [id], outcome: isLost ? .restart : nil)
    }

    /// Gives every request up; returns them.
    mutating func abandonSegments() -> [UInt64] {
        defer { segments = [:] }
        return segments.keys.sorted()
    }
}

// MARK: - Seams

/// How much of what others bring a request asks for, before and behind its own part, in bytes.
struct SeamLengths: Equatable, Sendable {
    var before: Int64 = 0
    var behind: Int64 = 0

    /// What to ask for so that a range comes with both.
    func around(_ range: Range<Int64>) -> Range<Int64> { range.lowerBound - before..<range.upperBound + behind }
}

/// Bytes that a request brought although another one brings them: both must be the same.
///
/// A server, or what stands before it, may send the bytes of another place under the right `Content-Range`; in one answer they
/// are one after the other, in several nothing else shows it where no digest was told.
///
/// A part that touches nothing, as a read far ahead of all others brings it, has no seam until its neighbours come: unless it is
/// the picture's beginning, its reader is given it unproven. A second part beside it would not tell either, since a source that
/// shifts all of them by one distance agrees with itself wherever two meet apart from bytes that are known.
struct Seam: Equatable, Sendable {
    /// Where the parts of the two meet.
    let border: Int64
    /// Where in the picture the bytes begin.
    let place: Int64
    let bytes: [UInt8]
    /// The request.
    let part: UInt64

    var range: Range<Int64> { place..<place + Int64(bytes.count) }
}

/// What a request brings, as long as no seam of it has been found to agree.
struct UnprovenPart: Equatable, Sendable {
    let range: Range<Int64>
    let seams: SeamLengths

    /// Whether what its first bytes are compared with is there: then nobody is given it before.
    ///
    /// Who reads far ahead of all that is there does not wait for what lies between, and who reads backwards not for the whole part,
    /// whose end alone touches what is there.
    func isProvenSoon(by present: RangeSet) -> Bool {
        seams.before > 0 && present.contains(range.lowerBound - seams.before..<range.lowerBound)
    }
}

extension Download {
    /// How much a request for a range asks for of what is there or under way around it.
    func seams(around range: Range<Int64>) -> SeamLengths {
        guard digest == nil else { return SeamLengths() }
        let covered = covered
        let before = min(DownloadLimits.seam, range.lowerBound)
        let behind = total.map { min(DownloadLimits.seam, max(0, $0 - range.upperBound)) } ?? 0
        return SeamLengths(
            before: covered.contains(range.lowerBound - before..<range.lowerBound) ? before : 0,
            behind: covered.contains(range.upperBound..<range.upperBound + behind) ? behind : 0)
    }

    /// Takes bytes of a seam; they are compared once the other request has brought them.
    mutating func met(_ seam: Seam) -> DownloadChange {
        guard segments[seam.part] != nil, phase == .running else { return DownloadChange() }
        if seam.place == seam.border { segments[seam.part]?.seams.behind = 0 }
        meetings.append(seam)
        return beginsAgain(seam.bytes, at: seam.place) ? misplaced(at: seam.border) : DownloadChange()
    }

    /// The seams of which both sides are there.
    var comparable: [Seam] { meetings.filter { present.contains($0.range) } }

    /// Both sides of a seam have been compared.
    mutating func compared(_ seam: Seam, agrees: Bool) -> DownloadChange {
        guard let index = meetings.firstIndex(of: seam), phase == .running else { return DownloadChange() }
        guard agrees else { return misplaced(at: seam.border) }
        meetings.remove(at: index)
        unproven[seam.part] = nil
        return settle()
    }

    /// A request has ended: what has come of it without a seam is taken as it is.
    mutating func ended(_ id: UInt64) {
        if !meetings.contains(where: { $0.part == id }) { unproven[id] = nil }
    }

    /// What is there but for parts that are still to be compared: what another process may go on with.
    var proven: RangeSet {
        var doubted = RangeSet()
        for part in unproven.values { doubted.insert(part.range) }
        return RangeSet(present.ranges.flatMap(doubted.gaps))
    }

    /// Whether all that came in parts has been found to belong together.
    var isPutTogether: Bool {
        meetings.isEmpty && unproven.isEmpty && !segments.values.contains { $0.seams.behind > 0 }
    }

    /// Whether a part from the middle is the picture's beginning.
    func beginsAgain(_ bytes: some Sequence<UInt8>, at place: Int64) -> Bool {
        // Each file of an archive begins as the archive does.
        format != .zip && place > 0 && PictureFormat(head: Array(bytes.prefix(PictureFormat.headLength))) == format
    }

    /// A part does not come from where the source says: from now on all of it comes in one answer.
    ///
    /// - Parameter border: Up to where what is there without a hole is not in doubt.
    /// - Returns: What follows.
    mutating func misplaced(at border: Int64) -> DownloadChange {
        ignoresRanges = true
        let end = unproven.values.reduce(min(border, present.firstMissing(from: 0))) { min($0, $1.range.lowerBound) }
        guard releasedTo <= end else {
            return fail(.damaged("the source sends other parts of the picture than it says"))
        }
        guard hasReleased else { return DownloadChange(cancel: abandonSegments(), outcome: .restart) }
        let change = DownloadChange(cancel: abandonSegments())
        keep(upTo: end)
        return change
    }
}

/// Which bytes of a body are its request's own, and which are of seams.
struct BodyFrame: Sendable {
    /// Bytes that are still to come, in this order.
    private var before: Int64
    private var own: Int64
    private var behind: Int64
    private let place: Int64
    private let border: Int64
    private let part: UInt64
    private var held: [UInt8] = []

    /// The frame of an answer that has been found right; nil if all of its bytes are the request's own.
    init?(_ segment: Segment, part: UInt64) {
        guard segment.seams != SeamLengths() else { return nil }
        before = segment.seams.before
        own = segment.end - segment.next
        behind = segment.seams.behind
        place = segment.next
        border = segment.end
        self.part = part
    }

    /// Takes the next bytes.
    ///
    /// - Returns: Which of them are the request's own, and the seams that are whole.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> (own: Range<Int>, seams: [Seam]) {
        var seams: [Seam] = []
        let first = unsafe hold(bytes, from: 0, \.before)
        if let held = first.whole {
            seams.append(Seam(border: place, place: place - Int64(held.count), bytes: held, part: part))
        }
        let count = Int(min(own, Int64(bytes.count - first.count)))
        own -= Int64(count)
        let mine = first.count..<first.count + count
        if own == 0, let held = unsafe hold(bytes, from: mine.upperBound, \.behind).whole {
            seams.append(Seam(border: border, place: border, bytes: held, part: part))
        }
        return (mine, seams)
    }

    /// Holds bytes of a seam back; tells all of them once it is whole.
    private mutating func hold(
        _ bytes: UnsafeRawBufferPointer, from start: Int, _ left: WritableKeyPath<Self, Int64>
    ) -> (count: Int, whole: [UInt8]?) {
        let count = Int(min(self[keyPath: left], Int64(bytes.count - start)))
        guard count > 0 else { return (0, nil) }
        unsafe held.append(contentsOf: bytes[start..<start + count])
        self[keyPath: left] -= Int64(count)
        guard self[keyPath: left] == 0 else { return (count, nil) }
        defer { held = [] }
        return (count, held)
    }
}
