import Fuse
import HTTP
import Rankings
import SampleSource
import Sourcing
import Testing

@testable import Catalog
@testable import RankFS

/// A source that has next to nothing of what pixiv has, behind the same file system.
@Suite(.timeLimit(.minutes(1))) struct SampleSourceTests {
    /// 2024-05-03 03:30 UTC is 2024-05-02 23:30 there: the newest day is 2024-05-01.
    private static let now: Int64 = 1_714_707_000
    private static let newest = Day(ordinal: 19_844)

    private func bench(
        _ view: ListingView = ListingView(rendition: .regular)
    ) throws -> (Workbench, SampleService) {
        let service = SampleService(newest: Self.newest)
        let client = HTTPClient(transport: service)
        let source = SamplePlugIn().source(
            SourceMeans(
                send: { request throws(Failure) in try await client.send(request) }, apiURL: nil, imageURL: nil,
                wallClock: { Self.now }))
        return (try Workbench(.init(view: view, other: (source, service))), service)
    }

    @Test func daysAreThoseOfItsOwnCalendar() async throws {
        let (bench, service) = try bench()
        let days = try await bench.names("ranking/day")
        #expect(days == [".", ".."] + (25...30).map { "2024-04-\($0)" } + ["2024-05-01", "latest"])
        // Weeks begin on Mondays, months on the first; the present ones are not over.
        #expect(try await bench.names("ranking/week").suffix(3) == ["2024-04-15", "2024-04-22", "latest"])
        #expect(try await bench.names("ranking/month").suffix(3) == ["2024-03-01", "2024-04-01", "latest"])
        #expect(try await bench.names("by-date/week/2024/04").dropFirst(2).first == "2024-04-01")
        for path in ["day/2024-05-02", "week/2024-04-23", "week/2024-04-29", "month/2024-04-02", "day/2005-05-23"] {
            #expect(await bench.walk("ranking/\(path)").isAbsent, "\(path)")
        }
        #expect(service.asked.isEmpty)
        // A day appears when it is over there, four hours behind UTC.
        #expect(try await bench.stat("ranking/day/2024-05-01").modified == 1_714_622_400)
        #expect(try await bench.stat("ranking/month/2024-03-01").modified == 1_711_944_000)
        bench.time = 1_714_708_800
        #expect(try await bench.names("ranking/day").suffix(2) == ["2024-05-02", "latest"])
    }

    @Test func originalsAreNotLookedFor() async throws {
        let (bench, service) = try bench(ListingView(rendition: .original))
        let entries = try await bench.names("ranking/day/2024-05-01")
        #expect(entries.contains("003-Post 2.webp"))
        #expect(try await bench.stat("ranking/day/2024-05-01/003-Post 2.webp").size == 5020)
        #expect(service.asked.allSatisfy { $0.contains("/popular?") }, "\(service.asked)")
    }

    @Test func rankingsThatGoOnChangingAreNotFrozen() async throws {
        let (bench, _) = try bench()
        _ = try await bench.names("ranking/day/2024-04-25")
        let mode = try #require(RankingMode(rawValue: "day"))
        let listing = try await bench.catalog.listings.open(.ranking(mode, Day(ordinal: 19_838)))
        #expect(listing.isComplete && !listing.isFrozen)
    }
}
