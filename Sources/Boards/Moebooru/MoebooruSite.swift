package import Rankings
import Sourcing

/// A site that runs the engine, with the settings of its operators.
package struct MoebooruSite: Sendable {
    /// The site's own numbers of tag types.
    let tagKinds: [Int64: TagKind]
    let description: SourceDescription

    private init(
        name: String, title: String, webHosts: [String], pictureHosts: [String], imageURL: String, firstDay: Day?,
        tagKinds: [Int64: TagKind], takesClearance: Bool = false
    ) {
        self.tagKinds = tagKinds
        description = SourceDescription(
            name: name, title: title, calendar: Self.calendar,
            rankings: BooruSource.rankings(from: firstDay ?? Day(ordinal: 0)),
            listings: BooruSource.listings(perPage: Self.postsPerPage), abilities: BooruSource.abilities,
            renditions: [
                (.original, size: nil, fileExtension: nil), (.regular, size: "1500 pixels", fileExtension: nil),
                (.small, size: "300 pixels", fileExtension: "jpg"),
            ],
            fileExtensions: PostFormat.all,
            paging: (entries: Self.postsPerPage, atOnce: 2, most: Self.pages), tellsSizes: true,
            access: SourceAccess(
                hosts: Set(webHosts + pictureHosts), apiURL: "https://\(webHosts[0])", imageURL: imageURL,
                // Ten lists in a row were answered in a test; the sites are small.
                rate: 1, burst: 10,
                // With five or more connections the site answers "accessing too quickly" and ends downloads.
                connections: 4,
                // 421 is the engine's own status for too many requests; it answers too many connections with 503.
                tooOften: [421, 429, 503], takesClearance: takesClearance),
            choices: [Self.scale.choice], work: { Self.work(webPage: $0, hosts: webHosts) },
            webPage: { "https://\(webHosts[0])/post/show/\($0.rawValue)" })
    }

    /// yande.re: scans and pictures of print quality.
    package static let yandere = MoebooruSite(
        name: "yandere", title: "yande.re", webHosts: ["yande.re"],
        pictureHosts: ["files.yande.re", "assets.yande.re"],
        imageURL: "https://files.yande.re", firstDay: Day(year: 2006, month: 8, day: 1),
        tagKinds: [5: .circle, 6: .meta])

    /// Konachan: pictures of the size of a screen.
    ///
    /// Both hosts return the same posts of every rating: `.net` hides some on its pages only. The other host often admits
    /// browsers alone.
    package static let konachan = MoebooruSite(
        name: "konachan", title: "Konachan", webHosts: ["konachan.net", "konachan.com"], pictureHosts: [],
        imageURL: "https://konachan.net", firstDay: Day(year: 2008, month: 1, day: 1), tagKinds: [:],
        takesClearance: true)

    /// The sites, in the order of help; another one is a value here.
    package static let all = [yandere, konachan]

    /// The most posts of a page; the help pages allow a hundred, the engine more.
    static let postsPerPage = 100
    /// The most pages of a ranking; the larger site's months have 25.
    private static let pages = 200

    /// The ratings; a rating unknown to the engine limits nothing, which is why answers are filtered once more.
    package static let scale = RatingScale(steps: [
        ("safe", "s", "rating:s"),
        ("questionable", "q", "-rating:e"),
        ("explicit", "e", nil),
    ])

    /// The calendar: days of UTC, the engine's time zone; votes continue after the day.
    package static let calendar = RankingCalendar(
        delay: 0, change: .settles(after: 7 * 86_400, then: 30 * 86_400)
    ) { _ in 0 }

    /// The work of `https://yande.re/post/show/5`, with or without words after the number.
    private static func work(webPage: String, hosts: [String]) -> WorkID? {
        guard let address = WebAddress(webPage), hosts.contains(address.host), (3...4).contains(address.path.count),
            address.path[0] == "post", address.path[1] == "show"
        else { return nil }
        return WebAddress.work(address.path[2])
    }
}
