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
    case users
    case author(UserID)
    /// An author by name.
    case authorLink(String)
    case bookmarks(UserID)
    case artists
    /// An artist known by name alone.
    case artist(String)
    case works
    case work(WorkID)
    case searches
    case search(String)
    case following
    case recent
    case helpers
    /// The shared thumbnails of a directory of pictures.
    case sharedThumbnails(TreePath)
    /// Any other node of a directory: a picture, a generated file, a link.
    case entry(TreePath, String)

    /// A stored picture, a different one for each process.
    package static let random = TreePath.entry(.root, "random.jpg")
    /// The signed-in user's own bookmarks.
    package static let ownBookmarks = TreePath.entry(.root, bookmarksName)

    private static let latestName = "latest"
    private static let bookmarksName = "bookmarks"
    private static let sharedThumbnailsName = ".sh_thumbnails"
    /// The mark before the name of an author.
    private static let authorMark = "@"

    /// The directories in the root.
    private static let top: [TreePath] = [
        .rankings, .dates(.all), .users, .artists, .works, .searches, .following, .recent, .helpers,
    ]

    /// The last part of the path; empty for the root.
    package var name: String {
        switch self {
        case .root: ""
        case .rankings: "ranking"
        case .mode(let mode): mode.rawValue
        case .day(_, let day), .dayLink(_, let day): day.description
        case .latest: Self.latestName
        case .dates(let folder): folder.name
        case .users: "users"
        case .author(let author): String(author.rawValue)
        case .authorLink(let name): Self.authorMark + name
        case .bookmarks: Self.bookmarksName
        case .artists: "artists"
        case .artist(let name): name
        case .works: "works"
        case .work(let work): String(work.rawValue)
        case .searches: "search"
        case .search(let words): words
        case .following: "following"
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
        case .rankings, .users, .artists, .works, .searches, .following, .recent, .helpers: .root
        case .mode: .rankings
        case .day(let mode, _), .latest(let mode): .mode(mode)
        case .dates(let folder): folder.parent.map { .dates($0) } ?? .root
        case .dayLink(let mode, let day): .dates(DateFolder(of: mode, day))
        case .author, .authorLink: .users
        case .bookmarks(let user): .author(user)
        case .artist: .artists
        case .work: .works
        case .search: .searches
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
        case .users:
            if let author = name.rest(after: Self.authorMark) { return .authorLink(author) }
            return Self.number(name).map { .author(UserID(rawValue: $0)) }
        case .works: return Self.number(name).map { .work(WorkID(rawValue: $0)) }
        case .artists: return .artist(name)
        case .searches: return .search(name)
        case .author(let user) where name == Self.bookmarksName: return .bookmarks(user)
        case .day, .latest, .author, .bookmarks, .artist, .work, .search:
            return name == Self.sharedThumbnailsName ? .sharedThumbnails(self) : nil
        case .dayLink, .authorLink, .following, .recent, .helpers, .sharedThumbnails, .entry: return nil
        }
    }

    /// A number in the only spelling that paths use.
    private static func number(_ name: String) -> Int64? {
        Int64(name).flatMap { $0 >= 0 && String($0) == name ? $0 : nil }
    }
}

// MARK: - Listings

/// The key of a listing: the directory of entries that it is.
package enum ListingKey: Hashable, Sendable {
    case ranking(RankingMode, Day)
    case author(UserID)
    /// The works of an artist known by name alone.
    case artist(NormalizedName)
    /// The pages of one work, as the author uploaded them.
    case work(WorkID)
    /// The results of a search by the user, independent of the spelling of its words.
    case search(NormalizedName)
    /// The public bookmarks of a user.
    case bookmarks(UserID)
    /// The authors that a user follows.
    case following(UserID)

    /// Whether the listing shows the pages of one work rather than a list of works.
    package var isWork: Bool {
        if case .work = self { true } else { false }
    }

    /// Whether the entries are authors: their numbers take the place of works' numbers, as in the pictures of authors.
    package var listsAuthors: Bool {
        if case .following = self { true } else { false }
    }

    /// Whether the listing is the same in every view that a mount has of works (renditions, pages, filters).
    package var isSameInEveryView: Bool {
        isWork || listsAuthors
    }

    /// The number of the author or work that the listing belongs to; nil where there is none.
    package var number: Int64? {
        switch self {
        case .ranking, .artist, .search: nil
        case .author(let user), .bookmarks(let user), .following(let user): user.rawValue
        case .work(let work): work.rawValue
        }
    }

    /// The path of the directory that shows this listing.
    package var path: TreePath {
        switch self {
        case .ranking(let mode, let day): .day(mode, day)
        case .author(let author): .author(author)
        case .bookmarks(let user): .bookmarks(user)
        case .artist(let name): .artist(name.text)
        case .work(let work): .work(work)
        case .search(let words): .search(words.text)
        case .following: .following
        }
    }

    /// The paths of the directories that may show this listing: its own, and that of the newest day or of the signed-in user.
    package var paths: [TreePath] {
        switch self {
        case .ranking(let mode, _): [path, .latest(mode)]
        case .bookmarks: [path, .ownBookmarks]
        default: [path]
        }
    }

    /// The listing that has its own directory at a path; nil if there is none.
    package init?(of path: TreePath) {
        switch path {
        case .day(let mode, let day): self = .ranking(mode, day)
        case .author(let author): self = .author(author)
        case .bookmarks(let user): self = .bookmarks(user)
        case .artist(let name): self = .artist(NormalizedName(name))
        case .work(let work): self = .work(work)
        case .search(let words): self = .search(NormalizedName(words))
        default: return nil
        }
    }

    /// The key as stored in databases: `ranking/daily/2024-05-01`, `author/11`.
    ///
    /// Rankings, artists and searches use the texts of their paths, the others words of their own; these forms never change.
    package var text: String {
        switch self {
        case .ranking, .artist, .search: path.text
        case .author(let author): "author/\(author.rawValue)"
        case .work(let work): "work/\(work.rawValue)"
        case .bookmarks(let user): "bookmarks/\(user.rawValue)"
        case .following(let user): "following/\(user.rawValue)"
        }
    }

    /// Parses the text; nil for a text that this version does not know.
    package init?(text: String) {
        if let words = text.rest(after: TreePath.searches.text + "/") {
            self = .search(NormalizedName(words))
            return
        }
        if let artist = text.rest(after: TreePath.artists.text + "/") {
            self = .artist(NormalizedName(artist))
            return
        }
        if case .day(let mode, let day) = TreePath(text) {
            self = .ranking(mode, day)
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[1]) else { return nil }
        switch parts[0] {
        case "author": self = .author(UserID(rawValue: number))
        case "work": self = .work(WorkID(rawValue: number))
        case "bookmarks": self = .bookmarks(UserID(rawValue: number))
        case "following": self = .following(UserID(rawValue: number))
        default: return nil
        }
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
        guard name.utf8.count == digits, name.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return nil
        }
        return Int(name)
    }
}
