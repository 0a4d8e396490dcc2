import Catalog
import Rankings
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct CatalogDayTests {
    let bench = Bench()
    var next: ListingKey { .ranking(.daily, Bench.day.advanced(by: 1)) }

    @Test func anUnpublishedDayIsRefusedForMinutesNotForGood() async throws {
        let catalog = try bench.open()
        bench.now += 4 * 3600
        #expect(!catalog.listings.isKnownAbsent(next), "the calendar says it is out")
        #expect(catalog.days.listed(of: .daily).last == Bench.day.advanced(by: 1))
        await #expect(throws: Failure.absent) { try await catalog.listings.open(next) }
        await #expect(throws: Failure.absent) { try await catalog.listings.open(next) }
        #expect(catalog.listings.isKnownAbsent(next) && catalog.days.listed(of: .daily).last == Bench.day)
        #expect(bench.source.calls.count == 1)
        bench.now += 299
        #expect(catalog.listings.isKnownAbsent(next))
        bench.now += 1
        #expect(!catalog.listings.isKnownAbsent(next))
        bench.source.set { $0.newest = Bench.day.advanced(by: 1) }
        #expect(try await catalog.listings.open(next).entries.count == 50)
    }

    /// Ctrl-C during a comparison with the service does not count as its silence: the next visit sends the request again.
    @Test func aVisitThatWasInterruptedIsNoAnswer() async throws {
        let followed = ListingKey.following(UserID(rawValue: 5))
        bench.source.set { $0.followed = [NamedAuthor(id: UserID(rawValue: 1), name: "N")] }
        let (catalog, _) = try await bench.open(followed)
        _ = try await catalog.days.newest(of: .daily)
        _ = try await catalog.records.profile(of: UserID(rawValue: 11))
        bench.now += 24 * 3600
        bench.source.set { $0.newest = Bench.day.advanced(by: 1) }
        let visits: [@Sendable () async throws -> Void] = [
            { _ = try await catalog.listings.open(followed) }, { _ = try await catalog.days.newest(of: .daily) },
            { _ = try await catalog.records.profile(of: UserID(rawValue: 11)) },
        ]
        for visit in visits {
            let before = bench.source.calls.count
            bench.source.set { $0.isHeld = true }
            let visitor = Task { try await visit() }
            await bench.source.waitForCalls(before + 1)
            visitor.cancel()
            _ = await visitor.result
            bench.source.releaseAll()
            let interrupted = bench.source.calls.count
            try await visit()
            #expect(bench.source.calls.count > interrupted)
        }
        #expect(try await catalog.days.newest(of: .daily) == Bench.day.advanced(by: 1))
    }

    @Test func theNewestDayIsAskedOnceAndAgainAfterNoon() async throws {
        let catalog = try bench.open()
        #expect(try await catalog.days.newest(of: .daily) == Bench.day)
        #expect(try await catalog.days.newest(of: .daily) == Bench.day)
        #expect(try await catalog.listings.open(Bench.key).entries.count == 50)
        #expect(bench.source.calls == [.page(nil, 1)], "the answer was also the day's first page")
        bench.now += 3 * 3600
        #expect(try await catalog.days.newest(of: .daily) == Bench.day, "the service is late")
        bench.now += 100
        #expect(try await catalog.days.newest(of: .daily) == Bench.day)
        #expect(bench.source.calls.count == 2)
        bench.now += 200
        bench.source.set { $0.newest = Bench.day.advanced(by: 1) }
        #expect(try await catalog.days.newest(of: .daily) == Bench.day.advanced(by: 1))
        #expect(bench.source.calls.count == 3)
        let restarted = try await bench.reopen()
        #expect(try await restarted.days.newest(of: .daily) == Bench.day.advanced(by: 1))
        #expect(bench.source.calls.count == 3)
    }

    @Test func manyAskersForTheNewestDayCostOneRequest() async throws {
        let catalog = try bench.open()
        bench.source.set { $0.isHeld = true }
        let askers = (0..<50).map { _ in Task { try await catalog.days.newest(of: .daily) } }
        await bench.source.waitForCalls(1)
        bench.source.releaseAll()
        for asker in askers { #expect(try await asker.value == Bench.day) }
        #expect(bench.source.calls.count == 1)
    }

    @Test func offlineTheNewestStoredDayAnswersForAMinute() async throws {
        let catalog = try bench.open()
        let stored = Bench.day.advanced(by: -5)
        _ = try await catalog.listings.open(.ranking(.daily, stored))
        bench.source.set { $0.failure = .timedOut }
        let restarted = try await bench.reopen()
        #expect(try await restarted.days.newest(of: .daily) == stored)
        #expect(restarted.days.rememberedNewest(of: .daily) == RememberedDay(day: stored, isCurrent: true))
        // It is not taken for the last day of the calendar, whose days are there once the network is back.
        #expect(restarted.days.newestListed(of: .daily) == Bench.day)
        #expect(restarted.days.listed(of: .daily).last == Bench.day)
        #expect(try await restarted.days.newest(of: .daily) == stored)
        #expect(bench.source.calls.count == 2)
        bench.source.set { $0.failure = nil }
        bench.now += 60
        #expect(try await restarted.days.newest(of: .daily) == Bench.day)
    }
}
