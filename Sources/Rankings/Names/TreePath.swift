/// The place of a node below the mount point; paths are printed and parsed here and nowhere else.
///
/// Inode numbers follow from these texts (`InodeNumber`), so none of them may ever change.
package indirect enum TreePath: Hashable, Sendable {
    case root
    case rankings
    case mode(RankingMode)
    case day(RankingMode, Day)
    /// The newest day of a ranking, under another name.
    case latest(RankingMode)
    case dates(DateFolder)
    /// A day, in the folder of its month.
    case dayLink(RankingMode, Day)
    /// The directory in the root that has the listings of a kind: `users/`.
    case folder(ListingKind)
    /// The directory of a listing under one spelling of its subject: `users/11`, `search/words`.
    case listing(ListingKind, String)
    /// The directory in the root that shows the signed-in user's own listing: `bookmarks/`.
    case own(ListingKind)
    /// An author by name.
    case authorLink(String)
    case recent
    case helpers
    /// The shared thumbnails of a directory of pictures.
    case sharedThumbnails(TreePath)
    /// Any other node of a directory: a picture, a generated file, a link.
    case entry(TreePath, String)

    /// A stored picture, a different one for each process.
    package static let random = TreePath.entry(.root, "random.jpg")
    private static let latestName = "latest"
    private static let sharedThumbnailsName = ".sh_thumbnails"
    /// The mark before the name of an author.
    private static let authorMark = "@"

    /// The directories in the root.
    private static let top: [TreePath] =
        [.rankings, .dates(.all)] + ListingKind.allCases.filter { $0.folder != nil }.map { .folder($0) }
        + ListingKind.allCases.filter { $0.facts.ownName != nil }.map { .own($0) } + [.recent, .helpers]

    /// The last part of the path; empty for the root.
    package var name: String {
        switch self {
        case .root: ""
        case .rankings: "ranking"
        case .mode(let mode): mode.rawValue
        case .day(_, let day), .dayLink(_, let day): day.description
        case .latest: Self.latestName
        case .dates(let folder): folder.name
        case .folder(let kind): kind.folder ?? ""
        case .listing(let kind, let name):
            switch kind.facts.place {
            case .inside(_, let fixed): fixed
            case .among: Self.parts(name).last
            default: name
            }
        case .own(let kind): kind.facts.ownName ?? ""
        case .authorLink(let name): Self.authorMark + name
        case .recent: "recent"
        case .helpers: ".rankfs"
        case .sharedThumbnails: Self.sharedThumbnailsName
        case .entry(_, let name): name
        }
    }

    /// The path of the directory that contains this one; nil for the root.
    package var parent: TreePath? {
        switch self {
        case .root: nil
        case .rankings, .folder, .own, .recent, .helpers: .root
        case .mode: .rankings
        case .day(let mode, _), .latest(let mode): .mode(mode)
        case .dates(let folder): folder.parent.map { .dates($0) } ?? .root
        case .dayLink(let mode, let day): .dates(DateFolder(of: mode, day))
        case .listing(let kind, let name):
            switch kind.facts.place {
            case .inside(let outer, _): .listing(outer, name)
            case .among(let outer) where outer.facts.place == .root: .own(outer)
            case .among(let outer): .listing(outer, Self.parts(name).first)
            default: .folder(kind)
            }
        case .authorLink: .users
        case .sharedThumbnails(let directory), .entry(let directory, _): directory
        }
    }
}

extension TreePath {
    /// The path and those of the directories above it, outermost first, without the root.
    package var steps: [TreePath] {
        parent.map { $0.steps + [self] } ?? []
    }
}

// MARK: - Secrets

extension TreePath {
    private var holdsSecrets: Bool {
        switch self {
        case .listing(let kind, _), .own(let kind): kind.facts.isSecret
        default: false
        }
    }

    /// Whether it is a directory of secret names, or below one.
    package var isSecret: Bool { steps.contains(where: \.holdsSecrets) }

    /// The text as logs and displays show it: what is below a directory of secret names is left out.
    package var disclosed: String {
        let steps = steps
        guard let first = steps.firstIndex(where: \.holdsSecrets) else { return text }
        return steps[first].text + (first + 1 < steps.count ? "/…" : "")
    }
}

// MARK: - Texts

extension TreePath {
    /// The path as text, without a slash at either end; empty for the root.
    package var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        guard let parent else { return }
        parent.write(to: &text)
        // A scalar and not a character, since a name may begin with a mark that combines with the slash.
        if !text.utf8.isEmpty { text.unicodeScalars.append("/") }
        text += name
    }

    /// Parses a path below the mount point; slashes at its ends and double slashes are ignored, as by the kernel.
    ///
    /// Any text is the path of a node, whether that node exists or not.
    package init(_ text: String) {
        self = text.pathNames.reduce(.root) { path, name in path.child(name) }
    }

    /// The node that a name in this directory means by its form.
    package func child(_ name: String) -> TreePath {
        form(of: name) ?? .entry(self, name)
    }

    private func form(of name: String) -> TreePath? {
        switch self {
        case .root: return Self.top.first { $0.name == name }
        case .rankings: return RankingMode(rawValue: name).map { .mode($0) }
        case .mode(let mode): return name == Self.latestName ? .latest(mode) : Day(name).map { .day(mode, $0) }
        case .dates(let folder):
            if let day = folder.day(named: name), let mode = folder.mode { return .dayLink(mode, day) }
            return folder.folder(named: name).map { .dates($0) }
        case .folder(let kind):
            if kind == .author, let author = name.rest(after: Self.authorMark) { return .authorLink(author) }
            return kind.facts.form == .name || Self.number(name) != nil ? .listing(kind, name) : nil
        case .listing(let kind, let subject):
            if let inner = kind.inside.first(where: { $0.name == name }) { return .listing(inner.kind, subject) }
            if let inner = kind.among { return .listing(inner, "\(subject)/\(name)") }
            return sharedThumbnails(name)
        case .day, .latest: return sharedThumbnails(name)
        case .own(let kind):
            // The user's number is no part of the path.
            if let inner = kind.among { return .listing(inner, "/\(name)") }
            return kind.showsPictures ? sharedThumbnails(name) : nil
        case .dayLink, .authorLink, .recent, .helpers, .sharedThumbnails, .entry: return nil
        }
    }

    /// The subject of the outer listing and the name in it, of the subject of a listing among others.
    fileprivate static func parts(_ subject: String) -> (first: String, last: String) {
        let scalars = subject.unicodeScalars
        guard let slash = scalars.firstIndex(of: "/") else { return (subject, "") }
        return (String(scalars[..<slash]), String(scalars[scalars.index(after: slash)...]))
    }

    private func sharedThumbnails(_ name: String) -> TreePath? {
        name == Self.sharedThumbnailsName ? .sharedThumbnails(self) : nil
    }

    /// A number in the only spelling that paths use.
    private static func number(_ name: String) -> Int64? {
        Int64(name).flatMap { $0 >= 0 && String($0) == name ? $0 : nil }
    }
}

// MARK: - Listings

extension TreePath {
    package static let users = TreePath.folder(.author)
    package static let following = TreePath.own(.following)

    package static func author(_ author: UserID) -> TreePath { ListingKey.author(author).path }
    package static func work(_ work: WorkID) -> TreePath { ListingKey.work(work).path }
}

// MARK: - Listing key

/// A listing as a value: its kind, and the parameter that distinguishes it from others of that kind.
package struct ListingKey: Hashable, Sendable {
    /// The parameter of a listing.
    package enum Subject: Hashable, Sendable {
        /// A ranking and its day; nil for the newest published one, which no database stores under this key.
        case day(RankingMode, Day?)
        case number(Int64)
        case name(NormalizedName)

        /// The last part of keys and paths.
        package var text: String {
            switch self {
            case .day(let mode, let day): "\(mode.rawValue)/\(day?.description ?? TreePath.latest(mode).name)"
            case .number(let number): String(number)
            case .name(let name): name.text
            }
        }
    }

    package let kind: ListingKind
    package let subject: Subject

    private init(_ kind: ListingKind, _ subject: Subject) {
        self.kind = kind
        self.subject = subject
    }

    /// The listing of a user or work; the kind must be one of numbers.
    package init(_ kind: ListingKind, _ number: Int64) {
        self.init(kind, .number(number))
    }

    /// A day of a ranking; nil for the newest published one.
    package static func ranking(_ mode: RankingMode, _ day: Day?) -> Self { Self(.ranking, .day(mode, day)) }
    package static func author(_ author: UserID) -> Self { Self(.author, author.rawValue) }
    package static func work(_ work: WorkID) -> Self { Self(.work, work.rawValue) }

    /// The only listing of a kind, number 1; nil for a kind that has many.
    package static func only(_ kind: ListingKind) -> Self? {
        kind.facts.place == .root && kind.facts.audience != .session ? Self(kind, 1) : nil
    }

    /// The ranking and the day; nil for another kind, and for the newest day.
    package var ranking: (mode: RankingMode, day: Day)? {
        if case .day(let mode, let day?) = subject { (mode, day) } else { nil }
    }

    /// The ranking; nil for another kind.
    package var mode: RankingMode? {
        if case .day(let mode, _) = subject { mode } else { nil }
    }

    /// The number of the user or work that the listing belongs to; nil where there is none.
    package var number: Int64? {
        if case .number(let number) = subject { number } else { nil }
    }

    /// The user of the listing; number 0 where there is none.
    package var user: UserID { UserID(rawValue: number ?? 0) }

    /// The work of the listing; number 0 where there is none.
    package var work: WorkID { WorkID(rawValue: number ?? 0) }

    /// The text that the user gave; nil where there is none.
    package var words: String? {
        if case .name(let name) = subject { name.text } else { nil }
    }

    /// Whether the listing shows the pages of one work rather than a list of works.
    package var isWork: Bool { kind.facts.contents == .pages }

    /// Whether the entries are authors or listings: their numbers take the place of works' numbers, as in the pictures of authors.
    package var listsNames: Bool { !kind.showsPictures }

    /// Whether the listing is the same in every view that a mount has of works (renditions, pages, filters).
    package var isSameInEveryView: Bool { kind.facts.contents != .works }

    /// The path of the directory that shows this listing.
    package var path: TreePath {
        switch (subject, kind.facts.place) {
        case (.day(let mode, let day?), _): .day(mode, day)
        case (.day(let mode, nil), _): .latest(mode)
        case (_, .root): .own(kind)
        case (_, .among(let outer)) where outer.facts.place == .root:
            .listing(kind, "/\(TreePath.parts(subject.text).last)")
        default: .listing(kind, subject.text)
        }
    }

    /// The listing whose entries name this one, and its name there; nil for a kind that stands among no others.
    package var outer: (listing: ListingKey, name: String)? {
        guard case .among(let kind) = kind.facts.place else { return nil }
        let (first, last) = TreePath.parts(subject.text)
        return ListingKey(kind, named: first).map { ($0, last) }
    }

    /// The listing in whose directory this one's stands; nil for one that stands elsewhere.
    package var holder: ListingKey? {
        outer?.listing ?? kind.holder.flatMap { holder in number.map { ListingKey(holder, $0) } }
    }

    /// The account to which the listing belongs; nil for a listing that needs none.
    package var owner: UserID? {
        kind.facts.audience == .session ? (outer?.listing ?? self).user : nil
    }

    /// The paths of the directories that may show this listing: its own, and that of the newest day or of the signed-in user.
    package var paths: [TreePath] {
        if let mode { return [path, .latest(mode)] }
        return kind.facts.ownName == nil || kind.facts.place == .root ? [path] : [path, .own(kind)]
    }

    /// The listing that has its own directory at a path; nil if there is none.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - user: The signed-in user, whose listings stand in the root.
    package init?(of path: TreePath, user: UserID? = nil) {
        switch path {
        case .day(let mode, let day): self = .ranking(mode, day)
        case .own(let kind):
            guard let key = Self.only(kind) ?? user.map({ Self(kind, $0.rawValue) }) else { return nil }
            self = key
        case .listing(let kind, let name):
            let isOwn = name.utf8.first == UInt8(ascii: "/")
            if isOwn, user == nil { return nil }
            guard let key = Self(kind, named: isOwn ? "\(user?.rawValue ?? 0)\(name)" : name) else { return nil }
            self = key
        default: return nil
        }
    }

    /// The listing of a kind by the text of its subject; nil for a text that is none.
    private init?(_ kind: ListingKind, named text: String) {
        switch kind.facts.form {
        case .day:
            let path = text.pathNames.reduce(TreePath.rankings) { path, name in path.child(name) }
            guard case .day(let mode, let day) = path else { return nil }
            self = .ranking(mode, day)
        case .number:
            guard let number = Int64(text) else { return nil }
            self.init(kind, number)
        case .name: self.init(kind, .name(Self.name(text, of: kind)))
        }
    }

    /// The one spelling of a name: of a search also the one order of its options.
    private static func name(_ text: String, of kind: ListingKind) -> NormalizedName {
        NormalizedName(kind == .search ? SearchQuery(text).text : text)
    }

    /// The key as stored in databases: `ranking/daily/2024-05-01`, `author/11`; these forms never change.
    package var text: String { "\(kind.facts.word)/\(subject.text)" }

    /// Parses the text; nil for a text that this version does not know.
    package init?(text: String) {
        for kind in ListingKind.allCases {
            guard let subject = text.rest(after: kind.facts.word + "/") else { continue }
            guard let key = Self(kind, named: subject) else { return nil }
            self = key
            return
        }
        return nil
    }
}

// MARK: - Date folder

/// A directory of `by-date/`, through which any day is reached with a mouse: the part of a date that it stands for.
///
/// It stands beside `ranking/` so that a copy of a ranking does not include thousands of links.
package enum DateFolder: Hashable, Sendable {
    case all
    case mode(RankingMode)
    case year(RankingMode, Int)
    /// A year and a month of it, 1 to 12.
    case month(RankingMode, Int, Int)

    /// The folder that holds the link to a day.
    package init(of mode: RankingMode, _ day: Day) {
        let (year, month, _) = day.civil
        self = .month(mode, year, month)
    }

    /// The ranking of the days below the folder; nil for the folder of all rankings.
    package var mode: RankingMode? {
        switch self {
        case .all: nil
        case .mode(let mode), .year(let mode, _), .month(let mode, _, _): mode
        }
    }

    /// The last part of its path.
    package var name: String {
        switch self {
        case .all: "by-date"
        case .mode(let mode): mode.rawValue
        case .year(_, let year): Digits.padded(year, to: 4)
        case .month(_, _, let month): Digits.padded(month, to: 2)
        }
    }

    /// The folder that holds this one; nil for the outermost.
    package var parent: DateFolder? {
        switch self {
        case .all: nil
        case .mode: .all
        case .year(let mode, _): .mode(mode)
        case .month(let mode, let year, _): .year(mode, year)
        }
    }

    /// The folder that a name in this one means by its form; nil for any other name, and in a month.
    package func folder(named name: String) -> DateFolder? {
        switch self {
        case .all: RankingMode(rawValue: name).map { .mode($0) }
        case .mode(let mode): Self.number(name, digits: 4).map { .year(mode, $0) }
        case .year(let mode, let year): Self.number(name, digits: 2).map { .month(mode, year, $0) }
        case .month: nil
        }
    }

    /// The day that a name in this folder means by its form; nil for any other name, and outside a month.
    package func day(named name: String) -> Day? {
        guard case .month(let mode, _, _) = self, let day = Day(name), DateFolder(of: mode, day) == self else {
            return nil
        }
        return day
    }

    private static func number(_ name: String, digits: Int) -> Int? {
        name.utf8.count == digits ? Digits.number(name.utf8) : nil
    }
}
