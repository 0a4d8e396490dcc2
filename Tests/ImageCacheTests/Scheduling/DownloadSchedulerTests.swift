import HTTP
import Rankings
import TestSupport
import Testing

@testable import ImageCache

/// What is asked for next, told what there is: exhaustively, for it needs nothing else.
@Suite struct DownloadSchedulerTests {
    typealias Demand = DownloadScheduler.Demand

    static func key(_ number: UInt64) -> PictureID { PictureID(high: 0, low: number) }

    /// A download of which nothing is there yet.
    static func download(
        _ number: UInt64, total: Int64, isRead: Bool = false, isAwaited: Bool = false, hasAnswer: Bool = false
    ) -> Demand {
        var download = Demand(key: key(number), number: number)
        download.isRead = isRead || isAwaited
        download.isAwaited = isAwaited
        download.hasAnswer = hasAnswer
        download.wanted = Piece(gap: 0..<total)
        download.total = total
        return download
    }

    /// The pieces asked for until nothing is left to do, and how many wishes were begun.
    static func run(
        slots: Int, _ downloads: [Demand], wishes: Int = 0
    ) -> (pieces: [(number: UInt64, piece: Range<Int64>)], begun: Int) {
        let scheduler = DownloadScheduler(slots: TransferSlots(all: slots))
        var downloads = downloads
        var pieces: [(number: UInt64, piece: Range<Int64>)] = []
        var begun = 0
        while let order = scheduler.next(downloads, wishes: wishes - begun) {
            switch order {
            case .giveUp:
                Issue.record("nothing is under way that could give way")
                return (pieces, begun)
            case .begin:
                begun += 1
                downloads.append(download(1000 + UInt64(begun), total: 1 << 20))
            case .request(let key, let piece):
                guard let index = downloads.firstIndex(where: { $0.key == key }) else { return (pieces, begun) }
                pieces.append((downloads[index].number, piece.gap))
                downloads[index].requests.append(piece.length + DownloadScheduler.latency)
                if downloads[index].awaited?.gap.lowerBound == piece.gap.lowerBound { downloads[index].awaited = nil }
                guard let wanted = downloads[index].wanted, wanted.gap.lowerBound == piece.gap.lowerBound else {
                    continue
                }
                let rest = piece.gap.upperBound..<wanted.gap.upperBound
                downloads[index].wanted =
                    rest.isEmpty ? nil : Piece(gap: rest, isDivisible: wanted.isDivisible)
            }
        }
        return (pieces, begun)
    }

    @Test(arguments: 1...16) func aWaitingReadIsAskedForWithoutAFreeSlotToo(slots: Int) {
        var others = (2..<40).map { Self.download($0, total: 3 << 20, isRead: true, hasAnswer: true) }
        for index in others.indices { others[index].requests = [1 << 20] }
        var waiting = Self.download(1, total: 3 << 20, isAwaited: true)
        waiting.wanted = nil
        waiting.awaited = Piece(gap: 4096..<8192, isDivisible: false)
        let pieces = Self.run(slots: slots, others + [waiting]).pieces
        #expect(pieces.count == 1 && pieces.first?.number == 1 && pieces.first?.piece == 4096..<8192)
    }

    /// What readers want is spread so that all slots end together, at the price of few requests.
    @Test func readersShareTheSlotsSoThatTheyEndTogether() {
        let sizes: [Int64] = [
            1_649_642, 3_828_286, 1_056_579, 3_497_278, 5_878_456, 1_603_915, 1_297_626, 1_624_676,
        ]
        var downloads: [Demand] = []
        for (number, size) in sizes.enumerated() {
            downloads.append(Self.download(UInt64(number), total: size, isAwaited: true, hasAnswer: true))
        }
        let pieces = Self.run(slots: 16, downloads).pieces
        #expect(pieces.count == 16)
        #expect(pieces.allSatisfy { Int64($0.piece.count) <= Download.largestRead }, "\(pieces)")
        #expect(Set(pieces.map(\.number)).count == sizes.count, "none waits for another")
        // A slot that is busy for longer than all others will be gets nothing more to do.
        var reader = Self.download(1, total: 1 << 20, isAwaited: true, hasAnswer: true)
        var busy = Self.download(2, total: 64 << 20, isRead: true)
        (busy.wanted, busy.requests) = (nil, Array(repeating: 64 << 20, count: 14))
        #expect(Self.run(slots: 16, [reader, busy]).pieces.map(\.piece.count) == [1 << 19, 1 << 19])
        // Nor does a slot that is free soon: what it would bring comes with it, not with this request.
        reader.total = 2 << 20
        reader.wanted = Piece(gap: 0..<2 << 20)
        (busy.requests) = Array(repeating: 64 << 10, count: 15)
        #expect(Self.run(slots: 16, [reader, busy]).pieces.map(\.piece.count) == [192 << 10])
    }

    @Test func thoseWhoWaitGoFirstThenTheOlderOnesThenWhatNobodyReads() {
        let waiting = Self.download(9, total: 100_000, isAwaited: true, hasAnswer: true)
        let open = Self.download(5, total: 100_000, isRead: true, hasAnswer: true)
        let older = Self.download(3, total: 100_000, isRead: true, hasAnswer: true)
        let unread = Self.download(1, total: 100_000)
        let pieces = Self.run(slots: 8, [unread, open, waiting, older]).pieces
        #expect(pieces.map(\.number) == [9, 3, 5, 1])
    }

    /// Idle slots help a request that was made before the length was known, but only those that nobody else needs.
    @Test func theEndOfAPlainRequestIsWorthIdleSlotsOnly() {
        var plain = Self.download(1, total: 12 << 20, hasAnswer: true)
        plain.wanted = nil
        plain.requests = [11 << 20]
        plain.spare = Piece(gap: 1 << 20..<12 << 20, cut: 7)
        let scheduler = DownloadScheduler(slots: TransferSlots(all: 8))
        guard case .request(_, let piece) = scheduler.next([plain], wishes: 0) else {
            Issue.record("it is left to its one request")
            return
        }
        #expect(piece.cut == 7 && piece.gap.lowerBound == 1 << 20)
        #expect(scheduler.next([plain], wishes: 9) == .begin)
        plain.requests = Array(repeating: 11 << 20, count: 8)
        #expect(scheduler.next([plain], wishes: 0) == nil)
    }

    /// Any downloads, any number of slots: it ends, keeps to the slots, and leaves none idle that could do something.
    @Test(arguments: 0..<40) func itEndsAndKeepsToTheSlots(seed: Int) {
        var dice = Random(seed: UInt64(seed))
        let slots = Int.random(in: 1...20, using: &dice)
        let downloads = (1...12 as ClosedRange<UInt64>).map { number -> Demand in
            let isRead = Bool.random(using: &dice)
            return Self.download(
                number, total: Int64.random(in: 1...(16 << 20), using: &dice), isRead: isRead,
                isAwaited: isRead && Bool.random(using: &dice), hasAnswer: Bool.random(using: &dice))
        }
        let (pieces, begun) = Self.run(slots: slots, downloads, wishes: 30)
        let read = Set(downloads.filter(\.isRead).map(\.number))
        let awaited = Set(downloads.filter(\.isAwaited).map(\.number))
        // Each picture that somebody waits for has one request, whatever the slots; the others that are read come next.
        let asked = Set(pieces.map(\.number))
        #expect(awaited.isSubset(of: asked))
        #expect(read.isSubset(of: asked) || pieces.count >= slots)
        #expect(pieces.count <= max(slots, awaited.count))
        let (unread, ahead) = (pieces.count { !read.contains($0.number) }, TransferSlots(all: slots).ahead)
        #expect(unread <= ahead)
        #expect(unread == ahead || pieces.count >= slots, "with so many wishes no slot is left idle")
        #expect(begun <= unread)
    }
}
