/// What is true of a source whoever asks it: which rankings it has, when they appear, what it can tell, and how it is asked.
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
    package let abilities: Set<SourceAbility>
    package let renditions: [RenditionFacts]
    /// The extensions that files of works may have, without a dot.
    package let fileExtensions: Set<String>
    package let paging: RankingPaging
    /// Whether listings tell how many bytes pictures have.
    package let tellsSizes: Bool
    package let access: SourceAccess
    /// Options that are this source's own.
    package let choices: [SourceChoice]
    /// The work that a web page of the service is about; nil for any other address.
    package let work: @Sendable (_ webPage: String) -> WorkID?

    private let facts: [RankingMode: RankingFacts]
    private let firstDay: Day

    /// - Parameters:
    ///   - name: The name in commands.
    ///   - title: The name in sentences; the same if nil.
    ///   - calendar: When rankings appear.
    ///   - rankings: Each once.
    ///   - abilities: What there is besides rankings.
    ///   - renditions: Each once, the one that mounts show unless told otherwise first.
    ///   - fileExtensions: Those that files of works may have.
    ///   - paging: How rankings come in pages.
    ///   - tellsSizes: Whether a location has a size, for one rendition at least.
    ///   - access: How the service is asked.
    ///   - choices: Options of its own, each once.
    ///   - work: Reads the address of a work's web page.
    package init(
        name: String, title: String? = nil, calendar: RankingCalendar, rankings: [RankingFacts],
        abilities: Set<SourceAbility>, renditions: [RenditionFacts], fileExtensions: Set<String>,
        paging: RankingPaging, tellsSizes: Bool = false, access: SourceAccess,
        choices: [SourceChoice] = [], work: @escaping @Sendable (_ webPage: String) -> WorkID? = { _ in nil }
    ) {
        self.name = name
        self.title = title ?? name
        self.calendar = calendar
        self.rankings = rankings
        self.abilities = abilities
        self.renditions = renditions
        self.fileExtensions = fileExtensions
        self.paging = paging
        self.tellsSizes = tellsSizes
        self.access = access
        self.choices = choices
        self.work = work
        facts = Dictionary(rankings.map { ($0.mode, $0) }) { first, _ in first }
        firstDay = rankings.map(\.firstDay).min() ?? Day(ordinal: 0)
    }

    /// What is true of a ranking; nil for a name that the service has none of.
    package subscript(_ mode: RankingMode) -> RankingFacts? { facts[mode] }

    /// The days of a ranking; for a name that the service has none of, those that any could have.
    package func days(of mode: RankingMode) -> RankingDays {
        let facts = facts[mode]
        return RankingDays(
            first: facts?.firstDay ?? firstDay, period: facts?.period ?? .day, calendar: calendar)
    }

    /// The days of the ranking that is listed first.
    package var days: RankingDays {
        RankingDays(first: firstDay, period: .day, calendar: calendar)
    }

    /// Whether only signed-in users see a ranking.
    package func needsSignIn(_ mode: RankingMode) -> Bool { facts[mode]?.needsSignIn ?? false }

    /// The ranking that a limited one is a part of; any other stands for itself.
    package func whole(of mode: RankingMode) -> RankingMode { facts[mode]?.partOf ?? mode }

    /// The rankings that are listed in one state of signing in, in order; limited ones are not among them.
    package func modes(isSignedIn: Bool) -> [RankingMode] {
        rankings.filter { $0.partOf == nil && (isSignedIn || !$0.needsSignIn) }.map(\.mode)
    }

    package func can(_ ability: SourceAbility) -> Bool { abilities.contains(ability) }

    /// What mounts show where nothing else is asked for.
    package var standardRendition: Rendition { renditions.first?.rendition ?? .original }

    /// What is true of a rendition; nil for one that the source does not have.
    package func facts(of rendition: Rendition) -> RenditionFacts? {
        renditions.first { $0.rendition == rendition }
    }
}

/// One ranking of a source.
package struct RankingFacts: Hashable, Sendable {
    package let mode: RankingMode
    /// The first day that the service has it for.
    package let firstDay: Day
    package let period: RankingPeriod
    /// Whether only signed-in users see it.
    package let needsSignIn: Bool
    /// Whether it ranks works made with AI and no others.
    package let isGenerated: Bool
    /// The ranking that this is a part of, limited to some kind of works; it is listed once a day of it is stored.
    package let partOf: RankingMode?

    package init(
        _ mode: RankingMode, firstDay: Day, period: RankingPeriod = .day, needsSignIn: Bool = false,
        isGenerated: Bool = false, partOf: RankingMode? = nil
    ) {
        self.mode = mode
        self.firstDay = firstDay
        self.period = period
        self.needsSignIn = needsSignIn
        self.isGenerated = isGenerated
        self.partOf = partOf
    }
}

/// What a source may have besides rankings; what it has not is absent from the tree.
package enum SourceAbility: String, Hashable, Sendable, CaseIterable {
    /// Lists of an author's works: `users/`.
    case authors
    /// Lists of an artist's works by name: `artists/`.
    case artists
    /// What an author says of himself, and a portrait, beside the works.
    case profiles
    /// Pages elsewhere that works come from.
    case origins
    /// Single works with all their pages and a record: `works/`.
    case works
    /// `search/`.
    case search
    /// Public bookmarks of users; the signed-in user's own are in `bookmarks/`.
    case bookmarks
    /// The authors whom the signed-in user follows: `following/`.
    case following
    /// Animations as archives of their frames, of which files that play are made.
    case animations
    /// Accounts to sign in to.
    case signIn
}

/// An option that a source has of its own, whose value is one of some words: how much of a service a mount shows.
///
/// What it lists under one value is not what it lists under another; a catalog keeps them apart.
package struct SourceChoice: Hashable, Sendable {
    /// Lower case with underscores, as options are named.
    package let name: String
    /// The values, the one that counts where none is given first.
    package let words: [String]
    /// One line of help.
    package let help: String

    package init(_ name: String, words: [String], help: String) {
        self.name = name
        self.words = words
        self.help = help
    }
}

/// How a ranking comes in pages.
package struct RankingPaging: Hashable, Sendable {
    /// Entries on a full page; real ones may have fewer.
    package let entries: Int
    /// Pages that are asked for at once for a reader who went on behind the first.
    package let atOnce: Int
    /// A bound for services whose paging never ends.
    package let most: Int

    package init(entries: Int, atOnce: Int, most: Int) {
        self.entries = entries
        self.atOnce = atOnce
        self.most = most
    }
}

/// A rendition that a source has of its works.
package struct RenditionFacts: Hashable, Sendable {
    package let rendition: Rendition
    /// Its size in words, where there is something to say: `850 pixels wide`.
    package let size: String?
    /// The extension that all files of it have, without a dot; nil if a picture's location tells.
    package let fileExtension: String?

    package init(_ rendition: Rendition, size: String? = nil, fileExtension: String? = nil) {
        self.rendition = rendition
        self.size = size
        self.fileExtension = fileExtension
    }
}

/// How a service is asked.
package struct SourceAccess: Sendable {
    /// Every host that requests may go to.
    package let hosts: Set<String>
    /// Where listings come from: scheme and host, without a trailing slash; so is the next.
    package let apiURL: String
    /// Where pictures come from.
    package let imageURL: String
    /// The `User-Agent` that the service wants to see.
    package let userAgent: String
    /// The same in a word or two: `its own name`.
    package let userAgentText: String
    /// API requests a second once the burst is spent.
    package let rate: Double
    /// API requests that may go at once before the rate counts.
    package let burst: Int
    /// What the service lets one asker have under way at once, of downloads and of small answers; nil where it names no limit.
    package let connections: Int?
    /// Statuses by which the service says that it is asked too often, with or without a time; a 503 with one always does.
    package let tooOften: Set<Int>
    /// Whether what stands in front of it lets in who brings the cookies and the name of a browser that passed its check; elsewhere
    /// a name of one's own does.
    package let takesClearance: Bool
    /// Whether the last part of a picture's address is that of something that stands in for one that the service withholds.
    package let isPlaceholder: @Sendable (_ name: Substring) -> Bool

    package init(
        hosts: Set<String>, apiURL: String, imageURL: String, userAgent: String, userAgentText: String, rate: Double,
        burst: Int, connections: Int? = nil, tooOften: Set<Int> = [429], takesClearance: Bool = false,
        isPlaceholder: @escaping @Sendable (_ name: Substring) -> Bool = { _ in false }
    ) {
        self.hosts = hosts
        self.apiURL = apiURL
        self.imageURL = imageURL
        self.userAgent = userAgent
        self.userAgentText = userAgentText
        self.rate = rate
        self.burst = burst
        self.connections = connections
        self.tooOften = tooOften
        self.takesClearance = takesClearance
        self.isPlaceholder = isPlaceholder
    }
}
