@testable import Catalog
import Rankings
import Testing

@Suite(.timeLimit(.minutes(1))) struct AuthorTests {
    let bench = Bench()
    let key = ListingKey.author(Bench.author)

    func works(_ numbers: some Sequence<Int>) -> [WorkID] {
        numbers.map { WorkID(rawValue: Int64($0)) }
    }

    @Test func aPartlyReadAuthorGoesOnAfterARestart() async throws {
        bench.source.set { $0.works[Bench.author] = works((1...250).reversed()) }
        _ = try await bench.open(key)
        let (_, listing) = try await bench.reopen(key)
        #expect(listing.entries.count == 100 && !listing.isComplete)
        #expect(try await listing.find(named: Array("999-Work.jpg".utf8)) == nil)
        #expect(bench.source.calls.count == 2)
        #expect(try await listing.find(named: Array("1-Work.jpg".utf8)) == 249)
        #expect(listing.isComplete)
        #expect(bench.source.calls.count == 4)
    }

    @Test func newWorksComeInFrontAfterHoursAndVanishedOnesStay() async throws {
        bench.source.set { $0.works[Bench.author] = works([30, 20, 10]) }
        let (catalog, before) = try await bench.open(key)
        catalog.sizes.set(77, of: before.entries[1].picture)
        bench.now += 6 * 3600 - 1
        #expect(try await catalog.listings.open(key) === before)
        bench.now += 1
        bench.source.set { $0.works[Bench.author] = works([40, 30, 10]) }
        #expect(catalog.listings.loaded(key) == nil, "it must be compared with the service's first")
        let after = try await catalog.listings.open(key)
        #expect(after.entries.map(\.picture.work) == works([40, 30, 20, 10]))
        #expect(after.size(at: 2) == 77)
        #expect(before.entries.map(\.picture.work) == works([30, 20, 10]), "an open directory keeps its version")
        #expect(catalog.listings.loaded(key) === after)
        let asked = bench.source.calls.count
        let (restarted, stored) = try await bench.reopen(key)
        #expect(stored.entries == after.entries)
        #expect(stored.size(at: 2) == 77)
        #expect(try await restarted.listings.record(of: stored.entries[2], in: stored).work.id == WorkID(rawValue: 20))
        #expect(bench.source.calls.count == asked)
    }

    /// Of more than one page of new works all come in front, or none: a part would stand before older works for ever.
    @Test(arguments: [false, true]) func manyNewWorksComeInFrontOnceAllHaveCome(isRequested: Bool) async throws {
        bench.source.set { $0.works[Bench.author] = works([3, 2, 1]) }
        let (catalog, before) = try await bench.open(key)
        if !isRequested { bench.now += 6 * 3600 }
        bench.source.set {
            $0.works[Bench.author] = works((1...450).reversed())
            $0.failures[.works(100, first: WorkID(rawValue: 350))] = .answered(status: 500)
        }
        if isRequested { await #expect(throws: Failure.self) { try await catalog.listings.refresh(key) } }
        #expect(try await catalog.listings.open(key) === before)
        while !isRequested, !catalog.listings.unanswered.holds(before.stored, now: bench.now) { await Task.yield() }
        #expect(try await catalog.listings.open(key) === before && before.isComplete)
        bench.source.set { $0.failures = [:] }
        bench.now += 3600
        let asked = bench.source.calls.count
        if isRequested { try await catalog.listings.refresh(key) }
        _ = try await catalog.listings.open(key)
        while catalog.listings.memory[before.stored] === before { await Task.yield() }
        let after = try await catalog.listings.open(key)
        #expect(after.entries.map(\.picture.work) == works((1...450).reversed()) && after.isComplete)
        #expect(bench.source.calls.count == asked + 6, "their numbers, and a hundred at once")
        #expect(try await bench.reopen(key).listing.entries == after.entries)
    }

    @Test func aWithheldWorkThatIsShownAgainTakesItsPlace() async throws {
        let hidden = WorkID(rawValue: 20)
        bench.source.set {
            $0.works[Bench.author] = works([30, 20, 10])
            $0.records[hidden] = FakeSource.withheldWork(20)
        }
        let (catalog, before) = try await bench.open(key)
        #expect(before.entries.map(\.isWithheld) == [false, true, false])
        bench.now += 6 * 3600
        var asked = bench.source.calls.count
        #expect(try await catalog.listings.open(key) === before)
        #expect(bench.source.calls.dropFirst(asked) == [.ids(Bench.author), .works(1, first: hidden)])
        bench.source.set {
            $0.works[Bench.author] = works([40, 30, 20, 10])
            $0.records = [:]
        }
        bench.now += 6 * 3600
        asked = bench.source.calls.count
        let after = try await catalog.listings.open(key)
        #expect(
            bench.source.calls.dropFirst(asked) == [.ids(Bench.author), .works(2, first: WorkID(rawValue: 40))],
            "one request for what is new and what was withheld")
        #expect(after.entries.map(\.name) == ["40-Work.jpg", "30-Work.jpg", "20-Work.jpg", "10-Work.jpg"])
        #expect(after.entries.allSatisfy { !$0.isWithheld } && after.isComplete)
        #expect(try await catalog.listings.record(of: after.entries[2], in: after).work.title == "Work")
        #expect(try await bench.reopen(key).listing.entries == after.entries)
    }

    @Test(arguments: [250, 150]) func aPartOfTheIndexThatIsNotThereIsNoEnd(first: Int64) async throws {
        bench.source.set {
            $0.works[Bench.author] = works((1...250).reversed())
            $0.failures[.works(100, first: WorkID(rawValue: first))] = .notFound
        }
        let catalog = try bench.open()
        let page = first == 250 ? 1 : 2
        await #expect(throws: Failure.notFound.ofPage(page)) {
            try await catalog.listings.open(key).entries(reaching: .max)
        }
        #expect(!catalog.listings.isKnownAbsent(key))
        bench.source.set { $0.failures = [:] }
        #expect(try await catalog.listings.open(key).entries(reaching: .max).count == 250)
    }

    @Test func offlineAStaleAuthorIsServed() async throws {
        bench.source.set { $0.works[Bench.author] = works([30, 20, 10]) }
        let (catalog, before) = try await bench.open(key)
        bench.now += 7 * 3600
        bench.source.set { $0.failure = .unreachable("no route") }
        #expect(try await catalog.listings.open(key) === before)
        let asked = bench.source.calls.count
        #expect(try await catalog.listings.open(key) === before)
        #expect(bench.source.calls.count == asked, "the failure is remembered for minutes")
    }

    @Test func unknownAuthorsAreRefusedAndEmptyOnesAreEmpty() async throws {
        let catalog = try bench.open()
        await #expect(throws: Failure.absent) { try await catalog.listings.open(key) }
        #expect(catalog.listings.isKnownAbsent(key))
        let empty = UserID(rawValue: 12)
        bench.source.set { $0.works[empty] = [] }
        let listing = try await catalog.listings.open(.author(empty))
        #expect(listing.isComplete && listing.entries.isEmpty)
        #expect(try await listing.entries(reaching: 0).isEmpty)
        #expect(try await bench.reopen(.author(empty)).listing.isComplete)
        #expect(bench.source.calls.count == 2)
    }
}
