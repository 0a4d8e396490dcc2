import Rankings
import TestSupport
import Testing

@testable import Catalog

/// The directory of one work: its pages' originals, an animation's archive.
@Suite(.timeLimit(.minutes(1))) struct WorkTests {
    let bench = Bench()
    let work = WorkID(rawValue: 77)
    var key: ListingKey { .work(work) }

    init() {
        bench.host.setUsual { _ in .size(10) }
        bench.source.set { $0.references[WorkID(rawValue: 77)] = ["a.png", "b.png", "c.png"] }
    }

    private func animate() {
        bench.source.set { state in
            var record = FakeSource.work(77, title: "Film")
            (record.kind, record.pageCount) = (.animation, 1)
            state.records[work] = record
            state.animations[work] = AnimationRecord(
                archive: "frames.zip",
                frames: [.init(file: "000000.jpg", delay: 40), .init(file: "000001.jpg", delay: 50)])
        }
    }

    private func open() throws -> Catalog { try bench.open(answers: true) }

    @Test func pagesAreOriginalsWhateverTheMountShows() async throws {
        let catalog = try open()
        let listing = try await catalog.listings.open(key)
        #expect(listing.entries.map(\.name) == ["p0.png", "p1.png", "p2.png"])
        #expect(listing.entries.map(\.picture.page) == [0, 1, 2])
        #expect(listing.entries.allSatisfy { $0.picture.rendition == .original })
        #expect((0..<3).map { listing.size(at: $0) } == [10, 10, 10])
        #expect(listing.isComplete)
        #expect(bench.source.calls == [.details(work), .originals(work)])
        #expect(try await listing.find(named: Array("p9.png".utf8)) == nil)
        await catalog.close()
        // The other variant of the same database has them too.
        let originals = try bench.open(view: ListingView(rendition: .original), answers: true)
        #expect(originals.listings.keys == [key])
        let after = try await originals.listings.open(key)
        #expect(RestartTests.facts(after) == RestartTests.facts(listing))
        #expect(bench.source.calls.count == 2 && bench.host.asked.count == 3)
    }

    /// `info.json` is made of the record that the directory needed; asked for anew, it says when it last changed.
    @Test func theRecordOfADirectoryIsThatOfItsText() async throws {
        let catalog = try open()
        let listing = try await catalog.listings.open(key)
        let text = try await catalog.records.details(of: work, pages: listing.entries.map(\.name))
        #expect(text.text.contains("\"p2.png\"\n  ]") && text.text.contains("Words"))
        #expect(bench.source.calls.filter { $0 == .details(work) }.count == 1)
        let before = bench.now
        bench.now += 100
        try await catalog.listings.refresh(key)
        #expect(bench.source.calls.filter { $0 == .details(work) }.count == 2)
        let same = try await catalog.records.details(of: work, pages: listing.entries.map(\.name))
        #expect(same.text == text.text && same.fetched == before + 100)
        bench.source.set { $0.records[work] = FakeSource.work(77, title: "Renamed") }
        bench.now += 100
        try await catalog.listings.refresh(key)
        let new = try await catalog.records.details(of: work, pages: listing.entries.map(\.name))
        #expect(new.text.contains("Renamed") && new.changed == before + 200)
        #expect(bench.source.calls.filter { $0 == .details(work) }.count == 3)
    }

    /// The answer that shows it is a stranger's, and is not kept as the account's.
    @Test func aRecordIsAskedForOnceMoreWhereTheSessionTurnsOutToHaveEnded() async throws {
        let catalog = try open()
        bench.source.set { state in
            state.signIn = .signedIn(UserID(rawValue: 5))
            state.endsSession = .details(work)
        }
        #expect(try await catalog.records.details(of: work, pages: []).text.contains("Words"))
        #expect(bench.source.calls == [.details(work), .details(work)])
        bench.source.set { $0.failure = .needsSignIn }
        let other = WorkID(rawValue: 78)
        await #expect(throws: Failure.needsSignIn) { try await catalog.records.details(of: other, pages: []) }
        #expect(bench.source.calls.count == 3, "no session has ended")
    }

    /// What a try learnt that ended in the middle.
    @Test func aPageWhoseSizeIsKnownIsNotAskedForAgain() async throws {
        let catalog = try open()
        let uploaded = FakeSource.work(77, title: "Told").uploaded
        for page in [0, 2] {
            catalog.sizes.set(20, of: PictureID(work: work, page: page, rendition: .original, uploaded: uploaded))
        }
        let listing = try await catalog.listings.open(key)
        #expect(bench.host.asked == ["HEAD b.png/p1"])
        #expect((0..<3).map { listing.size(at: $0) } == [20, 10, 20])
        catalog.listings.forget(key)
        #expect(try await catalog.listings.open(key).entries.count == 3)
        #expect(bench.host.asked.count == 1)
    }

    @Test func anAnimationHasItsFirstFrameAndItsArchive() async throws {
        animate()
        let catalog = try open()
        let listing = try await catalog.listings.open(key)
        #expect(listing.entries.map(\.name) == ["p0.jpg", "ugoira.zip"])
        #expect(listing.entries.map(\.picture.page) == [0, 0])
        #expect(listing.entries.map(\.picture.rendition) == [.original, .archive])
        #expect(listing.size(at: 0) == 10 && listing.size(at: 1) == nil)
        let archive = listing.entries[1]
        catalog.sizes.set(5000, of: archive.picture)
        #expect(listing.size(at: 0) == 10 && listing.size(at: 1) == 5000, "one work, one page, two pictures")
        // The frames came with it.
        #expect(try await catalog.records.animation(of: work).frames.map(\.delay) == [40, 50])
        #expect(bench.source.calls == [.details(work), .animation(work)])
        await catalog.close()
        bench.source.set { $0.failure = .unreachable("no route") }
        let restarted = try open()
        let after = try await restarted.listings.open(key)
        #expect(RestartTests.facts(after) == RestartTests.facts(listing))
        #expect(after.index(named: Array("ugoira.zip".utf8)) == 1)
        #expect(try await restarted.records.animation(of: work).archive == "frames.zip")
    }

    @Test func aNewUploadTakesThePlaceOfTheOld() async throws {
        let catalog = try open()
        let before = try await catalog.listings.open(key)
        bench.now += 6 * 3600
        #expect(try await catalog.listings.open(key) === before, "compared, and the same")
        bench.now += 6 * 3600
        bench.source.set { state in
            var record = FakeSource.work(77, title: "B")
            record.uploaded += 5
            state.records[work] = record
            state.references[work] = ["new.jpg"]
        }
        let after = try await catalog.listings.open(key)
        #expect(after.entries.map(\.name) == ["p0.jpg"] && after.entries[0].reference == "new.jpg")
        #expect(after.entries[0].picture.uploaded == before.entries[0].picture.uploaded + 5)
        await catalog.close()
        let restarted = try open()
        #expect(try await restarted.listings.open(key).entries == after.entries)
    }

    @Test func aWorkThatIsGoneIsServedIfItWasStored() async throws {
        let catalog = try open()
        let before = try await catalog.listings.open(key)
        bench.now += 7 * 3600
        bench.source.set { $0.failure = .notFound }
        #expect(try await catalog.listings.open(key) === before)
        await #expect(throws: Failure.absent) {
            try await catalog.listings.open(.work(WorkID(rawValue: 78)))
        }
        #expect(catalog.listings.isKnownAbsent(.work(WorkID(rawValue: 78))))
        #expect(catalog.listings.isKnownAbsent(.work(WorkID(rawValue: 0))))
    }

    /// The service has a record of the work: that it shows no pages does not mean that there is none.
    @Test func aWorkWhosePagesAreNotThereIsThere() async throws {
        bench.source.set { $0.references = [:] }
        let catalog = try open()
        let listing = try await catalog.listings.open(key)
        for _ in 1...2 {
            await #expect(throws: Failure.notFound.ofPage(2)) { try await listing.entries(reaching: .max) }
        }
        #expect(bench.source.calls == [.details(work), .originals(work), .details(work), .originals(work)])
        #expect(!catalog.listings.isKnownAbsent(key) && !listing.isComplete && listing.entries.isEmpty)
        #expect(try await catalog.records.details(of: work, pages: []).text.contains("Words"))
        await catalog.close()
        let restarted = try open()
        bench.source.set { $0.references[work] = ["a.png"] }
        let again = try await restarted.listings.open(key)
        #expect(try await again.entries(reaching: .max).map(\.name) == ["p0.png"] && again.isComplete)
        #expect(try await restarted.records.details(of: work, pages: []).text.contains("\"p0.png\"\n  ]"))
    }

    @Test func pagesThatAListedWorkDoesNotHaveAreRequestedOnceBeforeItsRecord() async throws {
        bench.source.set { ($0.hits["x"], $0.references) = ([77], [:]) }
        let catalog = try open()
        _ = try await catalog.listings.open(.search("x"))
        #expect(try await catalog.listings.open(key).entries.isEmpty)
        #expect(bench.source.calls == [.search("x", 1), .originals(work), .details(work)])
    }

    @Test func anAnimationWithoutItsFramesHasItsFirstOne() async throws {
        animate()
        let frames = bench.source.state.withLock { $0.animations }
        bench.source.set { $0.animations = [:] }
        let catalog = try open()
        let listing = try await catalog.listings.open(key)
        #expect(listing.entries.map(\.name) == ["p0.jpg"] && !listing.isComplete)
        await #expect(throws: Failure.notFound.ofPage(2)) { try await listing.entries(reaching: .max) }
        bench.source.set { $0.animations = frames }
        await #expect(throws: Failure.notFound.ofPage(2)) { try await listing.entries(reaching: .max) }
        bench.now += Freshness.failedSeconds
        #expect(try await listing.entries(reaching: .max).map(\.name) == ["p0.jpg", "ugoira.zip"])
    }

    @Test func aPageWithoutAnAddressIsThatOfTheRendition() async throws {
        bench.source.set { $0.references[work] = ["a.png", "", "c.png"] }
        let catalog = try open()
        let listing = try await catalog.listings.open(key)
        #expect(listing.entries.map(\.name) == ["p0.png", "p1.jpg", "p2.png"] && listing.isComplete)
        #expect(listing.entries.map(\.picture.rendition) == [.original, .regular, .original])
        #expect(listing.entries.map(\.picture.page) == [0, 1, 2] && bench.events == [.originalMissing(work)])
    }

    @Test func aWithheldWorkIsThereWithItsReason() async throws {
        bench.source.set { state in
            var record = FakeSource.work(77, title: "B")
            record.withheld = "location"
            state.records[work] = record
        }
        let catalog = try open()
        for _ in 0..<2 {
            await #expect(throws: Failure.withheld("location")) { try await catalog.listings.open(key) }
        }
        #expect(!catalog.listings.isKnownAbsent(key))
        // The service takes it back.
        bench.source.set { $0.records[work] = FakeSource.work(77, title: "B") }
        #expect(try await !catalog.listings.open(key).entries.isEmpty)
    }
}
