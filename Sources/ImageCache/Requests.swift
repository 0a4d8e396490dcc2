internal import HTTP
internal import ImageHost
internal import Rankings

/// Bytes that a download lacks, as it names them to the scheduler: who says how many of them one request brings.
struct Piece: Equatable, Sendable {
    /// Neither there nor under way, in one stretch.
    var gap: Range<Int64>
    /// Whether several requests may bring it.
    var isDivisible = true
    /// The request under way that reaches into the gap, and is to end where the gap begins.
    var cut: UInt64?

    /// Bytes of it; a guess where nobody told the length.
    var length: Int64 { gap.upperBound == .max ? DownloadLimits.assumedLength : Int64(gap.count) }

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
        guard mayAsk, wantsWhole, isSteady || segments.isEmpty, let gap = gap(from: 0) else { return nil }
        return Piece(gap: gap, isDivisible: isDivisible)
    }

    /// The end of what one long request was to bring alone: idle connections may have it, at the price of that request's.
    var sparePiece: Piece? {
        guard mayAsk, wantsWhole, isSteady, let total, validator != nil, !ignoresRanges, gap(from: 0) == nil else {
            return nil
        }
        let longest = isRead ? DownloadLimits.largestRead : DownloadLimits.longestUnread
        func left(_ segment: Segment) -> Int64 { segment.hasAnswer ? min(segment.end, total) - segment.next : 0 }
        guard let (id, long) = segments.max(by: { left($0.value) < left($1.value) }), left(long) > longest else {
            return nil
        }
        return Piece(gap: long.next + DownloadLimits.keptOfLong..<min(long.end, total), cut: id)
    }

    private var mayAsk: Bool { phase == .running && retryAt == nil && isWanted }

    /// Whether something has come since the last break: until then one request at a time tries.
    private var isSteady: Bool { failuresInRow == 0 }

    /// Whether parts of it can be asked for and put together.
    private var isDivisible: Bool { total != nil && !ignoresRanges }

    private var waitingRanges: [Range<Int64>] {
        waiters.values.compactMap { need in
            if case .bytes(let range) = need { range.clamped(to: 0..<(total ?? .max)) } else { nil }
        }.sorted { $0.lowerBound < $1.lowerBound }
    }

    private func piece(for range: Range<Int64>) -> Piece? {
        let missing = present.firstMissing(from: range.lowerBound)
        guard missing < range.upperBound else { return nil }
        if let (id, running) = segments.first(where: { $0.value.next <= missing && missing < $0.value.end }) {
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
        let gaps = covered.gaps(in: 0..<(total ?? .max))
        return gaps.first { containing ? $0.contains(offset) : $0.upperBound > offset }
    }

    /// What is there or under way.
    var covered: RangeSet {
        var covered = present
        for segment in segments.values { covered.insert(segment.next..<max(segment.next, segment.end)) }
        return covered
    }

    /// Begins a request for all of a piece's gap; its bytes count as under way from now on.
    mutating func begin(_ piece: Piece, id: UInt64) -> SegmentStart {
        let range = piece.gap
        if let cut = piece.cut {
            segments[cut]?.end = range.lowerBound
            segments[cut]?.seams.behind = 0
        }
        // A whole picture needs no range, and servers that know none are plenty.
        let isWhole = range.lowerBound == 0 && (total == nil || range.upperBound == total)
        let asked = isWhole || ignoresRanges ? nil : range
        let first = asked?.lowerBound ?? 0
        let ifRange = asked == nil ? nil : validator
        let seams = asked.map(seams) ?? SeamLengths()
        let requested = asked.map(seams.around)
        segments[id] = Segment(
            asked: asked, seams: seams, requested: requested, breaks: breaks, isConditional: ifRange != nil,
            next: first, end: asked?.upperBound ?? total ?? .max)
        if let asked, asked.lowerBound > 0, seams != SeamLengths() {
            unproven[id] = UnprovenPart(range: asked, seams: seams)
        }
        return SegmentStart(id: id, asked: requested, ifRange: ifRange)
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

    // MARK: - Answers

    /// Checks the head of an answer; an outcome means that its body must not be taken.
    mutating func answered(_ head: HTTPAnswer, to id: UInt64, now: ContinuousClock.Instant) -> DownloadChange {
        guard let segment = segments[id], phase == .running else { return DownloadChange() }
        lastProgress = now
        let expectation = SegmentCheck.Expectation(
            asked: segment.requested, isConditional: segment.isConditional, total: total, version: validator,
            format: format)
        switch SegmentCheck.check(head, expectation) {
        case .success(let answer):
            // A part may be shorter than it was asked for, but one that ends within its seam brings nothing, however often.
            if let asked = segment.asked, let end = answer.end, end <= asked.lowerBound {
                return fail(.broken("the answer ends before the bytes asked for"), keepsPartial: validator != nil)
            }
            return take(answer, for: id)
        case .failure(.final(let error)): return fail(error, keepsPartial: keepsPartial(after: error))
        case .failure(.changed(let error)): return changed(error)
        case .failure(.passing(let error)):
            segments[id] = nil
            ended(id)
            var change = pause(or: error, begun: breaks, now: now)
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
            for id in abandonSegments() { ended(id) }
            segment.seams = SeamLengths()
            segment.next = 0
            segment.end = answer.end ?? .max
        } else {
            segment.next = segment.asked?.lowerBound ?? answer.start
            // A source may send less than was asked for.
            if answer.end ?? .max < segment.end + segment.seams.behind { segment.seams.behind = 0 }
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
        ended(id)
        switch result {
        case .success where total == nil && segment.hasAnswer:
            isMeasured = true
            total = segment.next
            edges.learned(total: segment.next)
            return settle()
        case .success:
            guard segment.next < segment.end else { return settle() }
            if let shown = total, segment.asked == nil, edges.endsWhole(format, at: segment.next) {
                return fail(.lengthContradicts(told: segment.next, shown: shown))
            }
            return broke(.broken("the picture ended early"), segment, now: now)
        case .failure(let error):
            return segment.next >= segment.end ? settle() : broke(error, segment, now: now)
        }
    }

    /// A request failed on the way: goes on where it stopped if that promises anything.
    private mutating func broke(
        _ error: HTTPError, _ segment: Segment, now: ContinuousClock.Instant
    ) -> DownloadChange {
        func again(_ error: ImageCacheError) -> DownloadChange {
            pause(or: error, begun: segment.breaks, now: now)
        }
        switch error {
        case .unreachable(let reason): return again(.unreachable(reason))
        case .timedOut: return again(.timedOut)
        case .broken(let reason): return again(.broken("the download broke off: \(reason)"))
        case .cancelled: return again(.unreachable("the download was ended"))
        case .limited(let seconds): return fail(.limited(retryAfter: seconds), keepsPartial: validator != nil)
        case .turnedAway(let reason): return fail(.turnedAway(reason), keepsPartial: validator != nil)
        case .exhausted(let reason): return fail(.exhausted(reason), keepsPartial: validator != nil)
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
    ///
    /// Requests that were under way together and break together, as when the network changes, are one break: `begun` tells how
    /// many there had been when the request began.
    private mutating func pause(or error: ImageCacheError, begun: Int, now: ContinuousClock.Instant) -> DownloadChange {
        let isSameBreak = begun < breaks
        if isSameBreak, validator != nil { return DownloadChange(ready: takeReady()) }
        breaks += 1
        failures += 1
        failuresInRow += 1
        broughtSinceFailure = 0
        guard failuresInRow <= DownloadLimits.triesWithoutProgress, failures <= DownloadLimits.triesInAll else {
            return fail(error, keepsPartial: validator != nil)
        }
        // Without a name for its version what is there cannot be gone on with: all of it comes again and has to be the same.
        if validator == nil, segments.isEmpty { keep(upTo: present.firstMissing(from: 0)) }
        // The first failure after progress is tried again at once: a connection that the server closed.
        let pause = failuresInRow == 1 ? Duration.zero : DownloadLimits.firstPause * (1 << (failuresInRow - 2))
        retryAt = now + pause
        return DownloadChange(ready: takeReady())
    }

    /// Lets requests go again once the pause is over.
    mutating func wake(now: ContinuousClock.Instant) -> Bool {
        guard let retryAt, retryAt <= now else { return false }
        self.retryAt = nil
        return true
    }
}

// MARK: - Limits and requests

/// The numbers that a shared download is shaped by.
enum DownloadLimits {
    /// A read this close behind a running segment waits for it: 64 ms at 4 MiB/s, as long as a request of its own takes.
    static let near: Int64 = 256 << 10
    /// What a look at the beginning is given at least: type sniffers and previewers read so much, and then know enough.
    static let head: Int64 = 64 << 10
    /// What the kernel asks for at most for such a look; who wants more goes through the picture.
    ///
    /// The read-ahead that `Fuse` agrees on with the kernel, in bytes.
    static let look: Int64 = 80 << 10
    /// Pictures up to here come whole if they are read anywhere but at their beginning, whatever order they are read in.
    static let alwaysWhole: Int64 = 1 << 20
    /// What is fetched at once for a reader that goes backwards.
    static let stepBack: Int64 = 1 << 19
    /// What a far seek asks for at once, bounded so that a look at the end costs what it needs.
    static let seekWindow: Int64 = 512 << 10
    /// What two requests both bring where their parts meet, at most.
    static let seam: Int64 = 64
    /// Of a long request, idle slots take over what lies behind so many bytes more.
    static let keptOfLong: Int64 = 512 << 10
    /// What one request brings at most of a picture that is read, 0.3 s at 4 MiB/s: so long may whoever comes then wait for a slot, and
    /// so much is left to a request that was made before there was a reader.
    static let largestRead: Int64 = 1280 << 10
    /// The largest picture that nobody reads and that comes in one request: 0.5 s at 4 MiB/s, which a person looks at two pictures.
    static let longestUnread: Int64 = 2 << 20
    /// Larger ones come in parts of about this size, one after the other, as many at once as there are connections.
    static let unreadPart: Int64 = 1 << 20
    /// Ranges begin at pages, as the kernel's reads do.
    static let page: Int64 = 4096
    /// Assumed for a picture whose length is not known yet, in bytes: what is counted for it of slots and of the budget until then.
    static let assumedLength: Int64 = 1 << 20
    /// The largest picture taken when nobody told its length.
    static let largestUnknown: Int64 = 64 << 20
    /// A download this near its end is finished although its last reader left.
    static let worthFinishing: Int64 = 64 << 10
    /// Failed requests in a row, without a byte in between, before the readers hear of it.
    static let triesWithoutProgress = 3
    /// Failed requests since one that was worth it; bounds servers that send one byte at a time.
    static let triesInAll = 8
    /// What a request must have brought to be worth it: over a line that breaks every second a large picture comes in many.
    static let worthATry: Int64 = 64 << 10
    /// The pause before the second try; doubled each time.
    static let firstPause: Duration = .milliseconds(200)
    /// When one request must have ended: a picture of 64 MiB at 128 KiB/s.
    ///
    /// Stalls are cut by the transport long before.
    static let requestDeadline: Duration = .seconds(600)
}

/// One request of a download: the bytes from `next` on are its business alone.
struct Segment: Equatable, Sendable {
    /// The range asked for; nil for the whole picture by a plain GET.
    let asked: Range<Int64>?
    /// How much of what others bring it asks for besides.
    var seams = SeamLengths()
    /// Both together, as they were asked for, wherever it was cut since.
    var requested: Range<Int64>?
    /// Breaks of the download that there had been when it began.
    var breaks = 0
    /// Whether it was asked for only if the version is still the one that is there.
    var isConditional = false
    /// The next byte of the picture that its body will bring; those before are in the file.
    var next: Int64
    /// Where it is to end: the end of its answer, or where other bytes begin; `.max` while unknown.
    var end: Int64
    var hasAnswer = false
}

/// A request that a download wants made.
struct SegmentStart: Equatable, Sendable {
    let id: UInt64
    /// The bytes to ask for, those at the seams included; nil for the whole picture.
    let asked: Range<Int64>?
    let ifRange: String?
}

/// What somebody waits for.
enum Need: Equatable, Sendable {
    case bytes(Range<Int64>)
    /// The length of a picture that no header tells.
    case length
}

/// What became of a download through one event; to be acted on outside the lock.
struct DownloadChange: Equatable, Sendable {
    /// Waiters whose bytes are there.
    var ready: [UInt64] = []
    /// Requests to end.
    var cancel: [UInt64] = []
    var outcome: DownloadOutcome?
}

/// A download's turning points.
enum DownloadOutcome: Equatable, Sendable {
    /// Every byte is there: find out whether they prove what is left to prove, and tell it.
    case check(Proof, length: Int64)
    /// Every byte is there and was found right as far as can be known.
    case complete(length: Int64)
    /// Given up; `keepsPartial` tells whether what is there may be resumed.
    case failed(ImageCacheError, keepsPartial: Bool)
    /// What is there belongs to another version: throw it away and begin again.
    case restart
}

/// Where the next bytes of a body go.
struct BodyPlan: Equatable, Sendable {
    /// Their place in the picture.
    var range: Range<Int64>
    /// Parts of it that are to be written; what lies between is there already and has to be the same.
    var gaps: [Range<Int64>]
    /// Bytes that the whole picture may take.
    var room: Int64

    /// The places of the next so many bytes of the body, in order.
    func parts(_ count: Int64) -> (all: Range<Int64>, writes: [Range<Int64>], repeats: [Range<Int64>]) {
        let all = range.lowerBound..<min(range.upperBound, range.lowerBound + count)
        let writes = gaps.map { $0.clamped(to: all) }.filter { !$0.isEmpty }
        return (all, writes, RangeSet(writes).gaps(in: all))
    }
}

// MARK: - Heads of answers

/// What an answer's head says about the picture, once it has been found free of contradictions.
struct CheckedAnswer: Equatable, Sendable {
    /// The first byte of the picture that the body holds.
    var start: Int64
    /// One past the last byte, if told.
    var end: Int64?
    /// The length of the whole picture, if told.
    var total: Int64?
    /// What names this version in `If-Range`.
    var validator: String?
    /// Whether a range was asked for and the whole came.
    var ignoredRange: Bool
}

/// Why an answer's head is not the picture that was asked for.
enum AnswerFault: Error, Equatable, Sendable {
    /// Will be the same if asked again at once.
    case final(ImageCacheError)
    /// May be better in a moment (5xx).
    case passing(ImageCacheError)
    /// Another version of the picture than the bytes that are there; start over.
    case changed(ImageCacheError)
}

/// Holds the head of an answer against what was asked for and is there; libcurl calls many contradictions a success (two
/// lengths: exit 0 with half the bytes).
enum SegmentCheck {
    /// What the bytes must be.
    struct Expectation {
        /// The bytes asked for, nil for the whole.
        var asked: Range<Int64>?
        /// Whether they were asked for with `If-Range`; a part that comes then is of the version that is there.
        var isConditional = false
        /// The picture's length, if known.
        var total: Int64?
        /// The version of bytes that are there already.
        var version: String?
        var format: PictureFormat
    }

    /// Decides whether the body that follows may be taken.
    ///
    /// - Parameters:
    ///   - answer: What the host says.
    ///   - expected: What was asked for, and what is known.
    /// - Returns: Which bytes the body holds, or what is wrong.
    static func check(_ answer: HTTPAnswer, _ expected: Expectation) -> Result<CheckedAnswer, AnswerFault> {
        if let fault = statusFault(answer, shown: expected.total) { return .failure(fault) }
        if !answer.codings.isEmpty {
            return .failure(.final(.broken("the picture came with an encoding that was not asked for")))
        }
        if let type = answer.mediaType, !expected.format.admits(contentType: type) {
            return .failure(.final(.untrusted("the answer is not a picture but \(plain(answer.contentType ?? type))")))
        }
        if let version = expected.version, let told = answer.validator, version != told {
            return .failure(.changed(.damaged("the picture changed at the source during the download")))
        }
        // RFC 9110 section 15.3.7: only the answer to If-Range need not name the version again.
        if expected.version != nil, answer.validator == nil, !(answer.outcome == .part && expected.isConditional) {
            return .failure(.changed(.broken("the source does not say any more which version it serves")))
        }
        if case .contradiction = answer.length {
            return .failure(.final(.broken("the answer contradicts itself about its length")))
        }
        return answer.outcome == .part ? part(answer, expected) : whole(answer, expected)
    }

    private static func whole(_ answer: HTTPAnswer, _ expected: Expectation) -> Result<CheckedAnswer, AnswerFault> {
        if let told = answer.length.value {
            // Its request would end without a byte, and nothing would ever be complete.
            if told == 0 { return .failure(.final(.broken("the picture is empty"))) }
            if told > PictureLimits.largest { return .failure(.final(tooLarge(told))) }
            if let shown = expected.total, told != shown {
                return .failure(contradiction(answer, told: told, shown: shown, format: expected.format))
            }
        }
        let total = answer.length.value ?? expected.total
        return .success(
            CheckedAnswer(
                start: 0, end: total, total: total, validator: answer.validator, ignoredRange: expected.asked != nil))
    }

    private static func part(_ answer: HTTPAnswer, _ expected: Expectation) -> Result<CheckedAnswer, AnswerFault> {
        guard let asked = expected.asked, let told = answer.part.value else {
            return .failure(.final(.broken("the answer is a part that was not asked for")))
        }
        guard told.lowerBound == asked.lowerBound, told.upperBound <= asked.upperBound else {
            return .failure(.final(.broken("the answer holds other bytes than those asked for")))
        }
        if let total = answer.total {
            if total > PictureLimits.largest { return .failure(.final(tooLarge(total))) }
            if let shown = expected.total, total != shown {
                return .failure(.changed(.lengthContradicts(told: total, shown: shown)))
            }
        }
        return .success(
            CheckedAnswer(
                start: told.lowerBound, end: told.upperBound, total: answer.total ?? expected.total,
                validator: answer.validator, ignoredRange: false))
    }

    /// What another length than the one shown means: a doubt about the latter only if the answer is surely the picture.
    ///
    /// Portals and stand-ins for withheld pictures have lengths of their own, and types that differ as a rule.
    private static func contradiction(
        _ answer: HTTPAnswer, told: Int64, shown: Int64, format: PictureFormat
    ) -> AnswerFault {
        guard let type = answer.mediaType, format.isNamed(by: type) else {
            return .final(
                .untrusted("the answer has \(told) bytes where \(shown) were promised, and is of another kind"))
        }
        // What was only told by an earlier answer is void after a fresh start.
        return .changed(.lengthContradicts(told: told, shown: shown))
    }

    private static func tooLarge(_ told: Int64) -> ImageCacheError {
        .broken("the picture has \(told) bytes, more than any picture may")
    }

    private static func statusFault(_ answer: HTTPAnswer, shown: Int64?) -> AnswerFault? {
        switch answer.outcome {
        case .whole, .part: return nil
        // What is there is not the picture's beginning, or its length is not the one shown.
        case .beyondTheEnd:
            if let shown, let told = answer.total, told != shown, (1...PictureLimits.largest).contains(told) {
                return .changed(.lengthContradicts(told: told, shown: shown))
            }
            return .changed(.damaged("the picture is shorter than the part asked for"))
        case .refused: return .final(.refused("the image host answered \(answer.status)"))
        case .gone: return .final(.gone)
        case .limited: return .final(.limited(retryAfter: nil))
        case .troubled: return .passing(.troubled(status: answer.status))
        case .unexpected: return .final(.troubled(status: answer.status))
        }
    }

    /// Text from outside made fit for a log line: letters, digits and a few signs, cut to 40.
    private static func plain(_ text: String) -> String {
        String(
            text.unicodeScalars.filter { $0.isASCII && $0.value > 32 && $0.value < 127 }.prefix(40).map(Character.init))
    }
}
