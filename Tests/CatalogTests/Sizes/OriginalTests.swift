import HTTP
import Sourcing
import Rankings
import Testing

@testable import Catalog

/// Listings that show originals: what finding them costs, what stands in, what is stored.
@Suite(.timeLimit(.minutes(1))) struct OriginalTests {
    let bench = Bench()
    let view = ListingView(rendition: .original)

    init() {
        bench.source.set { $0.entries = 4 }
    }

    /// The path below the image host of a rank's original.
    private func path(_ rank: Int, _ format: String) -> String { "img/\(number(rank)).\(format)/p0" }

    private func number(_ rank: Int) -> Int64 { Int64(Bench.day.ordinal) * 1000 + Int64(rank) }

    private func work(_ rank: Int) -> WorkID { WorkID(rawValue: number(rank)) }

    private func asked(_ rank: Int) -> [String] { bench.host.asked.filter { $0.contains("img/\(number(rank)).") } }

    private func open() throws -> Catalog { try bench.open(view: view, answers: true) }

    @Test func eachFormatCostsItsPlaceAmongTheLikely() async throws {
        bench.host[path(1, "jpg")] = .size(11)
        bench.host[path(2, "png")] = .size(22)
        bench.host[path(3, "gif")] = .size(33)
        let (catalog, listing) = try await bench.open(Bench.key, view: view, answers: true)
        #expect(
            listing.entries.map(\.name) == [
                "001-Title 1.jpg", "002-Title 2.png", "003-Title 3.gif", "004-Title 4.jpg",
            ])
        #expect(listing.entries.map(\.picture.rendition) == [.original, .original, .original, .regular])
        #expect((1...4).map { asked($0).count } == [1, 2, 3, 3])
        #expect(bench.host.asked.allSatisfy { $0.hasPrefix("HEAD ") })
        #expect(bench.source.calls == [.page(Bench.day, 1), .originals(work(4))])
        #expect(bench.events == [.originalMissing(work(4))])
        let questions = catalog.status().originalQuestions
        #expect(questions.host == 9 && questions.service == 1)
        // The same answers told the sizes.
        #expect((0..<3).map { listing.size(at: $0) } == [11, 22, 33])
        #expect(try await listing.resolveSize(at: 1, wholeListing: false) == 22)
        #expect(bench.host.asked.count == 9)
    }

    @Test func aNameThatIsNoneOfTheUsualIsAskedFromTheServiceOnce() async throws {
        bench.source.set { $0.entries = 1 }
        bench.source.set { $0.references[work(1)] = ["other.png", "other1.png"] }
        bench.host["other.png/p0"] = .size(5)
        let (_, listing) = try await bench.open(Bench.key, view: view, answers: true)
        #expect(listing.entries[0].name == "001-Title 1.png" && listing.entries[0].reference == "other.png")
        #expect(bench.host.asked.count == 4 && bench.source.calls.count == 2)
        #expect(bench.events.isEmpty)
    }

    @Test func anOriginalWithoutALengthIsOne() async throws {
        bench.source.set { $0.entries = 1 }
        bench.host[path(1, "jpg")] = .unmeasured
        let (_, listing) = try await bench.open(Bench.key, view: view, answers: true)
        #expect(listing.entries[0].picture.rendition == .original && listing.size(at: 0) == nil)
    }

    @Test func withheldWorksAreNotAskedFor() async throws {
        bench.source.set { state in
            state.entries = 1
            var hidden = FakeSource.work(number(1), title: "A")
            hidden.withheld = "login_only"
            state.records[work(1)] = hidden
        }
        let (_, listing) = try await bench.open(Bench.key, view: view, answers: true)
        #expect(listing.entries.map(\.isWithheld) == [true])
        #expect(bench.host.asked.isEmpty && bench.events.isEmpty)
    }

    @Test func aSilentHostStoresNothingAndIsAskedAgain() async throws {
        bench.host.setUsual { _ in .size(9) }
        bench.host[path(2, "jpg")] = .silent
        let catalog = try open()
        await #expect(throws: Failure.timedOut) { try await catalog.listings.open(Bench.key) }
        #expect(catalog.listings.loaded(Bench.key) == nil && catalog.listings.keys.isEmpty)
        #expect(bench.events.isEmpty, "it is not known to be missing")
        bench.host[path(2, "jpg")] = .size(8)
        let listing = try await catalog.listings.open(Bench.key)
        #expect(listing.entries.count == 4 && listing.size(at: 1) == 8)
    }

    // MARK: - 500

    /// The originals of a catalog, over a client that repeats requests at once.
    private func originals(of catalog: Catalog) -> Originals {
        var policy = RetryPolicy()
        policy.base = .zero
        let client = HTTPClient(
            transport: bench.host, policy: policy, time: .system, wallClock: { Bench.start }, random: { 1 })
        return Originals(catalog.context, host: ImageHost(client))
    }

    @Test func aFailureThatPassesIsWaitedFor() async throws {
        bench.host["img/1.jpg/p0"] = .recovering(failures: 1, size: 70)
        let catalog = try open()
        let listed = ListedWork(rank: 1, previousRank: nil, work: FakeSource.work(1, title: "A"))
        let found = try await originals(of: catalog).original(of: listed)
        #expect(found.rendition == .original && found.size == 70)
        #expect(bench.host.asked == ["HEAD img/1.jpg/p0", "HEAD img/1.jpg/p0"])
        #expect(bench.events.isEmpty)
    }

    /// A host in trouble answers 500 to all: what it says of one counts once it has delivered another.
    @Test(arguments: [500, 403])
    func aFailureForGoodMakesTheOtherRenditionStandIn(status: Int) async throws {
        bench.host["img/1.jpg/p0"] = .status(status)
        bench.host["img/2.jpg/p0"] = .size(9)
        let catalog = try open()
        func listed(_ work: Int64) -> ListedWork {
            ListedWork(rank: Int(work), previousRank: nil, work: FakeSource.work(work, title: "A"))
        }
        let originals = originals(of: catalog)
        await #expect(throws: Failure.self) { try await originals.original(of: listed(1)) }
        #expect(bench.host.asked.count == (status == 500 ? RetryPolicy().tries : 1) && bench.source.calls.isEmpty)
        #expect(bench.events.isEmpty)
        #expect(try await originals.original(of: listed(2)).size == 9)
        let found = try await originals.original(of: listed(1))
        #expect(found.rendition == .regular && found.fileExtension == "jpg" && found.reference == "img/1")
        #expect(bench.events == [.originalMissing(WorkID(rawValue: 1))])
    }

    /// One that is refused costs its own place, and a day of which all are is not shown as copies.
    @Test func aDayOfWhichEveryOriginalFailsIsInTrouble() async throws {
        bench.host.setUsual { _ in .status(500) }
        let catalog = try open()
        await #expect(throws: Failure.answered(status: 500)) { try await catalog.listings.open(Bench.key) }
        #expect(catalog.listings.keys.isEmpty && bench.events.isEmpty)
        bench.host.setUsual { $0.contains(".png") ? .status(404) : .size(9) }
        bench.host[path(3, "jpg")] = .status(403)
        let listing = try await catalog.listings.open(Bench.key)
        #expect(listing.entries.map(\.picture.rendition) == [.original, .original, .regular, .original])
        #expect(bench.events == [.originalMissing(work(3))])
    }

    @Test(arguments: [502, 503, 429])
    func aHostInTroubleIsNoMissingOriginal(status: Int) async throws {
        bench.host["img/1.jpg/p0"] = .status(status)
        let catalog = try open()
        let listed = ListedWork(rank: 1, previousRank: nil, work: FakeSource.work(1, title: "A"))
        let originals = originals(of: catalog)
        await #expect(throws: Failure.self) { try await originals.original(of: listed) }
        #expect(Set(bench.host.asked) == ["HEAD img/1.jpg/p0"], "other formats are not tried")
        #expect(bench.events.isEmpty)
    }

    @Test func pagesStandInOneByOne() async throws {
        bench.host["a.png/p0"] = .size(1)
        bench.host["b.png/p1"] = .status(500)
        let catalog = try open()
        let listed = ListedWork(rank: nil, previousRank: nil, work: FakeSource.work(1, title: "A"))
        let pages = try await originals(of: catalog).pages(
            ["a.png", "b.png", "c.png", "d"], of: listed)
        #expect(pages.map(\.rendition) == [.original, .regular, .original, .regular])
        #expect(pages.map(\.page) == [0, 1, 2, 3])
        #expect(pages.map(\.fileExtension) == ["png", "jpg", "png", "jpg"])
    }

    @Test func aMissingOriginalIsReportedOnce() async throws {
        bench.source.set { $0.entries = 1 }
        let catalog = try open()
        _ = try await catalog.listings.open(Bench.key)
        let weekly = try await catalog.listings.open(.ranking(.weekly, Bench.day))
        #expect(weekly.entries[0].picture.rendition == .regular)
        #expect(bench.events == [.originalMissing(work(1))])
    }

    // MARK: - Two variants in one database

    @Test func theVariantsOfADatabaseDoNotDisturbEachOther() async throws {
        bench.host.setUsual { $0.contains(".png") ? .size(9) : .status(404) }
        let regular = try bench.open(answers: true)
        let before = RestartTests.facts(try await regular.listings.open(Bench.key))
        await regular.close()
        let originals = try open()
        #expect(originals.listings.keys.isEmpty)
        let listing = try await originals.listings.open(Bench.key)
        #expect(listing.entries.allSatisfy { $0.name.hasSuffix(".png") && $0.picture.rendition == .original })
        originals.listings.forget(Bench.key)
        let calls = bench.source.calls.count
        let again = try await bench.reopen(answers: true)
        #expect(RestartTests.facts(try await again.listings.open(Bench.key)) == before)
        #expect(bench.source.calls.count == calls)
    }
}
