/// The facts of a source that hold for every user: its rankings and their times, its abilities, and its access.
///
/// ## Concurrency
///
/// Immutable; shared by everything that belongs to one source.
package final class SourceDescription: Sendable {
    /// The name in commands, `fsname=` and the names of directories: lower-case letters and digits.
    package let name: String
    /// The name in sentences.
    package let title: String
    package let calendar: RankingCalendar
    /// Every ranking, in the order in which they are listed.
    package let rankings: [RankingFacts]
    /// The kinds of listings besides rankings, each with the entries on a full page.
    package let listings: [ListingKind: Int]
    package let abilities: Set<SourceAbility>
    package let renditions: [RenditionFacts]
    /// The extensions that files of works may have, without a dot.
    package let fileExtensions: Set<String>
    package let paging: RankingPaging
    /// Whether listings report the sizes of pictures in bytes.
    package let tellsSizes: Bool
    package let access: SourceAccess
    /// Options of this source alone.
    package let choices: [SourceChoice]
    /// The work that a web page of the service shows; nil for any other address.
    package let work: @Sendable (_ webPage: String) -> WorkID?
    /// The web page of a work, for people.
    package let webPage: @Sendable (WorkID) -> String
    /// The web page of an author, for people; empty where there is none.
    package let authorPage: @Sendable (UserID) -> String

    private let facts: [RankingMode: RankingFacts]
    private let firstDay: Day

    /// - Parameters:
    ///   - name: The name in commands.
    ///   - title: The name in sentences; `name` if nil.
    ///   - calendar: The times at which rankings appear.
    ///   - rankings: The rankings, each once.
    ///   - listings: The kinds of listings besides rankings, each with the entries on a full page.
    ///   - abilities: The abilities besides listings.
    ///   - renditions: The renditions, each once; the first is the default of mounts.
    ///   - fileExtensions: The extensions that files of works may have.
    ///   - paging: The division of rankings into pages.
    ///   - tellsSizes: Whether a location has a size, for one rendition at least.
    ///   - access: The addresses and limits of requests.
    ///   - choices: Options of this source alone, each once.
    ///   - work: Reads the address of a work's web page.
    ///   - webPage: The address of a work's web page.
    ///   - authorPage: The address of an author's web page.
    package init(
        name: String, title: String? = nil, calendar: RankingCalendar, rankings: [RankingFacts],
        listings: [ListingKind: Int] = [:], abilities: Set<SourceAbility>, renditions: [RenditionFacts],
        fileExtensions: Set<String>, paging: RankingPaging, tellsSizes: Bool = false, access: SourceAccess,
        choices: [SourceChoice] = [], work: @escaping @Sendable (_ webPage: String) -> WorkID? = { _ in nil },
        webPage: @escaping @Sendable (WorkID) -> String,
        authorPage: @escaping @Sendable (UserID) -> String = { _ in "" }
    ) {
        self.name = name
        self.title = title ?? name
        self.calendar = calendar
        self.rankings = rankings
        self.listings = listings
        self.abilities = abilities
        self.renditions = renditions
        self.fileExtensions = fileExtensions
        self.paging = paging
        self.tellsSizes = tellsSizes
        self.access = access
        self.choices = choices
        self.work = work
        self.webPage = webPage
        self.authorPage = authorPage
        facts = Dictionary(rankings.map { ($0.mode, $0) }) { first, _ in first }
        firstDay = rankings.map(\.firstDay).min() ?? Day(ordinal: 0)
    }

    /// The facts of a ranking; nil for a name that the service does not have.
    package subscript(_ mode: RankingMode) -> RankingFacts? { facts[mode] }

    /// The days of a ranking; for a name that the service does not have, all days that a ranking of it could have.
    package func days(of mode: RankingMode) -> RankingDays {
        let facts = facts[mode]
        return RankingDays(
            first: facts?.firstDay ?? firstDay, period: facts?.period ?? .day, calendar: calendar)
    }

    /// The days that a ranking of single days could have: from the earliest first day of all rankings on.
    package var days: RankingDays {
        RankingDays(first: firstDay, period: .day, calendar: calendar)
    }

    /// Whether only signed-in users have access to a ranking.
    package func needsSignIn(_ mode: RankingMode) -> Bool { facts[mode]?.needsSignIn ?? false }

    /// The ranking that contains a limited ranking; any other ranking stands for itself.
    package func whole(of mode: RankingMode) -> RankingMode { facts[mode]?.partOf ?? mode }

    /// The rankings that are listed in a sign-in state, in order, without limited ones.
    package func modes(isSignedIn: Bool) -> [RankingMode] {
        rankings.filter { $0.partOf == nil && (isSignedIn || !$0.needsSignIn) }.map(\.mode)
    }

    package func can(_ ability: SourceAbility) -> Bool { abilities.contains(ability) }

    /// Whether the service has listings of a kind; without them the tree has no nodes of it.
    package func has(_ kind: ListingKind) -> Bool { kind == .ranking || listings[kind] != nil }

    /// Entries on a full page of a kind's listings, and the most works that one request for records may name.
    package func entries(of kind: ListingKind) -> Int {
        max(1, kind == .ranking ? paging.entries : listings[kind] ?? 1)
    }

    /// Whether a listing is for signed-in users alone.
    package func needsSignIn(_ listing: ListingKey) -> Bool {
        listing.kind.facts.audience == .session || listing.mode.map(needsSignIn) ?? false
    }

    /// The users for whom an answer about a listing holds, or about a single work or author without one.
    ///
    /// - Parameters:
    ///   - listing: The listing; nil for a record.
    ///   - signIn: The sign-in state of the request.
    /// - Returns: Nil where the service has no answer without a session.
    package func audience(of listing: ListingKey?, _ signIn: SignIn) -> AnswerAudience? {
        if let user = signIn.user { return .user(user) }
        return listing.map(needsSignIn) == true ? nil : .everybody
    }

    /// The rendition that mounts show by default.
    package var standardRendition: Rendition { renditions.first?.rendition ?? .original }

    /// The facts of a rendition; nil if the source does not have it.
    package func facts(of rendition: Rendition) -> RenditionFacts? {
        renditions.first { $0.rendition == rendition }
    }
}

/// One ranking of a source: its first day; whether only signed-in users have access; whether it ranks works made with AI and no others;
/// and the ranking that contains it, if it is limited to some kind of works and listed once a day of it is stored.
package typealias RankingFacts = (
    mode: RankingMode, firstDay: Day, period: RankingPeriod, needsSignIn: Bool, isGenerated: Bool, partOf: RankingMode?
)

/// An ability that a source may have besides listings; the tree has no nodes for a missing one.
package enum SourceAbility: String, Hashable, Sendable, CaseIterable {
    /// An author's own words and portrait, beside the works.
    case profiles
    /// The pages elsewhere that works come from.
    case origins
    /// Animations as archives of their frames, from which playable files are made.
    case animations
    /// Accounts to sign in to.
    case signIn
}

/// An option that only one source has, with one of a few words as its value: the part of a service that a mount shows.
///
/// Its name has lower case and underscores, as options have; the first word is the default; the help is one line. Listings under
/// different values differ; a catalog keeps them apart.
package typealias SourceChoice = (name: String, words: [String], help: String)

/// The division of a ranking into pages: the entries on a full page, of which a page may have fewer; the pages requested at once for a
/// reader that continues after the first; and an upper bound of the pages, for services with endless paging.
package typealias RankingPaging = (entries: Int, atOnce: Int, most: Int)

/// A rendition that a source has of its works: its size in words, where there is a description (`850 pixels wide`), and the extension
/// of all its files, without a dot; nil if the location of each picture determines it.
package typealias RenditionFacts = (rendition: Rendition, size: String?, fileExtension: String?)

/// The addresses and limits of requests to a service.
package struct SourceAccess: Sendable {
    /// Every host that requests may go to.
    package let hosts: Set<String>
    /// The origin of listings: scheme and host, without a trailing slash.
    package let apiURL: String
    /// The origin of pictures, in the same form.
    package let imageURL: String
    /// API requests per second once the burst is spent.
    package let rate: Double
    /// API requests that may be sent at once before the rate applies.
    package let burst: Int
    /// Requests that the service allows one client at once, of downloads and of small answers; nil if it names no limit.
    package let connections: Int?
    /// Statuses by which the service reports its rate limit, with or without a time; a 503 with a time always does.
    package let tooOften: Set<Int>
    /// Whether the browser check before the service admits a client with the cookies and `User-Agent` of a browser that passed it.
    ///
    /// Elsewhere, the program's own `User-Agent` is enough.
    package let takesClearance: Bool
    /// The beginning of the last part of an address that is a placeholder for a withheld picture; nil if the service has none.
    package let placeholder: String?

    package init(
        hosts: Set<String>, apiURL: String, imageURL: String, rate: Double, burst: Int, connections: Int? = nil,
        tooOften: Set<Int> = [429], takesClearance: Bool = false, placeholder: String? = nil
    ) {
        self.hosts = hosts
        self.apiURL = apiURL
        self.imageURL = imageURL
        self.rate = rate
        self.burst = burst
        self.connections = connections
        self.tooOften = tooOften
        self.takesClearance = takesClearance
        self.placeholder = placeholder
    }
}
