import Rankings
import System
import TestSupport
import Testing

@testable import Catalog

/// Searches and bookmarks: paged as they are read, kept, compared after an hour, forgotten.
@Suite(.timeLimit(.minutes(1))) struct SearchTests {
    let bench = Bench()
    let key = ListingKey.search("風景 a/b")
    let user = UserID(rawValue: 5)

    private func hits(_ numbers: some Sequence<Int64>) {
        bench.source.set { $0.hits["風景 a/b"] = Array(numbers) }
    }

    private func works(_ listing: Listing) -> [Int64] { listing.entries.map(\.picture.work.rawValue) }

    private func name(_ number: Int64) -> [UInt8] { Array("\(number)-Hit \(number).jpg".utf8) }

    /// Answers pages in their order: where the end is not told, it hangs on that whether one page behind it is asked for.
    private func answer(_ pages: ClosedRange<Int>) {
        for page in pages { bench.source.release(.search("風景 a/b", page)) }
    }

    @Test func aNameIsLookedForOnlyWhereItMayBe() async throws {
        hits((1001...1150).reversed())
        let (_, listing) = try await bench.open(key)
        #expect(try await listing.find(named: name(1150)) == 0)
        #expect(try await listing.find(named: name(1200)) == nil, "newer than all: it would be on the first page")
        #expect(bench.source.calls.count == 1)
        bench.source.set { $0.isHeld = true }
        async let last = listing.find(named: name(1001))
        answer(2...2)
        await bench.source.waitForCalls(3)
        answer(3...3)
        #expect(try await last == 149)
        #expect(try await listing.find(named: name(900)) == nil)
        #expect(bench.source.calls.count == 3)
    }

    @Test func everySpellingIsOneListing() async throws {
        let (composed, decomposed) = ("ガンダム", "カ\u{3099}ンタ\u{3099}ム")
        bench.source.set { $0.hits[composed] = [7, 5] }
        let (catalog, listing) = try await bench.open(.search(decomposed))
        #expect(works(listing) == [7, 5])
        #expect(try await catalog.listings.open(.search(composed)) === listing)
        await catalog.close()
        // As earlier versions stored it.
        let connection = try Connection(path: bench.database)
        try connection.run(
            "UPDATE listings SET key = ? WHERE key = ?", .text("search/\(decomposed)"), .text("search/\(composed)"))
        connection.close()
        for spelling in [decomposed, composed, decomposed] {
            let restarted = try bench.open()
            #expect(restarted.listings.keys == [.search(composed)])
            #expect(works(try await restarted.listings.open(.search(spelling))) == [7, 5])
            await restarted.close()
        }
        #expect(bench.source.calls == [.search(composed, 1)])
        #expect(
            bench.source.calls.allSatisfy {
                if case .search(let words, _) = $0 { words.utf8.elementsEqual(composed.utf8) } else { false }
            })
    }

    @Test func anEmptySearchIsAListing() async throws {
        let (_, listing) = try await bench.open(key)
        #expect(listing.isComplete && listing.entries.isEmpty)
        let restarted = try await bench.reopen()
        #expect(restarted.listings.keys == [key])
        #expect(try await restarted.listings.open(key).isComplete)
        #expect(bench.source.calls.count == 1)
        bench.now += 3600
        hits([7, 5])
        #expect(works(try await restarted.listings.open(key)) == [7, 5])
    }

    @Test func whatCannotBeUnderstoodIsNotAnEmptySearch() async throws {
        bench.source.set { $0.unreadable = 60 }
        let catalog = try bench.open()
        await #expect(throws: Failure.self) { try await catalog.listings.open(key) }
        #expect(catalog.listings.keys.isEmpty)
    }

    @Test(arguments: [ListingKey.search("a"), ListingKey(.bookmarks, 5)])
    func aListThatWasReadInPartIsReadOnWhereItEnds(key: ListingKey) async throws {
        func answer(_ works: ClosedRange<Int>) {
            let pages = stride(from: Int64(works.upperBound), to: 0, by: -20).map { first in
                Result<ListingPage, Failure>.page(key, (first - 19...first).reversed(), hasNext: first > 20)
            }
            bench.source.set { $0.pages[key] = pages }
        }
        answer(1...60)
        let catalog = try bench.open()
        #expect(try await catalog.listings.open(key).count == 20)
        bench.now += 7200
        answer(1...120)
        let after = try await catalog.listings.open(key)
        #expect(works(after) == (41...120).reversed() && !after.isComplete)
        #expect(try await after.entries(reaching: .max).count == 120)
        #expect(works(after) == (1...120).reversed() && after.isComplete)
    }

    @Test(arguments: [ListingKey.search("a"), ListingKey(.bookmarks, 5)], [false, true])
    func aVisitThatFindsOnlyNewWorksLosesNothing(key: ListingKey, isRequested: Bool) async throws {
        func answer(_ pages: [ClosedRange<Int64>?]) {
            let answers = pages.map { page -> Result<ListingPage, Failure> in
                guard let page else { return .failure(.unreachable("away")) }
                return .page(key, page.reversed(), hasNext: page.lowerBound > 1)
            }
            bench.source.set { $0.pages[key] = answers }
        }
        answer([41...60, 1...40])
        let (catalog, before) = try await bench.open(key)
        #expect(try await before.entries(reaching: .max).count == 60)
        bench.now += 7200
        answer([101...120, nil])
        if isRequested {
            await #expect(throws: Failure.self) { try await catalog.listings.refresh(key) }
        }
        #expect(try await catalog.listings.open(key) === before, "the service does not answer")
        // What is read in the background fails as well, and rests.
        while !isRequested, !catalog.listings.unanswered.holds(before.stored, now: bench.now) { await Task.yield() }
        bench.now += 7200
        answer([101...120, 50...100])
        if isRequested { try await catalog.listings.refresh(key) }
        let after = try await catalog.listings.open(key)
        #expect(works(after) == (1...120).reversed() && after.isComplete)
        #expect(try await bench.reopen(key).listing.entries == after.entries)
    }

    @Test func newHitsComeInFrontAfterAnHour() async throws {
        hits((1...100).reversed())
        let (catalog, before) = try await bench.open(key)
        bench.now += 3599
        #expect(try await catalog.listings.open(key) === before)
        #expect(bench.source.calls.count == 1)
        bench.now += 1
        hits([103, 102, 101] + (1...100).reversed().filter { $0 != 99 })
        #expect(catalog.listings.loaded(key) == nil, "it must be compared first")
        let after = try await catalog.listings.open(key)
        #expect(works(after) == [103, 102, 101] + (41...100).reversed(), "what vanished stays")
        #expect(works(before).count == 60, "an open directory keeps its version")
        // The further pages have moved; nothing is listed twice and nothing is lost.
        _ = try await after.entries(reaching: .max)
        #expect(works(after) == (1...103).reversed())
        let restarted = try await bench.reopen()
        #expect(works(try await restarted.listings.open(key)) == (1...103).reversed())
    }

    @Test func nothingNewKeepsTheListing() async throws {
        hits([3, 2, 1])
        let (catalog, before) = try await bench.open(key)
        bench.now += 4000
        #expect(try await catalog.listings.open(key) === before)
        #expect(try await catalog.listings.open(key) === before)
        #expect(bench.source.calls.count == 2)
        _ = try await bench.reopen(key)
        #expect(bench.source.calls.count == 2, "when it was compared is stored too")
    }

    @Test func aWorkThatWasUploadedAnewIsListedOnce() async throws {
        bench.source.set { $0.bookmarks = [3, 2, 1] }
        let catalog = try bench.open()
        let bookmarks = ListingKey.bookmarks(user)
        let before = try await catalog.listings.open(bookmarks)
        let renewed = FakeSource(newest: Bench.day)
        renewed.set { $0.bookmarks = [1004, 3, 2, 1] }
        let restarted = try await bench.reopen(source: renewed)
        bench.now += 3600
        // Work 1004 has the time of upload that another record of work 4 would have: only the number counts.
        let after = try await restarted.listings.open(bookmarks)
        #expect(after.entries.map(\.name) == ["1004-Hit 1004.jpg"] + before.entries.map(\.name))
    }

    /// Bookmarks are in no order: names come from listings.
    @Test func aNameIsNotLookedForInWhatHasNoOrder() async throws {
        bench.source.set { $0.bookmarks = Array((1...60).reversed()) }
        let listing = try await bench.open().listings.open(.bookmarks(user))
        #expect(works(listing).count == 48)
        #expect(try await listing.find(named: name(3)) == nil)
        #expect(bench.source.calls == [.bookmarks(user, 1)])
    }

    // MARK: - Past searches

    @Test func forgettingIsWhole() async throws {
        hits([3, 2, 1])
        let catalog = try bench.open()
        let other = ListingKey.search("b")
        _ = try await catalog.listings.open(other)
        _ = try await catalog.listings.open(key)
        await catalog.context.outbox.flush()
        #expect(catalog.listings.keys == [key, other])
        catalog.listings.forget(key)
        #expect(catalog.listings.keys == [other])
        #expect(catalog.listings.loaded(key) == nil)
        await catalog.context.outbox.flush()
        #expect(catalog.listings.keys == [other])
        hits([9])
        #expect(works(try await catalog.listings.open(key)) == [9], "the next look asks anew")
        let restarted = try await bench.reopen()
        #expect(restarted.listings.keys == [key, other])
        #expect(works(try await restarted.listings.open(key)) == [9])
    }

    @Test func pagesOfAForgottenListingAreNotStored() async throws {
        hits((1...100).reversed())
        let (catalog, listing) = try await bench.open(key)
        // Its rows may be in a transaction that ends after this.
        catalog.listings.forget(key)
        #expect(try await listing.entries(reaching: .max).count == 100, "whoever has it open reads on")
        let restarted = try await bench.reopen()
        #expect(restarted.listings.keys.isEmpty)
    }
}
