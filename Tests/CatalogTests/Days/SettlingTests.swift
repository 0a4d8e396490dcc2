import Rankings
import TestSupport
import Testing

@testable import Catalog

/// Days of services whose rankings go on following the votes.
@Suite(.timeLimit(.minutes(1))) struct SettlingTests {
    let bench = Bench()
    let source = FakeSource(newest: Bench.day, description: .settling)

    private static let week: Int64 = 7 * 86_400

    @Test func aDayIsReadAnewAfterAWeekAndWhatVanishedStays() async throws {
        source.set { ($0.entries, $0.total) = (120, 120) }
        let (catalog, before) = try await bench.open(Bench.key, source: source)
        _ = try await before.entries(reaching: .max)
        let calls = source.calls.count
        bench.now = catalog.days.calendar(of: .daily).published(Bench.day) + Self.week - 1
        #expect(try await catalog.listings.open(Bench.key) === before)
        #expect(source.calls.count == calls && !before.isFrozen)

        // Rank 2 is gone.
        source.set { $0.missingRanks = [2] }
        bench.now += 1
        #expect(try await catalog.listings.open(Bench.key) === before, "shown until all of the new one is there")
        await replacement(of: before, in: catalog)
        let after = try await catalog.listings.open(Bench.key)
        #expect(source.calls.count == calls + 3)
        #expect(after.isComplete && after.count == 120)
        #expect(after.entries.last == before.entries[1], "what vanished stays")
        #expect(Array(after.entries.dropLast()) == before.entries.filter { $0.rank != 2 })
        #expect(try await bench.reopen(Bench.key, source: source).listing.entries == after.entries)
        #expect(source.calls.count == calls + 3, "not before a month has passed")
    }

    @Test func aDayThatDidNotChangeStaysTheSameObject() async throws {
        source.set { ($0.entries, $0.total) = (60, 60) }
        let (catalog, listing) = try await bench.open(Bench.key, source: source)
        _ = try await listing.entries(reaching: .max)
        bench.now = catalog.days.calendar(of: .daily).published(Bench.day) + Self.week
        let now = bench.now
        _ = try await catalog.listings.open(Bench.key)
        while listing.state.withLock({ $0.fetched }) != now { await Task.yield() }
        let calls = source.calls.count
        #expect(try await catalog.listings.open(Bench.key) === listing)
        #expect(source.calls.count == calls)
    }

    @Test func whileTheServiceDoesNotAnswerTheOldDayIsShown() async throws {
        source.set { ($0.entries, $0.total) = (60, 60) }
        let (catalog, listing) = try await bench.open(Bench.key, source: source)
        _ = try await listing.entries(reaching: .max)
        bench.now = catalog.days.calendar(of: .daily).published(Bench.day) + Self.week
        source.set { $0.failures[.page(Bench.day, 2)] = .timedOut }
        let calls = source.calls.count
        #expect(try await catalog.listings.open(Bench.key) === listing)
        await source.waitForCalls(calls + 2)
        #expect(try await catalog.listings.open(Bench.key) === listing)
        #expect(source.calls.count == calls + 2, "not tried again at once")
        while !catalog.listings.unfinished.holds(StoredKey(listing: Bench.key), now: bench.now) { await Task.yield() }
        bench.now += Freshness.unfinishedSeconds - 1
        #expect(try await catalog.listings.open(Bench.key) === listing)
        #expect(source.calls.count == calls + 2, "a long listing is not begun again soon")
        bench.now += 1
        source.set { $0.failure = .unreachable("no route") }
        #expect(try await catalog.listings.open(Bench.key) === listing)
        #expect(source.calls.count == calls + 3)
    }

    /// The works of the day, all of one title.
    private func works(_ count: Int, title: String) -> [Work] {
        let works = (1...count).map { FakeSource.work(Int64(Bench.day.ordinal) * 1000 + Int64($0), title: title) }
        source.set { state in
            state.entries = count
            for work in works { state.records[work.id] = work }
        }
        return works
    }

    @Test func whoMovedToTheRankOfAVanishedWorkDoesNotTakeItsName() async throws {
        let works = works(3, title: "Same")
        let (catalog, before) = try await bench.open(Bench.key, source: source)
        #expect(before.entries.map(\.name) == ["001-Same.jpg", "002-Same.jpg", "003-Same.jpg"])
        // Rank 2 is gone, and the third work has it now.
        source.set { state in
            state.entries = 2
            state.records[works[1].id] = works[2]
        }
        bench.now = catalog.days.calendar(of: .daily).published(Bench.day) + Self.week
        _ = try await catalog.listings.open(Bench.key)
        await replacement(of: before, in: catalog)
        let after = try await catalog.listings.open(Bench.key)
        #expect(after.entries.map(\.picture.work) == [works[0].id, works[2].id, works[1].id])
        #expect(after.entries.map(\.name) == ["001-Same.jpg", "002-Same.jpg", "002-\(works[1].id.rawValue) Same.jpg"])
        #expect(try await bench.reopen(Bench.key, source: source).listing.entries == after.entries)
    }

    /// Titles change as well, and the first work may no longer be shown.
    @Test func whatKeepsItsRankKeepsItsNameAndWhatIsWithheldLaterStays() async throws {
        let works = works(4, title: "Old")
        let (catalog, before) = try await bench.open(Bench.key, source: source)
        source.set { state in
            state.records[works[0].id] = FakeSource.withheldWork(works[0].id.rawValue)
            for (old, new) in [(1, 2), (2, 1), (3, 3)] {
                state.records[works[old].id] = FakeSource.work(works[new].id.rawValue, title: "New")
            }
        }
        bench.now = catalog.days.calendar(of: .daily).published(Bench.day) + Self.week
        _ = try await catalog.listings.open(Bench.key)
        await replacement(of: before, in: catalog)
        let after = try await catalog.listings.open(Bench.key)
        #expect(after.entries.map(\.name).sorted() == ["001-Old.jpg", "002-New.jpg", "003-New.jpg", "004-Old.jpg"])
        #expect(after.entries.last == before.entries[0])
        #expect(after.entries.prefix(3).map(\.picture.work) == [works[2].id, works[1].id, works[3].id])
    }

    @Test func onlyWhatWasReadIsReadAnewAndOnlyOnceAtATime() async throws {
        source.set { state in
            state.entries = 1500
            state.total = 1500
        }
        let (catalog, before) = try await bench.open(Bench.key, source: source)
        _ = try await before.entries(reaching: 60)
        // What was asked for ahead has come, too.
        while before.state.withLock({ !$0.paging.asked.isEmpty }) { await Task.yield() }
        let count = before.count
        #expect(count < 1500)
        bench.now = catalog.days.calendar(of: .daily).published(Bench.day) + Self.week
        let calls = source.calls.count
        source.set { state in
            state.missingRanks = [2]
            state.isHeld = true
        }
        async let opened = catalog.listings.open(Bench.key)
        await source.waitForCalls(calls + 1)
        source.release(.page(Bench.day, 1))
        #expect(try await opened === before)
        await source.waitForCalls(calls + 2)
        // Slow as the service may be, it is not asked by two at once.
        bench.now += 3600
        #expect(try await catalog.listings.open(Bench.key) === before)
        #expect(source.calls.count == calls + 2)
        source.releaseAll()
        await replacement(of: before, in: catalog)
        #expect(source.calls.dropFirst(calls) == (1...(count / 50 + 1)).map { .page(Bench.day, $0) }[...])
        let after = try await catalog.listings.open(Bench.key)
        #expect(!after.isComplete)
        #expect(try await after.entries(reaching: .max).count == 1500, "the rest comes as it is read")
    }

    /// Returns once another object has taken a listing's place.
    private func replacement(of listing: Listing, in catalog: Catalog) async {
        while catalog.listings.memory[listing.stored] === listing { await Task.yield() }
    }
}
