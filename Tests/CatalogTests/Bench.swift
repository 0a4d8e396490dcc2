import Catalog
import Foundation
import HTTP
import Sourcing
import Rankings
import Synchronization
import TestSupport

/// A catalog in a directory of its own, over a fake source and a held transport, at a time that the test sets.
final class Bench: Sendable {
    /// 2026-05-01.
    static let day = Day(ordinal: 20_574)
    static let author = UserID(rawValue: 11)
    static var key: ListingKey { .ranking(.daily, day) }

    /// 2026-05-03 00:00 UTC, 09:00 in Japan: the newest day by the calendar is 2026-05-01.
    static let start: Int64 = 1_777_766_400

    private let folder = TemporaryFolder()
    let source = FakeSource(newest: day)
    let transport = HeldTransport()
    let host = OriginalHost()
    private let desk = Desk()
    /// The catalog that was opened last.
    private let last = Mutex<Catalog?>(nil)

    /// What catalogs are told and what they report.
    private final class Desk: Sendable {
        let clock = Mutex(start)
        let reported = Mutex<[CatalogEvent]>([])
    }

    deinit {
        source.releaseAll()
        Task.detached { [folder, catalog = last.withLock(\.self)] in
            await catalog?.close()
            withExtendedLifetime(folder) {}
        }
    }

    var database: String { folder.path + "/catalog.sqlite" }
    var events: [CatalogEvent] { desk.reported.withLock { $0 } }

    var now: Int64 {
        get { desk.clock.withLock { $0 } }
        set { desk.clock.withLock { $0 = newValue } }
    }

    /// A catalog over a transport, by default the held one; with a view that shows originals or works, over a host that answers by
    /// itself.
    func open(
        days: Int = 3, source: FakeSource? = nil, view: ListingView = ListingView(rendition: .regular),
        answers: Bool = false, over other: (any Transport)? = nil, shared: (any SharedSizes)? = nil,
        version: String = "1"
    ) throws -> Catalog {
        var configuration = CatalogConfiguration(
            directory: folder.path, days: days, view: view, timeout: .seconds(15),
            now: { [desk] in desk.clock.withLock { $0 } })
        configuration.version = version
        let catalog = try Catalog(
            configuration,
            source: source ?? self.source, host: ImageHost(other ?? (answers ? host : transport)), sharedSizes: shared,
            report: { [desk] event in desk.reported.withLock { $0.append(event) } })
        last.withLock { $0 = catalog }
        return catalog
    }

    func close() async { await last.withLock(\.self)?.close() }

    /// Closes the catalog that was opened last, and opens one over what it stored.
    func reopen(
        source: FakeSource? = nil, view: ListingView = ListingView(rendition: .regular), answers: Bool = false
    ) async throws -> Catalog {
        await close()
        return try open(source: source, view: view, answers: answers)
    }

    /// A catalog, and one of its listings as far as it comes with the first page.
    func open(
        _ key: ListingKey, source: FakeSource? = nil, view: ListingView = ListingView(rendition: .regular),
        answers: Bool = false
    ) async throws -> (catalog: Catalog, listing: Listing) {
        let catalog = try open(source: source, view: view, answers: answers)
        return (catalog, try await catalog.listings.open(key))
    }

    /// The same after the catalog that was opened last has been closed.
    func reopen(
        _ key: ListingKey, source: FakeSource? = nil, view: ListingView = ListingView(rendition: .regular),
        answers: Bool = false
    ) async throws -> (catalog: Catalog, listing: Listing) {
        await close()
        return try await open(key, source: source, view: view, answers: answers)
    }

    /// A catalog with the whole of one day stored, closed again.
    func storeDay() async throws {
        _ = try await open().listings.open(Self.key).entries(reaching: .max)
        await close()
    }
}

extension Bench {
    /// Answers a held HEAD as the image host does.
    static func answer(_ held: HeldRequest, size: Int) {
        held.head(200, [("content-type", "image/jpeg"), ("content-length", "\(size)")])
        held.finish()
    }
}

extension RankingMode {
    static let weekly = everyone[1]
}
