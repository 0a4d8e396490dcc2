import HTTP
import Rankings
import TestSupport
import Testing

@testable import ImageCache

/// The state machine by itself: no network, no files, no clock.
@Suite struct DownloadStateTests {
    static let now = ContinuousClock.now
    static let version = "Sun, 23 Apr 2023 04:23:16 GMT"

    static func head(_ asked: Range<Int64>?, total: Int64) -> HTTPAnswer {
        let common = [(name: "content-type", value: "image/jpeg"), (name: "last-modified", value: version)]
        guard let asked else {
            return HTTPAnswer(status: 200, headers: common + [(name: "content-length", value: "\(total)")])
        }
        let range = "bytes \(asked.lowerBound)-\(asked.upperBound - 1)/\(total)"
        return HTTPAnswer(status: 206, headers: common + [(name: "content-range", value: range)])
    }

    /// Asks the scheduler, and does what it says, until it says nothing.
    static func plan(
        _ download: inout Download, idle: Int, wishes: Int = 0, nextID: inout UInt64
    ) -> [(id: UInt64, asked: Range<Int64>?)] {
        let scheduler = DownloadScheduler(slots: TransferSlots(all: download.segments.count + idle))
        var starts: [(id: UInt64, asked: Range<Int64>?)] = []
        let key = PictureID(high: 0, low: 1)
        while case .request(_, let piece) = scheduler.next([download.demand(key, number: 1)], wishes: wishes) {
            starts.append((nextID, download.begin(piece, id: nextID).asked))
            nextID += 1
        }
        return starts
    }

    @Test func anAnswerWithoutAByteEndsTheWaitForALength() {
        var download = Download(format: .jpeg, total: nil, now: Self.now)
        download.waiters[1] = .length(id: 1)
        var nextID: UInt64 = 100
        let starts = Self.plan(&download, idle: 8, nextID: &nextID)
        #expect(starts.count == 1)
        guard let start = starts.first else { return }
        let change = download.answered(Self.head(start.asked, total: 0), to: start.id, now: Self.now)
        #expect(change.outcome == .failed(.broken("the picture is empty"), keepsPartial: false))
    }

    /// Random readers, orders of arrival and broken connections: every waiter is answered, every byte written once.
    @Test(arguments: 0..<60) func everyByteOnceAndEveryWaiterAnswered(_ seed: Int) {
        var dice = Random(seed: UInt64(seed))
        let total = Int64.random(in: 100_000...(14 << 20), using: &dice)
        var download = Download(format: .jpeg, total: total, now: Self.now)
        download.handles = [1]
        var nextID: UInt64 = 100
        var written = ByteSet()
        var answered: Set<UInt64> = []
        for waiter in 0..<UInt64(Int.random(in: 1...6, using: &dice)) {
            let lower = Int64.random(in: 0..<total, using: &dice)
            download.waiters[waiter] = .bytes(lower..<min(total, lower + 131_072), id: waiter)
        }
        let waiting = Set(download.waiters.keys)
        download.isDemanded = Bool.random(using: &dice)
        var steps = 0
        while !download.waiters.isEmpty || (download.isDemanded && download.phase == .running) {
            steps += 1
            guard steps < 20_000 else { Issue.record("seed \(seed) never ends"); return }
            _ = download.wake(now: Self.now + .seconds(steps))
            for start in Self.plan(&download, idle: 8 - download.segments.count, nextID: &nextID) {
                let change = download.answered(Self.head(start.asked, total: total), to: start.id, now: Self.now)
                guard change.outcome == nil else { Issue.record("seed \(seed): \(change)"); return }
            }
            guard let id = download.segments.keys.sorted().randomElement(using: &dice) else { continue }
            if download.failures < 5, Int.random(in: 0..<40, using: &dice) == 0 {
                answered.formUnion(
                    download.finished(id, .failure(.broken("reset")), now: Self.now).ready.map(\.wait.id))
                continue
            }
            guard let segment = download.segments[id] else { continue }
            let left = min(segment.end, total) - segment.next
            let count = min(left, Int64.random(in: 1...200_000, using: &dice))
            guard count > 0, let (all, writes, _) = download.plan(of: id)?.parts(count) else {
                answered.formUnion(download.finished(id, .success(()), now: Self.now).ready.map(\.wait.id))
                continue
            }
            for range in writes {
                if written.gaps(in: range) != [range] { Issue.record("seed \(seed): \(range) came twice") }
                written.insert(contentsOf: range)
            }
            note(all, total, &download)
            // Others plan while the bytes are being written.
            for start in Self.plan(&download, idle: 8 - download.segments.count, nextID: &nextID) {
                let change = download.answered(Self.head(start.asked, total: total), to: start.id, now: Self.now)
                guard change.outcome == nil else { Issue.record("seed \(seed): \(change)"); return }
            }
            answered.formUnion(download.wrote(all, from: id, now: Self.now).ready.map(\.wait.id))
            if !download.goesOn(id) {
                answered.formUnion(download.finished(id, .failure(.cancelled), now: Self.now).ready.map(\.wait.id))
            }
        }
        #expect(answered == waiting)
        #expect(written == download.present)
        if download.isDemanded { #expect(written == ByteSet([0..<total])) }
    }

    /// Tells the edges what a JPEG's bytes would be.
    private func note(_ range: Range<Int64>, _ total: Int64, _ download: inout Download) {
        var bytes = [UInt8](repeating: 0, count: range.count)
        for (offset, value) in [(0, 0xFF), (1, 0xD8), (2, 0xFF), (total - 2, 0xFF), (total - 1, 0xD9)]
            as [(Int64, UInt8)]
        where range.contains(offset) {
            bytes[Int(offset - range.lowerBound)] = value
        }
        bytes.withUnsafeBytes { download.edges.note($0, at: range.lowerBound, total: total) }
    }

    @Test(arguments: [Download.worthATry, 1000])
    func aLineThatBreaksOftenIsBorneAsLongAsItBringsMuch(piece: Int64) {
        let total = 20 * Download.worthATry
        var download = Download(format: .jpeg, total: total, now: Self.now)
        download.isDemanded = true
        download.waiters[1] = .bytes(0..<total, id: 1)
        var nextID: UInt64 = 1
        var tries = 0
        var outcome: DownloadOutcome?
        while outcome == nil, !download.waiters.isEmpty, tries < 100 {
            _ = download.wake(now: Self.now + .seconds(tries * 60))
            for start in Self.plan(&download, idle: 1, nextID: &nextID) {
                tries += 1
                _ = download.answered(Self.head(start.asked, total: total), to: start.id, now: Self.now)
                guard let segment = download.segments[start.id] else { continue }
                // So much besides what is there.
                let count = min(segment.own.lowerBound - segment.next + piece, total - segment.next)
                if let all = download.plan(of: start.id)?.parts(count).all {
                    note(all, total, &download)
                    outcome = download.wrote(all, from: start.id, now: Self.now).outcome
                }
                if outcome == nil {
                    outcome = download.finished(start.id, .failure(.broken("cut")), now: Self.now).outcome
                }
            }
        }
        let brings = piece >= Download.worthATry
        #expect(tries == (brings ? 20 : Download.triesInAll + 1))
        #expect((download.present == ByteSet([0..<total])) == brings)
    }

    @Test(arguments: [1 << 20, 12 << 20] as [Int64])
    func aPreloadWhoseLengthComesWithTheAnswerIsSharedIfLarge(total: Int64) {
        var download = Download(format: .jpeg, total: nil, now: Self.now)
        download.isPreload = true
        var nextID: UInt64 = 1
        let plain = Self.plan(&download, idle: 7, nextID: &nextID)
        #expect(plain.map(\.asked) == [nil])
        download.total = total
        download.validator = "\"a\""
        download.segments[1]?.end = total
        download.segments[1]?.hasAnswer = true
        let shares = Self.plan(&download, idle: 6, nextID: &nextID)
        #expect(shares.isEmpty == (total <= Download.longestUnread))
        #expect(shares.count <= 6)
        // Each byte once but for the seams, from the first on.
        var end = download.segments[1]?.end
        for share in shares {
            #expect(share.asked?.lowerBound == end.map { $0 - Download.seam })
            end = share.asked?.upperBound
        }
        #expect(Self.plan(&download, idle: 0, nextID: &nextID).isEmpty)
    }

    /// The first answer tells the length of a picture for a copy; the rest is requested then, and of most pictures there is none.
    @Test(arguments: [-1, 0, 1, 5_000_000] as [Int64])
    func aCopyLearnsTheLengthFromItsFirstPart(excess: Int64) throws {
        let total = Download.largestCopied + excess
        var download = Self.copied()
        var nextID: UInt64 = 1
        let first = Self.plan(&download, idle: 12, nextID: &nextID)
        #expect(first.map(\.asked) == [0..<Download.largestCopied])
        #expect(download.answered(Self.part(of: total), to: 1, now: Self.now) == DownloadChange())
        #expect(download.total == total)
        let rest = Self.plan(&download, idle: 12, nextID: &nextID)
        #expect(rest.count == (excess <= 0 ? 0 : excess < 10 ? 1 : 2))
        let asked = rest.compactMap(\.asked)
        #expect(asked.first.map { $0.lowerBound == Download.largestCopied - Download.seam } ?? true)
        #expect(asked.last.map { $0.upperBound == total } ?? true)
    }

    /// Parts of which nothing proves that they belong together, or of which no answer tells the length, are of no use.
    @Test(arguments: [true, false]) func aCopyRequestsTheWholeWhereNoPartIsOfUse(hasVersion: Bool) {
        let total = 2 * Download.largestCopied
        var download = Self.copied()
        var nextID: UInt64 = 1
        _ = Self.plan(&download, idle: 12, nextID: &nextID)
        let change = download.answered(
            Self.part(of: total, hasVersion: hasVersion, hasTotal: !hasVersion), to: 1, now: Self.now)
        #expect(change == DownloadChange(cancel: [1], outcome: .restart))
        download.clear(total: nil, token: 2)
        let whole = Self.plan(&download, idle: 12, nextID: &nextID)
        #expect(whole.map(\.asked) == [nil])
    }

    /// A part that is the whole picture needs no version.
    @Test func aCopyTakesAPartThatIsAll() {
        var download = Self.copied()
        var nextID: UInt64 = 1
        _ = Self.plan(&download, idle: 12, nextID: &nextID)
        let change = download.answered(Self.part(of: 5000, hasVersion: false), to: 1, now: Self.now)
        #expect(change == DownloadChange() && download.total == 5000)
        #expect(Self.plan(&download, idle: 12, nextID: &nextID).isEmpty)
        note(0..<5000, 5000, &download)
        #expect(download.wrote(0..<5000, from: 1, now: Self.now).outcome == .complete(length: 5000))
    }

    /// Until the length is known nothing else is requested, for a copy or for a viewer that comes meanwhile.
    @Test(arguments: [true, false]) func aCopyRequestsOnePartUntilTheLengthIsKnown(isStillCopied: Bool) {
        var download = Self.copied()
        var nextID: UInt64 = 1
        _ = Self.plan(&download, idle: 12, nextID: &nextID)
        download.isCopied = isStillCopied
        download.waiters[1] = .bytes(8 << 20..<9 << 20, id: 1)
        #expect(Self.plan(&download, idle: 12, nextID: &nextID).isEmpty)
    }

    private static func copied() -> Download {
        var download = Download(format: .jpeg, total: nil, now: now)
        (download.isPreload, download.isCopied) = (true, true)
        return download
    }

    /// The answer to the first request of a copy, of a picture of so many bytes.
    private static func part(of total: Int64, hasVersion: Bool = true, hasTotal: Bool = true) -> HTTPAnswer {
        let last = min(total, Download.largestCopied) - 1
        let version = hasVersion ? [(name: "etag", value: "\"a\"")] : []
        return HTTPAnswer(
            status: 206,
            headers: version + [
                (name: "content-type", value: "image/jpeg"), (name: "content-length", value: "\(last + 1)"),
                (name: "content-range", value: "bytes 0-\(last)/\(hasTotal ? "\(total)" : "*")"),
            ])
    }

    @Test func anUnwantedDownloadAsksForNothing() {
        var download = Download(format: .jpeg, total: 5000, now: Self.now)
        var nextID: UInt64 = 1
        #expect(Self.plan(&download, idle: 8, nextID: &nextID).isEmpty)
        download.isPreload = true
        #expect(Self.plan(&download, idle: 8, nextID: &nextID).map(\.asked) == [nil])
        #expect(Self.plan(&download, idle: 8, nextID: &nextID).isEmpty)
    }
}
