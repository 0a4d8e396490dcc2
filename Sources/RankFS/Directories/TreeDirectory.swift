import Catalog
import Fuse
import Rankings

/// A name in a directory, and what it stands for.
typealias NamedNode = (name: String, node: Node)

/// How long the kernel may keep a name and its attributes.
typealias Lifetime = (entry: Duration, attributes: Duration)

/// Who sees something on a mount that others look into.
enum Audience: Sendable {
    case everybody
    /// The owner and root.
    case owner
    /// Likewise; and others are not told the name, since a session adds it to a directory that they see.
    case session
}

/// A directory of the tree: each kind is a type, which says everything that the file system asks.
///
/// Values of these types are small and know no state: what there is now, `Tree` tells.
protocol TreeDirectory: Sendable {
    /// Where it is; its inode number follows from that.
    var path: TreePath { get }
    /// The directory that holds it; the root holds itself.
    var parent: any TreeDirectory { get }
    /// Its place among the entries of its parent, by which inode numbers grow; nil where the order is of no use.
    var order: InodeOrder? { get }

    // What is in it

    /// What it lists, without asking anybody; nil for one that shows a listing.
    func names(in tree: Tree) -> [NamedNode]?
    /// What a name in it stands for.
    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult
    /// The same directory as one that shows a listing, if it is one.
    var listing: (any ListingDirectory)? { get }
    /// Whether it lists what was seen lately, besides its names.
    var listsSeen: Bool { get }
    /// Its names with those of what was seen lately; asks the database.
    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode]
    /// The day that it shows, as far as memory tells.
    func day(in tree: Tree) -> Day?

    // What the kernel is told of it

    /// When its content last changed, in Unix seconds; stable, so that backups see an unchanged directory.
    func modified(in tree: Tree) -> Int64
    func lifetime(in tree: Tree) -> Lifetime
    /// The longest time for which the kernel may keep a name that is in it.
    var longestName: Duration { get }
    /// Whether it surely exists once it is listed, so that the kernel need not look it up.
    func isCertain(in tree: Tree) -> Bool

    // Whether and to whom it is shown

    /// Whether the source and the options leave it in the tree.
    func isThere(in tree: Tree) -> Bool
    /// Why it must not be shown now; asked again where the kernel may have cached the name.
    func refusal(in tree: Tree) -> Failure?
    func audience(in tree: Tree) -> Audience
    /// Whether something in it opens without a request.
    func opens(in tree: Tree) async -> Bool

    // Commands, and searches by number

    /// Whether the service can be asked for it again.
    var isRefreshable: Bool { get }
    /// Asks the service again, however fresh it is.
    func refresh(in tree: Tree) async throws(Failure)
    /// Directories that the kernel must forget as well when this one has changed.
    func changing(with tree: Tree) -> [any TreeDirectory]
    /// Whether it is searched for a number after everything else, because it has many below it.
    var isSearchedLast: Bool { get }
    /// Whether something that it lists may have an inode number.
    func mayHold(_ number: UInt64) -> Bool
}

extension TreeDirectory {
    var order: InodeOrder? { nil }
    func names(in tree: Tree) -> [NamedNode]? { [] }
    var listing: (any ListingDirectory)? { nil }
    var listsSeen: Bool { false }
    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode] { names }
    func day(in tree: Tree) -> Day? { nil }
    func modified(in tree: Tree) -> Int64 { tree.newestPublication }
    func lifetime(in tree: Tree) -> Lifetime { (TreeLimits.frozen, TreeLimits.current) }
    var longestName: Duration { TreeLimits.frozen }
    func isCertain(in tree: Tree) -> Bool { true }
    func isThere(in tree: Tree) -> Bool { true }
    func refusal(in tree: Tree) -> Failure? { nil }
    func audience(in tree: Tree) -> Audience { .everybody }
    func opens(in tree: Tree) async -> Bool { true }
    var isRefreshable: Bool { false }
    func refresh(in tree: Tree) async throws(Failure) {}
    func changing(with tree: Tree) -> [any TreeDirectory] { [] }
    var isSearchedLast: Bool { false }
    func mayHold(_ number: UInt64) -> Bool { true }
}

extension TreeDirectory {
    /// What lists it.
    var named: NamedNode { (path.name, .directory(self)) }

    /// The path of the directory that holds it; nil for the root.
    var parentPath: String? { path.parent?.text }
}

/// What a name in a directory turned out to be.
enum LookupResult: Sendable {
    case node(Node)
    /// As `node`, by a name that may mean something else the next time.
    case passing(Node)
    case absent(Duration)
    case refused(Failure)
    /// Only asking the catalog tells.
    case unknown(@Sendable () async throws(Failure) -> LookupResult)

    static func directory(_ directory: any TreeDirectory) -> LookupResult {
        .node(.directory(directory))
    }

    /// A directory that may have to be refused.
    static func directory(_ directory: any TreeDirectory, in tree: Tree) -> LookupResult {
        directory.refusal(in: tree).map { .refused($0) } ?? .directory(directory)
    }
}

// MARK: - Directory kinds

/// Which directories there are: a new one has its line here.
enum DirectoryKinds {
    /// What the root lists, in this order, as far as it is there.
    static let top: [Node] = [
        .directory(RankingsDirectory()), .directory(DatesDirectory(.all)), .directory(UsersDirectory()),
        .directory(ArtistsDirectory()), .directory(WorksDirectory()), .directory(SearchesDirectory()),
        .directory(RecentDirectory()),
        .file(RandomPicture()), .directory(OwnBookmarksDirectory()), .directory(FollowingDirectory()),
    ]

    /// The directory that shows a listing.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - modified: When it last changed, in Unix seconds, if that is known.
    /// - Returns: The directory, whether there is such a listing or not.
    static func directory(showing key: ListingKey, modified: @autoclosure () -> Int64? = nil) -> any ListingDirectory {
        switch key {
        case .ranking(let mode, let day): DayDirectory(mode, day)
        case .author(let author): AuthorDirectory(author, modified: modified())
        case .artist(let name): ArtistDirectory(name.text)
        case .work(let work): WorkDirectory(work)
        case .search(let words): SearchDirectory(words.text)
        case .bookmarks(let user): BookmarksDirectory(user)
        case .following: FollowingDirectory()
        }
    }
}
