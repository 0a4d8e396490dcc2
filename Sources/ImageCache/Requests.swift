internal import HTTP
internal import Sourcing
internal import Rankings

/// Missing bytes of a download, as it offers them to the scheduler, which decides how many of them one request brings.
struct Piece: Equatable, Sendable {
    /// One stretch of bytes that are neither present nor under way.
    var gap: Range<Int64>
    /// Whether several requests may bring it.
    var isDivisible = true
    /// The request under way that reaches into the gap, and is to end where the gap begins.
    var cut: UInt64?

    /// The number of bytes; a guess where the length is unknown.
    var length: Int64 { gap.upperBound == .max ? Download.assumedLength : Int64(gap.count) }

    /// The first bytes of the piece, at least one.
    func prefix(_ length: Int64) -> Piece {
        var piece = self
        piece.gap = gap.lowerBound..<gap.lowerBound + min(Int64(gap.count), max(1, length))
        return piece
    }
}

extension Download {
    /// The bytes that a waiting read needs and that no request under way brings soon.
    var awaitedPiece: Piece? {
        guard mayAsk else { return nil }
        return waiters.values.compactMap { $0.range?.clamped(to: 0..<(total ?? .max)) }
            .sorted { $0.lowerBound < $1.lowerBound }.lazy.compactMap { self.piece(for: $0) }.first
    }

    /// The next bytes of a picture that is wanted whole.
    var wantedPiece: Piece? {
        guard mayAsk, wantsWhole, isSteady || segments.isEmpty, let gap = gap(from: 0) else { return nil }
        return Piece(gap: gap, isDivisible: isDivisible)
    }

    /// The end of the range of one long request: idle connections may have it, at the price of that request's connection.
    var sparePiece: Piece? {
        guard mayAsk, wantsWhole, isSteady, let total, validator != nil, !ignoresRanges, gap(from: 0) == nil else {
            return nil
        }
        let longest =
            isCopied
            ? Download.largestCopied : isRead ? Download.largestRead : Download.longestUnread
        func left(_ segment: Segment) -> Int64 { segment.hasAnswer ? min(segment.end, total) - segment.next : 0 }
        guard let (id, long) = segments.max(by: { left($0.value) < left($1.value) }), left(long) > longest else {
            return nil
        }
        let kept = long.next + Download.keptOfLong
        return Piece(gap: kept..<max(kept + 1, min(long.ownEnd, total)), cut: id)
    }

    private var mayAsk: Bool { phase == .running && retryAt == nil && isWanted }

    /// Whether bytes have come since the last break: until then one request at a time tries.
    private var isSteady: Bool { failuresInRow == 0 }

    /// Whether parts of the picture can be requested and combined.
    private var isDivisible: Bool { (total != nil || isCopied) && !ignoresRanges }

    private func piece(for range: Range<Int64>) -> Piece? {
        let missing = present.firstMissing(from: range.lowerBound)
        guard missing < range.upperBound else { return nil }
        let bringing = segments.filter { $0.value.next <= missing && missing < $0.value.end }
        if let (id, running) = bringing.max(by: { $0.value.next < $1.value.next }) {
            if isSmall || ignoresRanges || missing - running.next <= Download.near { return nil }
            // In its overlaps other requests bring the bytes.
            let own = max(running.next, running.own.lowerBound)..<max(running.next, running.ownEnd)
            guard own.contains(missing) else { return nil }
            let seek = seekRange(for: range, missing, in: own)
            // A walk backwards requests bytes from before its place: its own request is already the best one.
            guard seek.lowerBound > own.lowerBound else { return nil }
            return Piece(gap: seek, isDivisible: false, cut: id)
        }
        guard let gap = gap(from: missing, containing: true) else { return nil }
        let before = missing - gap.lowerBound
        guard isSmall || ignoresRanges || before <= Download.near else {
            let seek = seekRange(for: range, missing, in: gap)
            return Piece(gap: seek, isDivisible: false)
        }
        guard !wantsWhole, isDivisible, range.lowerBound < Download.head || !isSmall else {
            return Piece(gap: gap, isDivisible: wantsWhole && isDivisible)
        }
        // An inspection of the beginning costs only the bytes it needs; a request that is bounded keeps its connection.
        let needed = min(range.upperBound, gap.upperBound)
        let bounded = max(needed - gap.lowerBound, Download.head)
        let isNearlyAll = Int64(gap.count) - bounded <= Download.worthFinishing
        return Piece(gap: gap, isDivisible: false).prefix(isNearlyAll ? Int64(gap.count) : bounded)
    }

    /// Whether the picture is so small that requests beyond its beginning bring all the rest, in any order of reading.
    private var isSmall: Bool { total.map { $0 <= Download.alwaysWhole } ?? true }

    /// A bounded range for a read far from everything under way.
    ///
    /// A read that ends where bytes begin which are present is a walk backwards: it takes a larger step down.
    private func seekRange(for range: Range<Int64>, _ missing: Int64, in gap: Range<Int64>) -> Range<Int64> {
        let page = Download.page
        let isBackwards = gap.upperBound < (total ?? .max) && gap.upperBound - missing <= Download.near
        let start = isBackwards ? missing - Download.stepBack : missing
        let lower = max(gap.lowerBound, start / page * page)
        let upper = isBackwards ? gap.upperBound : max(lower + Download.seekWindow, range.upperBound)
        return lower..<min(gap.upperBound, upper)
    }

    /// The first stretch at or after `offset`, or around it, that is neither present nor under way.
    private func gap(from offset: Int64, containing: Bool = false) -> Range<Int64>? {
        let gaps = covered.gaps(in: 0..<(total ?? .max))
        return gaps.first { containing ? $0.contains(offset) : $0.upperBound > offset }
    }

    /// The bytes that are present or under way; until the length is known, one request counts as bringing all.
    var covered: ByteSet {
        var covered = present
        for segment in segments.values {
            let end = total == nil ? .max : segment.end
            covered.insert(contentsOf: segment.next..<max(segment.next, end))
        }
        return covered
    }

    /// Begins a request for all of a piece's gap; its bytes count as under way from now on.
    ///
    /// - Returns: The bytes to request, overlaps included, nil for the whole picture; and the version that they must belong to.
    mutating func begin(_ piece: Piece, id: UInt64) -> (asked: Range<Int64>?, ifRange: String?) {
        let range = piece.gap
        if let cut = piece.cut {
            segments[cut]?.end = range.lowerBound
        }
        // A whole picture needs no range, and many servers support none.
        let isWhole = range.lowerBound == 0 && range.upperBound == total ?? .max
        let isPart = !isWhole && !ignoresRanges
        let requested = isPart ? withSeams(range) : nil
        let ifRange = isPart ? validator : nil
        begun += 1
        segments[id] = Segment(
            requested: requested, own: isPart ? range : Segment.whole, breaks: breaks, isConditional: ifRange != nil,
            next: requested?.lowerBound ?? 0, end: requested?.upperBound ?? total ?? .max)
        return (requested, ifRange)
    }

    // MARK: - Readers that go on

    /// Takes note of the range of a waiting read, which may show that the reader wants more than the first bytes.
    ///
    /// Only a reader with larger steps requests more than the kernel's read-ahead at once.
    mutating func noteNeed(_ range: Range<Int64>) {
        let asksForMuch = range.lowerBound == 0 && range.count > Download.look
        let goesOn = range.lowerBound >= Download.head && present.contains(0..<range.lowerBound)
        if asksForMuch || goesOn { isDemanded = true }
    }

    // MARK: - Answers

    /// Checks the head of an answer; an outcome means that its body must not be taken.
    mutating func answered(_ head: HTTPAnswer, to id: UInt64, now: ContinuousClock.Instant) -> DownloadChange {
        guard let segment = segments[id], phase == .running else { return DownloadChange() }
        lastProgress = now
        switch fault(of: head, to: segment) {
        case nil: return take(head, for: id)
        case .final(let error): return fail(error, keepsPartial: keepsPartial(after: error))
        case .changed(let error): return changed(error)
        case .renamed(let error): return renamed(head, to: id, error, now: now)
        case .passing(let error):
            segments[id] = nil
            var change = pause(or: error, begun: breaks, now: now)
            change.cancel.append(id)
            return change
        }
    }

    /// Handles an answer under another name: the whole comes in one answer, with which bytes that were given out have to agree.
    private mutating func renamed(
        _ head: HTTPAnswer, to id: UInt64, _ error: Failure, now: ContinuousClock.Instant
    ) -> DownloadChange {
        let isWhole = head.outcome == .whole
        guard !ignoresRanges || isWhole, let segment = segments[id] else { return changed(error) }
        let isFirst = !ignoresRanges
        ignoresRanges = true
        // A whole that comes again after a break may have yet another name.
        guard hasReleased || !isFirst else { return changed(error) }
        let abandoned = abandonSegments()
        validator = nil
        guard isWhole else { return DownloadChange(cancel: abandoned) }
        segments[id] = segment
        var change = answered(head, to: id, now: now)
        change.cancel += abandoned.filter { $0 != id }
        return change
    }

    private mutating func take(_ answer: HTTPAnswer, for id: UInt64) -> DownloadChange {
        guard var segment = segments[id] else { return DownloadChange() }
        segment.hasAnswer = true
        let isPart = answer.outcome == .part
        // Without validators nothing proves that two answers belong together: the whole comes in one answer.
        let isAlone = validator == nil && answer.validator == nil
        let isAll = isPart && answer.total.map { answer.part == 0..<$0 } ?? false
        // Nor can parts be requested of a picture without a length.
        let isUseless = isPart && !isAll && (isAlone || total ?? answer.total == nil)
        if isAlone || isUseless { ignoresRanges = true }
        if isUseless {
            // Bytes of the tier that readers have stay, and are compared with the whole as it comes.
            return DownloadChange(cancel: abandonSegments(), outcome: hasReleased ? nil : .restart)
        }
        validator = validator ?? answer.validator
        if let told = isPart ? answer.total : answer.length {
            if total == nil { edges.learned(total: told) }
            total = told
        }
        var change = DownloadChange()
        if !isPart, segment.requested != nil { ignoresRanges = true }
        if !isPart, ignoresRanges {
            // The whole comes from its first byte; further ranges would each bring the whole again.
            change.cancel = segments.keys.filter { $0 != id }.sorted()
            segments = [:]
            (segment.own, segment.next, segment.end) = (Segment.whole, 0, total ?? .max)
        } else {
            // A source may send less than was requested.
            segment.end = min(segment.end, (isPart ? answer.part?.upperBound : total) ?? .max)
        }
        segments[id] = segment
        return change
    }

    /// Takes the end of a request.
    mutating func finished(
        _ id: UInt64, _ result: Result<Void, Failure>, now: ContinuousClock.Instant
    ) -> DownloadChange {
        guard let segment = segments.removeValue(forKey: id), phase == .running else { return DownloadChange() }
        switch result {
        case .success where total == nil && segment.hasAnswer:
            isMeasured = true
            total = segment.next
            edges.learned(total: segment.next)
            return settle()
        case .success:
            if isBrought(segment) { return settle() }
            if let shown = total, segment.requested == nil, edges.endsWhole(format, at: segment.next) {
                return fail(.lengthContradicts(told: segment.next, shown: shown))
            }
            return broke(.broken("the picture ended early"), segment, now: now)
        case .failure(let error):
            return isBrought(segment) ? settle() : broke(error, segment, now: now)
        }
    }

    /// Whether all bytes of a request are present; an overlap without its other side proves nothing more.
    private func isBrought(_ segment: Segment) -> Bool {
        present.contains(segment.next..<max(segment.next, segment.end))
    }

    /// Handles a request that failed on the way: resumes where it stopped if that promises anything.
    private mutating func broke(
        _ error: Failure, _ segment: Segment, now: ContinuousClock.Instant
    ) -> DownloadChange {
        let keepsPartial = validator != nil
        switch error {
        case .unreachable, .timedOut: return pause(or: error, begun: segment.breaks, now: now)
        case .broken(let reason):
            return pause(or: .broken("the download broke off: \(reason)"), begun: segment.breaks, now: now)
        case .cancelled: return pause(or: .unreachable("the download was ended"), begun: segment.breaks, now: now)
        case .invalidAnswer(let reason): return changed(.broken("the answer contradicts itself: \(reason)"))
        case .tooLarge: return fail(.broken("the answer is longer than any picture may be"))
        case .redirectRefused(let reason): return fail(.untrusted(reason), keepsPartial: keepsPartial)
        case .unsendable(let reason): return fail(.broken(reason), keepsPartial: keepsPartial)
        default: return fail(error, keepsPartial: keepsPartial)
        }
    }

    /// Whether the present bytes may be resumed although an answer was refused with this error.
    func keepsPartial(after error: Failure) -> Bool {
        switch error {
        case .gone, .damaged, .lengthContradicts: false
        default: validator != nil
        }
    }

    /// Waits for another try, or fails with `error` after enough tries.
    ///
    /// Requests that were under way together and break together, as when the network changes, are one break: `begun` is the
    /// number of breaks before the request began.
    private mutating func pause(or error: Failure, begun: Int, now: ContinuousClock.Instant) -> DownloadChange {
        let isSameBreak = begun < breaks
        if isSameBreak, validator != nil { return DownloadChange(ready: takeReady()) }
        breaks += 1
        failures += 1
        failuresInRow += 1
        broughtSinceFailure = 0
        guard failuresInRow <= Download.triesWithoutProgress, failures <= Download.triesInAll else {
            return fail(error, keepsPartial: validator != nil)
        }
        // Bytes of an answer without a version name cannot be resumed: all of them come again and have to be the same.
        if validator == nil, ignoresRanges, segments.isEmpty { keep(upTo: present.firstMissing(from: 0)) }
        // The first failure after progress is tried again at once: a connection that the server closed.
        let pause = failuresInRow == 1 ? Duration.zero : Download.firstPause * (1 << (failuresInRow - 2))
        retryAt = now + pause
        return DownloadChange(ready: takeReady())
    }

    /// Allows requests again once the pause is over.
    mutating func wake(now: ContinuousClock.Instant) -> Bool {
        guard let retryAt, retryAt <= now else { return false }
        self.retryAt = nil
        return true
    }
}

// MARK: - Limits and requests

/// The limits of a shared download.
extension Download {
    /// A read at most this many bytes after a running request's place waits for it.
    ///
    /// That takes 64 ms at 4 MiB/s, as long as a request of its own.
    static let near: Int64 = 256 << 10
    /// The least number of bytes for an inspection of the beginning.
    ///
    /// Type sniffers and previewers read so much, and then know enough.
    static let head: Int64 = 64 << 10
    /// The largest read of the kernel for such an inspection; a reader of more goes through the picture.
    ///
    /// The read-ahead that `Fuse` agrees on with the kernel, in bytes.
    static let look: Int64 = 80 << 10
    /// Pictures up to this many bytes come whole if they are read anywhere but at their beginning, in any order.
    static let alwaysWhole: Int64 = 1 << 20
    /// The bytes fetched at once for a reader that goes backwards.
    static let stepBack: Int64 = 1 << 19
    /// The bytes requested at once by a far seek, bounded so that an inspection of the end costs only the bytes it needs.
    static let seekWindow: Int64 = 512 << 10
    /// The largest number of bytes that two requests both bring where their parts meet.
    static let seam: Int64 = 64
    /// The number of next bytes that a long request keeps; idle slots take over the bytes after them.
    static let keptOfLong: Int64 = 512 << 10
    /// The largest number of bytes of one request for a picture with readers: 0.3 s at 4 MiB/s.
    ///
    /// This is the longest wait of a coming reader for a slot, and so much is left to a request that was made before there was
    /// a reader.
    static let largestRead: Int64 = 1280 << 10
    /// The largest picture without readers that comes in one request, in bytes.
    ///
    /// 0.5 s at 4 MiB/s, the time in which a person views two pictures.
    static let longestUnread: Int64 = 2 << 20
    /// The approximate size in bytes of the parts of larger pictures.
    ///
    /// The parts come one after the other, as many at once as there are connections.
    static let unreadPart: Int64 = 1 << 20
    /// The largest number of bytes of one request for a copy, the first of which gets the length: 0.66 s at 4 MiB/s.
    ///
    /// In that time the other connections bring the pictures of the widest window, and the copy comes to this one after them.
    static let largestCopied: Int64 = 2688 << 10
    /// The alignment of ranges in bytes, as of the kernel's reads.
    static let page: Int64 = 4096
    /// The assumed length in bytes of a picture of unknown length.
    ///
    /// It is counted against the slots and the budget until the length is known.
    static let assumedLength: Int64 = 1 << 20
    /// The largest picture taken without a declared length, in bytes.
    static let largestUnknown: Int64 = 64 << 20
    /// A download with at most this many bytes left is finished although its last reader left.
    static let worthFinishing: Int64 = 64 << 10
    /// Failed requests in a row, without a byte in between, before the readers get the error.
    static let triesWithoutProgress = 3
    /// Failed requests since the last one that was worth it; bounds servers that send one byte at a time.
    static let triesInAll = 8
    /// The bytes that make a request worth it: over a line that breaks every second a large picture comes in many requests.
    static let worthATry: Int64 = 64 << 10
    /// The pause before the second try; doubled each time.
    static let firstPause: Duration = .milliseconds(200)
    /// The time limit of one request: a picture of 64 MiB at 128 KiB/s.
    ///
    /// Stalls are cut by the transport long before.
    static let requestDeadline: Duration = .seconds(600)
}

/// One request of a download.
struct Segment: Sendable {
    /// The bytes of a request without a range.
    static let whole: Range<Int64> = 0..<Int64.max

    /// The requested range with its overlaps, whatever was cut since; nil for the whole picture by a plain GET.
    let requested: Range<Int64>?
    /// The bytes of the range that no other request was to bring when it began.
    var own: Range<Int64>
    /// The number of breaks of the download when it began.
    var breaks = 0
    /// Whether it was requested only if the version is still that of the present bytes.
    var isConditional = false
    /// The next byte of the picture that its body will bring; those before are in the file.
    var next: Int64
    /// The end of its range: the end of its answer, or the beginning of other bytes; `.max` while unknown.
    var end: Int64
    var hasAnswer = false

    /// The end of the bytes that no other request brings.
    var ownEnd: Int64 { min(end, own.upperBound) }

    /// Its last bytes before those of the next request, which that request may bring too.
    var lastSeam: Range<Int64> { max(0, ownEnd - Download.seam)..<ownEnd }
}

/// The consequences of one event for a download; carried out outside the lock.
struct DownloadChange: Equatable, Sendable {
    /// The waiters with all their bytes present.
    var ready: [Waiter] = []
    /// Requests to end.
    var cancel: [UInt64] = []
    var outcome: DownloadOutcome?
}

/// A turning point of a download.
enum DownloadOutcome: Equatable, Sendable {
    /// Every byte is present: the caller checks whether they give the missing proof, and reports the result.
    case check(Proof, length: Int64)
    /// Every byte is present and was found right as far as can be determined.
    case complete(length: Int64)
    /// The download failed; `keepsPartial` says whether the present bytes may be resumed.
    case failed(Failure, keepsPartial: Bool)
    /// The present bytes belong to another version: discard them and begin again.
    case restart
}

/// The places of the next bytes of a body.
struct BodyPlan: Equatable, Sendable {
    /// Their range in the picture.
    var range: Range<Int64>
    /// The parts of it that are to be written; bytes between them are present already and have to be the same.
    var gaps: [Range<Int64>]
    /// The bytes that no other request brings; for all others the plan is made anew when they come.
    var certain: Range<Int64>
    /// The number of requests of the download that had begun.
    var begun: UInt64
    /// The number of bytes that the whole picture may take.
    var room: Int64

    /// The places of the next `count` bytes of the body, in order.
    func parts(_ count: Int64) -> (all: Range<Int64>, writes: [Range<Int64>], repeats: [Range<Int64>]) {
        let all = range.lowerBound..<min(range.upperBound, range.lowerBound + count)
        let writes = gaps.map { $0.clamped(to: all) }.filter { !$0.isEmpty }
        return (all, writes, ByteSet(writes).gaps(in: all))
    }
}

// MARK: - Heads of answers

/// The reason why an answer's head does not fit the request.
enum AnswerFault {
    /// The same error would follow from a repetition at once.
    case final(Failure)
    /// The error may be over in a moment (5xx).
    case passing(Failure)
    /// The answer is of another version than the present bytes; the download starts over.
    case changed(Failure)
    /// The answer names another version; machines of one host may name the same one differently.
    case renamed(Failure)
}

/// Compares the head of an answer, which does not contradict itself (`AnswerCheck`), with the request and the present bytes.
extension Download {
    /// The reason why the following body must not be taken; nil if it may.
    private func fault(of answer: HTTPAnswer, to segment: Segment) -> AnswerFault? {
        if let fault = Self.statusFault(answer, shown: total) { return fault }
        if let type = answer.mediaType, !format.admits(type) {
            return .final(.untrusted("the answer is not a picture but \(Self.plain(answer.contentType ?? type))"))
        }
        if let validator, let told = answer.validator, validator != told {
            return .renamed(.damaged("the picture changed at the source during the download"))
        }
        // RFC 9110 section 15.3.7: only the answer to If-Range need not name the version again.
        if validator != nil, answer.validator == nil, !(answer.outcome == .part && segment.isConditional) {
            return .changed(.broken("the source does not say any more which version it serves"))
        }
        return answer.outcome == .part ? partFault(answer, segment) : wholeFault(answer)
    }

    private func wholeFault(_ answer: HTTPAnswer) -> AnswerFault? {
        guard let told = answer.length else { return nil }
        // The request would end without a byte, and nothing would ever be complete.
        if told == 0 { return .final(.broken("the picture is empty")) }
        if told > PictureLimits.largest { return .final(Self.tooLarge(told)) }
        guard let shown = total, told != shown else { return nil }
        return Self.contradiction(answer, told: told, shown: shown, format: format)
    }

    private func partFault(_ answer: HTTPAnswer, _ segment: Segment) -> AnswerFault? {
        guard let asked = segment.requested, let told = answer.part, told.lowerBound == asked.lowerBound,
            told.upperBound <= asked.upperBound
        else { return .final(.broken("the answer holds other bytes than those asked for")) }
        if let told = answer.total {
            if told > PictureLimits.largest { return .final(Self.tooLarge(told)) }
            if let shown = total, told != shown { return .changed(.lengthContradicts(told: told, shown: shown)) }
        }
        // The part may be shorter than requested, but one that ends within its overlap brings nothing, however often.
        return told.upperBound > segment.own.lowerBound
            ? nil : .final(.broken("the answer ends before the bytes asked for"))
    }

    /// The meaning of another length than the one shown: a doubt about the latter only if the answer is surely the picture.
    ///
    /// Portals and placeholders for withheld pictures have lengths of their own, and types that differ as a rule.
    private static func contradiction(
        _ answer: HTTPAnswer, told: Int64, shown: Int64, format: PictureFormat
    ) -> AnswerFault {
        guard let type = answer.mediaType, format.isNamed(by: type) else {
            return .final(
                .untrusted("the answer has \(told) bytes where \(shown) were promised, and is of another kind"))
        }
        // A length declared only by an earlier answer is void after a restart.
        return .changed(.lengthContradicts(told: told, shown: shown))
    }

    private static func tooLarge(_ told: Int64) -> Failure {
        .broken("the picture has \(told) bytes, more than any picture may")
    }

    private static func statusFault(_ answer: HTTPAnswer, shown: Int64?) -> AnswerFault? {
        switch answer.outcome {
        case .whole, .part: return nil
        // The present bytes are not the picture's beginning, or its length is not the one shown.
        case .beyondTheEnd:
            if let shown, let told = answer.total, told != shown, (1...PictureLimits.largest).contains(told) {
                return .changed(.lengthContradicts(told: told, shown: shown))
            }
            return .changed(.damaged("the picture is shorter than the part asked for"))
        case .refused: return .final(.refused("the image host answered \(answer.status)"))
        case .gone: return .final(.gone)
        case .limited: return .final(.limited(retryAfter: nil))
        case .troubled: return .passing(.answered(status: answer.status))
        case .unexpected: return .final(.answered(status: answer.status))
        }
    }

    /// Text from outside made fit for a log line: visible ASCII characters, cut to 40.
    private static func plain(_ text: String) -> String {
        String(
            text.unicodeScalars.filter { $0.isASCII && $0.value > 32 && $0.value < 127 }.prefix(40).map(Character.init))
    }
}
