import Rankings
import Sourcing

import TestSupport
@testable import rankfs

/// The table on the page "Sources" of the documentation, made of the sources' descriptions.
enum SourcesPage {
    /// One row: what it is about, and what a source says of it; nil for what it does not have.
    private typealias Row = (title: String, cell: @Sendable (SourceDescription) -> String?)

    private static let rows: [Row] = [
        ("rankings (*: signed in)", rankings),
        ("a day begins", { beginning(of: $0.calendar) }),
        (
            "a past day",
            { $0.calendar.change == .never ? "stays as it is" : "is asked for again after a week, then monthly" }
        ),
        (
            "`\(TreePath.users.text)/<id>/`",
            { $0.has(.author) ? "all works" + ($0.can(.profiles) ? ", profile, portrait" : "") : nil }
        ),
        ("`\(TreePath.artists.text)/<name>/`", { $0.has(.artist) ? "all works" : nil }),
        (
            "`\(TreePath.works.text)/<id>/`",
            {
                $0.has(.work)
                    ? ($0.can(.animations) ? "pages, animations, record" : "original, sample, record") : nil
            }
        ),
        ("`\(TreePath.searches.text)/<words>/`", { $0.has(.search) ? "newest first" : nil }),
        ("`series/<id>/`", { $0.has(.series) ? "works by their number in the series" : nil }),
        ("`related/<id>/`", { $0.has(.related) ? "works that the service relates to a work" : nil }),
        ("`author-tags/<id>/<tag>/`", { $0.has(.authorTag) ? "an author's works with a tag" : nil }),
        ("`collections/<id>/`", { $0.has(.collection) ? "works by their place in the collection" : nil }),
        ("`family/<id>/`", { $0.has(.family) ? "a post, its children, its ancestors and theirs" : nil }),
        ("`favorites/<name>/`", { $0.has(.favorites) ? "as the service orders them" : nil }),
        ("`favgroups/<id>/`", { $0.has(.favoriteGroup) ? "posts by their number in the group" : nil }),
        ("`hot/`", { $0.has(.hot) ? "what is liked now" : nil }),
        ("`pools/<id>/`, by name too", { $0.has(.pool) ? "posts by their number in the pool" : nil }),
        (
            "`\(TreePath.ownBookmarks.text)/`, `\(TreePath.following.text)/`",
            { $0.can(.signIn) && $0.has(.bookmarks) ? "signed in" : nil }
        ),
        (
            "`bookmark-tags/<tag>/`, `bookmark-months/<YYYY-MM>/`, `bookmarks-private/`",
            { $0.can(.signIn) && $0.has(.bookmarkTags) ? "signed in" : nil }
        ),
        ("`feed/`, `feed-r18/`", { $0.can(.signIn) && $0.has(.feed) ? "signed in" : nil }),
        ("links to the same work elsewhere", { $0.can(.origins) ? "`user.rankfs.source`, and a symlink" : nil }),
        ("`images`, the default first", { $0.renditions.map(rendition).joined(separator: ", ") }),
        ("size in the listing", { $0.tellsSizes ? "of originals; every original is checked by its digest" : nil }),
        ("own options", { $0.choices.isEmpty ? nil : $0.choices.map(choice).joined(separator: "; ") }),
        ("formats", { $0.fileExtensions.sorted().joined(separator: ", ") }),
        ("API requests", { "\($0.access.burst) at once, then \(SourceRegistry.rate($0.access.rate)) a second" }),
        ("User-Agent", { _ in "its own name" }),
        ("hosts", { $0.access.hosts.sorted().joined(separator: ", ") }),
    ]

    /// The table in Markdown, a column for each source.
    static var table: String {
        let sources = SourceRegistry.all.map(\.description)
        let head = "| | " + sources.map { "`\($0.name)`" }.joined(separator: " | ") + " |"
        let line = "| --- |" + sources.map { _ in " --- |" }.joined()
        let body = rows.map { row in
            "| \(row.title) | " + sources.map { row.cell($0) ?? "–" }.joined(separator: " | ") + " |"
        }
        return ([head, line] + body).joined(separator: "\n")
    }

    @Sendable private static func rankings(of source: SourceDescription) -> String {
        source.rankings.filter { $0.partOf == nil }.map { "`\($0.mode.rawValue)`" + ($0.needsSignIn ? "*" : "") }
            .joined(separator: " ")
    }

    /// By the clock of the service on a winter's day and a summer's.
    private static func beginning(of calendar: RankingCalendar) -> String {
        let hours = [Day(year: 2024, month: 1, day: 15), Day(year: 2024, month: 7, day: 15)].compactMap { day in
            day.map { calendar.secondsAhead($0) / 3600 }
        }
        let zones = hours.first == hours.last ? Array(hours.prefix(1)) : hours
        let text = zones.map { $0 == 0 ? "UTC" : "UTC\($0 > 0 ? "+" : "−")\(abs($0))" }.joined(
            separator: ", in summer ")
        return "at midnight, \(text)"
            + (calendar.delay > 0 ? "; it appears \(calendar.delay / 3600) hours after its end" : "")
    }

    private static func rendition(_ facts: RenditionFacts) -> String {
        "`\(facts.rendition.rawValue)`" + (facts.size.map { " (\($0))" } ?? "")
    }

    private static func choice(_ choice: SourceChoice) -> String {
        "`\(choice.name)`: \(choice.words.map { "`\($0)`" }.joined(separator: ", "))"
    }
}
