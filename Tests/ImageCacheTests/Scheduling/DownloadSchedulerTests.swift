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

    @Test func nothingIsAskedForWhereNothingIsWanted() {
        var idle = Self.download(1, total: 1 << 20)
        idle.wanted = nil
        #expect(Self.run(slots: 8, [idle]).pieces.isEmpty)
        #expect(Self.run(slots: 8, []).pieces.isEmpty)
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

    @Test(arguments: [1, 2, 3, 8, 12, 16, 32]) func pieceByPieceTheWholeComesOnce(slots: Int) {
        for total in [1, 4096, 300_000, 1 << 20, 3 << 19, 3 << 20, 12 << 20] as [Int64] {
            for (isRead, isAwaited) in [(false, false), (true, false), (true, true)] {
                let download = Self.download(1, total: total, isRead: isRead, isAwaited: isAwaited, hasAnswer: true)
                let pieces = Self.run(slots: slots, [download]).pieces.map(\.piece)
                #expect(pieces.first?.lowerBound == 0)
                #expect(zip(pieces, pieces.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
                #expect(pieces.count <= (isRead ? slots : TransferSlots(all: slots).ahead))
                let least = isRead ? DownloadScheduler.smallestRead : Download.unreadPart / 2
                #expect(pieces.dropLast().allSatisfy { $0.count >= least })
            }
        }
    }

    @Test func aPictureThatIsReadHasAQuarterOfTheFreeSlotsUntilItsFirstAnswer() {
        for (hasAnswer, count) in [(false, 4), (true, 16)] {
            let download = Self.download(1, total: 12 << 20, isRead: true, hasAnswer: hasAnswer)
            #expect(Self.run(slots: 16, [download]).pieces.count == count)
        }
        // Those who come at one moment all find one.
        var downloads: [Demand] = []
        var granted: [Int] = []
        for number in 1...8 as ClosedRange<UInt64> {
            downloads.append(Self.download(number, total: 12 << 20, isAwaited: true))
            let count = Self.run(slots: 16, downloads).pieces.count
            granted.append(count)
            downloads[downloads.count - 1].requests = Array(repeating: 1 << 20, count: count)
        }
        #expect(granted == [4, 3, 3, 2, 1, 1, 1, 1])
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

    /// The first picture of a day comes over the connections that were made while the day was listed.
    @Test func aPictureThatIsAloneComesInPartsUnlessItIsSmall() {
        func parts(_ total: Int64) -> [Int] {
            Self.run(slots: 16, [Self.download(1, total: total, isAwaited: true)]).pieces.map(\.piece.count)
        }
        #expect(parts(DownloadScheduler.leastDivided - 1).count == 1)
        #expect(parts(524_899) == [147_456, 131_072, 131_072, 115_299])
        #expect(parts(1 << 20) == Array(repeating: 131_072, count: 4), "the rest is for who comes at the same moment")
    }

    @Test(arguments: [Int64(64) << 20, 256 << 20]) func noReaderKeepsASlotForLong(total: Int64) {
        let pieces = Self.run(slots: 4, [Self.download(1, total: total, isAwaited: true, hasAnswer: true)]).pieces
        #expect(pieces.allSatisfy { $0.piece.count <= Int(Download.largestRead) } && pieces.count == 4)
    }

    /// A length that nobody told counts as a guess.
    @Test func whatHasNoLengthComesInOneRequest() {
        var unknown = (1...5).map { Self.download($0, total: 1, isRead: true) }
        for index in unknown.indices {
            unknown[index].total = nil
            unknown[index].wanted = Piece(gap: 0..<Int64.max, isDivisible: false)
        }
        let pieces = Self.run(slots: 16, unknown).pieces
        #expect(pieces.map(\.piece) == Array(repeating: 0..<Int64.max, count: 5))
    }

    @Test func thoseWhoWaitGoFirstThenTheOlderOnesThenWhatNobodyReads() {
        let waiting = Self.download(9, total: 100_000, isAwaited: true, hasAnswer: true)
        let open = Self.download(5, total: 100_000, isRead: true, hasAnswer: true)
        let older = Self.download(3, total: 100_000, isRead: true, hasAnswer: true)
        let unread = Self.download(1, total: 100_000)
        let pieces = Self.run(slots: 8, [unread, open, waiting, older]).pieces
        #expect(pieces.map(\.number) == [9, 3, 5, 1])
    }

    @Test(arguments: [1, 2, 3, 4, 8, 16, 32]) func whatNobodyReadsLeavesSlotsToReaders(slots: Int) {
        let unread = (1...40).map { Self.download($0, total: 200_000) }
        let ahead = TransferSlots(all: slots).ahead
        #expect(Self.run(slots: slots, unread).pieces.count == ahead)
        #expect(ahead == max(1, min(slots - 1, max(7, slots * 3 / 4))))
        var reader = Self.download(99, total: 200_000, isRead: true)
        reader.requests = Array(repeating: 1 << 20, count: slots)
        reader.wanted = nil
        #expect(Self.run(slots: slots, unread + [reader]).pieces.isEmpty, "nor takes what readers need")
    }

    @Test func wishesAreBegunInTheSlotsThatAreLeft() {
        #expect(Self.run(slots: 16, [], wishes: 24).begun == 12)
        #expect(Self.run(slots: 16, [], wishes: 3).begun == 3)
        #expect(Self.run(slots: 1, [], wishes: 3).begun == 1)
        var busy = Self.download(1, total: 1 << 20)
        busy.wanted = nil
        busy.requests = Array(repeating: 1 << 20, count: 12)
        #expect(Self.run(slots: 16, [busy], wishes: 3).begun == 0)
        // What is there in part comes first.
        let pieces = Self.run(slots: 2, [Self.download(1, total: 8 << 20)], wishes: 3)
        #expect(pieces.begun == 0 && pieces.pieces.map(\.number) == [1])
    }

    /// What nobody reads comes in parts, the next picture only once all of this one was asked for.
    @Test func aLargePictureThatNobodyReadsComesInParts() {
        let part = Download.unreadPart
        func plan(slots: Int, wishes: Int = 0, _ totals: [Int64]) -> [(number: UInt64, piece: Range<Int64>)] {
            let downloads = totals.enumerated().map { Self.download(UInt64($0.offset), total: $0.element) }
            return Self.run(slots: slots, downloads, wishes: wishes).pieces
        }
        let longest = Download.longestUnread
        #expect(plan(slots: 16, [part]).map(\.piece) == [0..<part])
        #expect(plan(slots: 16, [longest]).map(\.piece) == [0..<longest])
        #expect(plan(slots: 16, [part * 5 / 2 - 1]).count == 2)
        #expect(plan(slots: 16, [part * 5 / 2]).count == 3)
        #expect(plan(slots: 16, [part * 4]).map(\.piece.count) == Array(repeating: Int(part), count: 4))
        #expect(plan(slots: 3, wishes: 9, [part * 4]).map(\.piece.lowerBound) == [0, part])
        let numbers = plan(slots: 16, wishes: 9, [part * 3, longest + 32768, part]).map(\.number)
        #expect(numbers.filter { $0 < 1000 } == [0, 0, 0, 1, 1, 2] && numbers.count == 12)
    }

    /// The slots that more parts would take fetch the pictures after it.
    @Test(arguments: [false, true]) func aPictureThatIsCopiedComesInFewRequests(isAwaited: Bool) {
        func parts(_ total: Int64?) -> [Int] {
            var copied = Self.download(1, total: total ?? .max, isAwaited: isAwaited, hasAnswer: true)
            (copied.isCopied, copied.total) = (true, total)
            return Self.run(slots: 16, [copied]).pieces.map(\.piece.count)
        }
        let largest = Download.largestCopied
        #expect(parts(100_000) == [100_000])
        #expect(parts(largest) == [Int(largest)])
        #expect(parts(2 * largest).count == 2)
        #expect(parts(2 * largest + 1).count == 3)
        #expect(parts(nil).first == Int(largest))
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
