@testable import Catalog
import HTTP
import Rankings
import Sourcing
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct SizeTests {
    let bench = Bench()

    @Test func aHundredAskersCostOneHeadWithItsReferer() async throws {
        let (_, listing) = try await bench.open(Bench.key)
        let askers = (0..<100).map { _ in Task { try await listing.resolveSize(at: 3, wholeListing: false) } }
        let held = await bench.transport.waitForRequest(at: 0)
        #expect(held.request.method == .head)
        #expect(held.request.headers == ["Referer: https://fake.test/"])
        #expect(listing.size(at: 3) == nil)
        Bench.answer(held, size: 4321)
        for asker in askers { #expect(try await asker.value == 4321) }
        #expect(listing.size(at: 3) == 4321)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func aWalkAsksForEverySizeAtOnce() async throws {
        let (_, listing) = try await bench.open(Bench.key)
        _ = try await listing.entries(reaching: .max)
        let walker = Task {
            var sizes: [Int64] = []
            for index in 0..<500 { sizes.append(try await listing.resolveSize(at: index, wholeListing: true)) }
            return sizes
        }
        let first = await bench.transport.waitForRequests(Listing.walkBeginning)
        for (number, held) in first.enumerated() { Bench.answer(held, size: number + 1) }
        let requests = await bench.transport.waitForRequests(500)
        for (number, held) in requests.enumerated().dropFirst(first.count) { Bench.answer(held, size: number + 1) }
        let sizes = try await walker.value
        #expect(Set(sizes).count == 500)
        #expect(bench.transport.requests.count == 500)
        let (_, stored) = try await bench.reopen(Bench.key)
        #expect((0..<500).map { stored.size(at: $0) } == sizes)
        #expect(bench.transport.requests.count == 500)
    }

    /// The first two steps of a walk, of which the second requests all sizes; the size of the first entry.
    private func walk(_ listing: Listing) -> Task<Int64, any Error> {
        Task {
            async let first = listing.resolveSize(at: 0, wholeListing: true)
            async let second = listing.resolveSize(at: Listing.walkBeginning, wholeListing: true)
            return try await min(first, second)
        }
    }

    /// A copy opens the first picture once it has its size: it costs no others than begin a burst.
    @Test func theFirstStepOfAWalkRequestsAFew() async throws {
        let (catalog, listing) = try await bench.open(Bench.key)
        let copy = Task { try await listing.resolveSize(at: 0, wholeListing: true) }
        for held in await bench.transport.waitForRequests(Listing.walkBeginning) { Bench.answer(held, size: 9) }
        #expect(try await copy.value == 9)
        _ = try await listing.entries(reaching: .max)
        catalog.sizes.endWalk(of: listing)
        #expect(bench.transport.requests.count == Listing.walkBeginning)
    }

    @Test func whoeverWaitsForASizeOvertakesTheWalk() async throws {
        let (_, listing) = try await bench.open(Bench.key)
        _ = try await listing.entries(reaching: .max)
        let walker = walk(listing)
        let requests = await bench.transport.waitForRequests(500)
        let work = try #require(listing.entry(at: 300)).picture.work.rawValue
        let wanted = try #require(requests.first { $0.request.url.contains("\(work)") })
        #expect(wanted.priority == .preload)
        let asker = Task { try await listing.resolveSize(at: 300, wholeListing: false) }
        await wanted.waitForPriority(.reader)
        #expect(requests.count { $0.priority == .preload } >= 497, "the others stay as they were")
        for held in requests { Bench.answer(held, size: 9) }
        #expect(try await walker.value == 9)
        #expect(try await asker.value == 9)
    }

    /// A stat that comes while its request is being withdrawn gets its size all the same.
    @Test func theEndOfAWalkWithdrawsWhatHasNoWaiterAndIsNotSent() async throws {
        let clock = ManualClock()
        var rules = RequestQueue.Rules()
        rules.time = TimeSource(clock)
        let queue = RequestQueue(bench.transport, rules: rules)
        let catalog = try bench.open(over: queue)
        let listing = try await catalog.listings.open(Bench.key)
        _ = try await listing.entries(reaching: .max)
        let walker = walk(listing)
        while queue.counts != (4, 496) { await Task.yield() }
        let sent = await bench.transport.waitForRequests(4)
        func isSent(_ index: Int) -> Bool {
            sent.contains { $0.request.url.contains("\(listing.entries[index].picture.work.rawValue)") }
        }
        catalog.sizes.endWalk(of: listing)
        let asker = Task { try await listing.resolveSize(at: 400, wholeListing: false) }
        while queue.counts.queued > 3 { await Task.yield() }
        // Each good answer allows more: those with a waiter.
        for held in sent { Bench.answer(held, size: 9) }
        let count = 4 + [0, Listing.walkBeginning, 400].count { !isSent($0) }
        for held in await bench.transport.waitForRequests(count) { Bench.answer(held, size: 9) }
        #expect(try await asker.value == 9)
        #expect(try await walker.value == 9)
        #expect(queue.counts == (0, 0) && bench.transport.requests.count == count)
        // A size that was withdrawn is requested for the next waiter.
        let index = try #require((5..<400).first { !isSent($0) })
        let later = Task { try await listing.resolveSize(at: index, wholeListing: false) }
        Bench.answer(await bench.transport.waitForRequest(at: count), size: 9)
        #expect(try await later.value == 9)
        #expect(bench.transport.requests.count == count + 1)
    }

    @Test func aWalkAsksForThePagesThatNobodyHasReadYet() async throws {
        let (_, listing) = try await bench.open(Bench.key)
        bench.source.set { $0.isHeld = true }
        let walker = walk(listing)
        // While the first page's sizes are on their way, and no reader has come to the second.
        let first = await bench.transport.waitForRequests(50)
        await bench.source.waitForCalls(10)
        for held in first { Bench.answer(held, size: 9) }
        #expect(try await walker.value == 9)
        bench.source.releaseAll()
        #expect(await bench.transport.waitForRequests(500).count == 500)
    }

    @Test func aSizeThatNobodyTellsIsATypedErrorAndAskedAgain() async throws {
        let (catalog, listing) = try await bench.open(Bench.key)
        let asker = Task { try await listing.resolveSize(at: 0, wholeListing: false) }
        let head = await bench.transport.waitForRequest(at: 0)
        head.head(200, [("content-type", "image/jpeg")])
        head.finish()
        let probe = await bench.transport.waitForRequest(at: 1)
        probe.fail(.tooLarge)
        await #expect(throws: Failure.sizeNotTold) { try await asker.value }
        let again = Task { try await listing.resolveSize(at: 0, wholeListing: false) }
        let refused = await bench.transport.waitForRequest(at: 2)
        refused.respond(status: 404)
        await #expect(throws: Failure.notFound) { try await again.value }
        #expect(listing.size(at: 0) == nil)
        catalog.sizes.set(0, of: listing.entries[0].picture)
        #expect(listing.size(at: 0) == nil, "no picture has no bytes")
        catalog.sizes.set(5, of: listing.entries[0].picture)
        #expect(try await listing.resolveSize(at: 0, wholeListing: false) == 5)
    }

    /// Neither an answer that was under way nor the database, which hears of a doubt a moment later, shows it again.
    @Test(arguments: [true, false]) func aDoubtedSizeIsNotShownAgain(isStored: Bool) async throws {
        let (catalog, listing) = try await bench.open(Bench.key)
        let picture = try #require(listing.entry(at: 3)).picture
        let asker = Task { try await listing.resolveSize(at: 3, wholeListing: false) }
        let held = await bench.transport.waitForRequest(at: 0)
        if isStored {
            Bench.answer(held, size: 100)
            #expect(try await asker.value == 100)
            #expect(await catalog.sizes.stored(of: picture) == 100)
            catalog.sizes.forget(picture)
        } else {
            catalog.sizes.forget(picture)
            Bench.answer(held, size: 100)
            await #expect(throws: Failure.sizeNotTold) { try await asker.value }
        }
        await #expect(throws: Failure.sizeNotTold) { try await listing.resolveSize(at: 3, wholeListing: false) }
        #expect(listing.size(at: 3) == nil)
        #expect(await catalog.sizes.stored(of: picture) == nil)
    }

    @Test func whatADownloadToldIsNotReplacedByAHead() async throws {
        let (catalog, listing) = try await bench.open(Bench.key)
        let picture = listing.entries[0].picture
        let asker = Task { try await listing.resolveSize(at: 0, wholeListing: false) }
        let head = await bench.transport.waitForRequest(at: 0)
        catalog.sizes.set(5, of: picture)
        Bench.answer(head, size: 999)
        #expect(try await asker.value == 5)
        // Another listing that never heard of it is told by the host as well, and by the database at the next start.
        let restarted = try await bench.reopen()
        #expect(try await restarted.listings.open(Bench.key).size(at: 0) == 5)
        let weekly = try await restarted.listings.open(.ranking(.weekly, Bench.day))
        #expect(try await weekly.resolveSize(at: 0, wholeListing: false) == 5)
    }

    /// What other machines are to have again: the sizes that are known, and no request for the others.
    @Test func aListingsKnownSizesAreOfferedAgain() async throws {
        let shared = OtherMachines()
        let catalog = try bench.open(shared: shared)
        let listing = try await catalog.listings.open(Bench.key)
        for index in 0..<2 { catalog.sizes.set(Int64(5 + index), of: listing.entries[index].picture) }
        await catalog.sizes.offer(of: listing)
        #expect(
            shared.offered.withLock(\.self)
                == listing.entries.prefix(2).map(\.picture).enumerated().map {
                    OtherMachines.Offer(size: Int64(5 + $0), picture: $1, listing: Bench.key)
                })
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func theLastAskerToLeaveCancelsTheRequest() async throws {
        let (_, listing) = try await bench.open(Bench.key)
        let asker = Task { try await listing.resolveSize(at: 0, wholeListing: false) }
        let held = await bench.transport.waitForRequest(at: 0)
        asker.cancel()
        await #expect(throws: Failure.cancelled) { try await asker.value }
        await held.waitForEnd()
        #expect(held.isCancelled)
    }
}

/// Other machines that know no sizes and keep what they are offered.
private final class OtherMachines: SharedSizes {
    struct Offer: Equatable {
        let size: Int64
        let picture: PictureID
        let listing: ListingKey
    }

    let offered = Mutex<[Offer]>([])

    func known(of pictures: [PictureID], in listing: ListingKey) async -> [Int64] { pictures.map { _ in 0 } }

    func offer(_ size: Int64, of picture: PictureID, in listing: ListingKey) async {
        offered.withLock { $0.append(Offer(size: size, picture: picture, listing: listing)) }
    }

    func size(
        of picture: PictureID, in listing: ListingKey, ask: nonisolated(nonsending) @Sendable () async -> PictureSize
    ) async -> PictureSize { await ask() }
}
