package import Rankings
package import Sourcing

/// The smallest source that there is, as an example and for tests: rankings of a day, a week and a month, and nothing else.
///
/// It differs from others in all that sources may differ in: no authors, searches, works or accounts; days that begin at
/// midnight elsewhere and go on changing; formats and sizes that come with the listing, so that no picture is asked for its length.
package struct SamplePlugIn: SourcePlugIn {
    package init() {}

    package var description: SourceDescription { Self.facts }

    package func source(_ means: SourceMeans) -> any RankingSource {
        SampleSource(means)
    }

    package var plainRequest: String { SampleSource.path("day", nil, page: 1) }

    private static let facts = SourceDescription(
        name: "sample", calendar: calendar,
        rankings: [("day", RankingPeriod.day), ("week", .week), ("month", .month)].compactMap { name, period in
            RankingMode(rawValue: name).map { ($0, first, period, needsSignIn: false, isGenerated: false, partOf: nil) }
        },
        abilities: [],
        renditions: [
            (.regular, size: nil, fileExtension: nil), (.small, nil, "jpg"), (.original, nil, nil),
        ],
        fileExtensions: ["jpg", "png", "webp"], paging: (entries: 20, atOnce: 2, most: 10),
        tellsSizes: true,
        access: SourceAccess(
            hosts: ["api.sample.test", "pictures.sample.test"], apiURL: "https://api.sample.test",
            imageURL: "https://pictures.sample.test", rate: 1, burst: 10),
        webPage: { "https://sample.test/posts/\($0.rawValue)" })

    private static let first = Day(year: 2005, month: 5, day: 24) ?? Day(ordinal: 0)

    /// Midnight four hours west of Greenwich, at once; a week later votes are in, and after that little changes.
    private static let calendar = RankingCalendar(
        delay: 0, change: .settles(after: 7 * 86_400, then: 30 * 86_400)
    ) { _ in -4 * 3600 }
}
