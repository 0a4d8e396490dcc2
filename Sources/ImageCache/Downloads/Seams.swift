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
