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

    let directory: String
    let source = FakeSource(newest: day)
    let transport = HeldTransport()
    let host = OriginalHost()
    private let clock = Mutex(start)
    private let reported = Mutex<[CatalogEvent]>([])

    init() {
        directory = NSTemporaryDirectory() + "rankfs-catalog-\(UUID().uuidString)"
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        } catch { preconditionFailure("no temporary directory: \(error)") }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    var database: String { directory + "/catalog.sqlite" }
    var events: [CatalogEvent] { reported.withLock { $0 } }

    var now: Int64 {
        get { clock.withLock { $0 } }
        set { clock.withLock { $0 = newValue } }
    }

    /// A catalog over a transport, by default the held one; with a view that shows originals or works, over a host that answers by
    /// itself.
    func open(
        days: Int = 3, source: FakeSource? = nil, view: ListingView = ListingView(rendition: .regular),
        answers: Bool = false, over other: (any Transport)? = nil
    ) throws -> Catalog {
        try Catalog(
            CatalogConfiguration(
                directory: directory, days: days, view: view, timeout: .seconds(15),
                now: { [self] in clock.withLock { $0 } }),
            source: source ?? self.source, host: ImageHost(other ?? (answers ? host : transport)),
            report: { [self] event in reported.withLock { $0.append(event) } })
    }

    /// A catalog with the whole of one day stored, closed again.
    func storeDay() async throws {
        let catalog = try open()
        _ = try await catalog.listings.open(Self.key).entries(reaching: .max)
        await catalog.close()
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
