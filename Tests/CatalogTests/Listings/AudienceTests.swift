import Foundation
import Rankings
import System
import Testing

@testable import Catalog

/// The service shows signed-in users more of each listing, and each viewer finds what was stored for it.
@Suite(.timeLimit(.minutes(1))) struct AudienceTests {
    private static let (ann, ben) = (UserID(rawValue: 21), UserID(rawValue: 22))
    private let bench = Bench()

    init() {
        bench.source.set { $0.masked = [2] }
    }

    private func signIn(_ signIn: SignIn) {
        bench.source.set { $0.signIn = signIn }
    }

    /// Whether a listing shows the account's view.
    private func isWhole(_ listing: Listing) async throws -> Bool {
        try await !listing.entries(reaching: .max).contains(where: \.isWithheld)
    }

    private func isWhole(_ catalog: Catalog, _ key: ListingKey = Bench.key) async throws -> Bool {
        try await isWhole(catalog.listings.open(key))
    }

    @Test func eachViewerIsShownItsOwnOnce() async throws {
        let catalog = try bench.open()
        for _ in 1...2 {
            signIn(.signedOut)
            #expect(try await !isWhole(catalog))
            signIn(.signedIn(Self.ann))
            #expect(try await isWhole(catalog))
            #expect(catalog.listings.loaded(Bench.key)?.entries[1].isWithheld == false)
            #expect(bench.source.calls.count == 20)
        }
        await catalog.context.outbox.flush()
        #expect(catalog.listings.keys == [Bench.key] && catalog.status().storedListings == 1)
        let next = try await bench.reopen()
        #expect(try await isWhole(next))
        signIn(.signedOut)
        #expect(try await !isWhole(next))
        #expect(bench.source.calls.count == 20)
    }

    /// What another viewer was shown serves where the service does not answer, in both directions.
    @Test(arguments: [
        (SignIn.signedOut, SignIn.signedIn(ann)), (.signedIn(ann), .signedOut), (.signedIn(ben), .signedIn(ann)),
    ])
    func nothingDisappears(before: SignIn, after: SignIn) async throws {
        signIn(before)
        try await bench.storeDay()
        signIn(after)
        bench.source.set { $0.failure = .unreachable("no route") }
        let catalog = try bench.open()
        #expect(catalog.listings.isStored(Bench.key) && !catalog.listings.isKnownAbsent(Bench.key))
        #expect(try await isWhole(catalog) == (before != .signedOut))
        // Each open would wait for the service again.
        let calls = bench.source.calls.count
        #expect(catalog.listings.loaded(Bench.key) != nil)
        #expect(try await isWhole(catalog) == (before != .signedOut))
        #expect(bench.source.calls.count == calls)
        bench.source.set { $0.failure = nil }
        bench.now += Freshness.lateSeconds
        #expect(try await isWhole(catalog) == (after != .signedOut))
    }

    /// The service answers, and does not show it to this reader.
    @Test(arguments: [Failure.withheld("none is shown"), .needsSignIn])
    func whatAnAccountSawIsNotShownWhereTheServiceRefuses(_ refusal: Failure) async throws {
        for before in [SignIn.signedIn(Self.ann), .signedOut] {
            signIn(before)
            try await bench.storeDay()
            signIn(.signedIn(Self.ben))
            bench.source.set { $0.failure = refusal }
            let catalog = try bench.open()
            if before == .signedOut {
                #expect(try await !isWhole(catalog))
            } else {
                await #expect(throws: refusal) { try await catalog.listings.open(Bench.key) }
            }
            bench.source.set { $0.failure = nil }
            catalog.listings.forget(Bench.key)
            await catalog.close()
        }
    }

    @Test func anExpiredSessionKeepsWhatItWasShown() async throws {
        signIn(.signedIn(Self.ann))
        try await bench.storeDay()
        let calls = bench.source.calls.count
        signIn(.expired(Self.ann))
        let catalog = try bench.open()
        #expect(try await isWhole(catalog))
        #expect(bench.source.calls.count == calls)
        // What it was not shown is requested, and is what everybody sees.
        let other = ListingKey.ranking(.daily, Bench.day.advanced(by: -1))
        #expect(try await !isWhole(catalog, other))
        signIn(.signedOut)
        #expect(try await !isWhole(catalog, other))
        #expect(bench.source.calls.count == calls + 10)
    }

    /// Earlier versions stored rankings for members once for all accounts.
    @Test func rankingsForMembersAreStoredForAnAccountAndNoneThatIsStoredIsLost() async throws {
        let mode = try #require(RankingMode(rawValue: "daily_r18"))
        let key = ListingKey.ranking(mode, Bench.day)
        signIn(.signedIn(Self.ann))
        let first = try bench.open()
        _ = try await first.listings.open(key).entries(reaching: .max)
        #expect(first.listings.loaded(key)?.audience == .user(Self.ann))
        await first.close()
        let variant = StoredVariant(ListingView(rendition: .regular))
        let (own, shared) = (StoredKey(listing: key, audience: .user(Self.ann)), StoredKey(listing: key))
        let database = try Connection.openOrSetAside(path: bench.database, migrations: Schema.migrations).connection
        try database.run(
            "UPDATE listings SET key = ? WHERE key = ?", .text(variant.text(of: shared)), .text(variant.text(of: own)))
        database.close()

        let calls = bench.source.calls.count
        bench.source.set { $0.failure = .offline }
        let offline = try bench.open()
        #expect(offline.days.stored(of: mode) == [Bench.day] && offline.listings.isStored(key))
        #expect(try await offline.listings.open(key).entries(reaching: .max).count == 500)
        await offline.close()
        bench.source.set { $0.failure = nil }
        for (viewer, requests) in [(SignIn.expired(Self.ann), 0), (.signedIn(Self.ben), 10), (.signedIn(Self.ben), 0)] {
            signIn(viewer)
            let before = bench.source.calls.count
            let catalog = try bench.open()
            #expect(try await catalog.listings.open(key).entries(reaching: .max).count == 500)
            #expect(bench.source.calls.count == before + requests, "\(viewer)")
            await catalog.close()
        }
        #expect(bench.source.calls.count == calls + 11)
    }

    /// A reader that began before the user signed in reads on; its further pages are answers for another viewer.
    @Test func answersForOtherViewersAreNotKept() async throws {
        let (_, listing) = try await bench.open(Bench.key)
        signIn(.signedIn(Self.ann))
        #expect(try await listing.entries(reaching: .max).count == 500)
        signIn(.signedOut)
        let next = try await bench.reopen()
        let calls = bench.source.calls.count
        #expect(try await next.listings.open(Bench.key).entries(reaching: .max).count == 500)
        #expect(bench.source.calls.count == calls + 9, "the first page was kept")
    }

    @Test func aListingIsForgottenForAllViewers() async throws {
        let catalog = try bench.open()
        _ = try await isWhole(catalog)
        signIn(.signedIn(Self.ann))
        _ = try await isWhole(catalog)
        await catalog.context.outbox.flush()
        #expect(catalog.listings.forget(Bench.key))
        #expect(!catalog.listings.isStored(Bench.key))
        await catalog.close()
        signIn(.signedOut)
        let next = try bench.open()
        #expect(!next.listings.isStored(Bench.key) && next.listings.keys.isEmpty)
    }

    /// A place in a stored listing leads to what the present viewer sees.
    @Test func aPictureIsFoundInTheListingOfItsViewer() async throws {
        let catalog = try bench.open()
        let picture = try await catalog.listings.open(Bench.key).entries(reaching: .max)[1].picture
        signIn(.signedIn(Self.ann))
        _ = try await isWhole(catalog)
        let place = try #require(
            await catalog.listings.place(of: picture) { listing, index in
                !listing.entries[index].isWithheld
            })
        #expect(place.listing.audience == .user(Self.ann) && place.index == 1)
    }
}
