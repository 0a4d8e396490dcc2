import Fuse
import Rankings

/// A name in a directory, and its node.
typealias NamedNode = (name: String, node: Node)

/// A directory of the tree: each kind is a type, which answers every question of the file system.
///
/// Values of these types are small and hold no state: `Tree` provides the present state.
protocol TreeDirectory: TreeEntry {
    // Contents

    /// Returns its names without any request; nil for a directory that shows a listing.
    func names(in tree: Tree) -> [NamedNode]?
    /// Finds the node of a name in the directory.
    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult
    /// The same directory as a directory of a listing, if it is one.
    var listing: (any ListingDirectory)? { get }
    /// Whether it lists recently seen nodes besides its own names.
    var listsSeen: Bool { get }
    /// Returns its names together with the recently seen ones; queries the database.
    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode]
    /// The day that it shows, as far as it is known in memory.
    func day(in tree: Tree) -> Day?

    // Attributes for the kernel

    /// The time of the last change of its contents, in Unix seconds; stable, so that backups see an unchanged directory.
    func modified(in tree: Tree) -> Int64
    /// The longest time for which the kernel may keep a name in the directory.
    var longestName: Duration { get }
    /// Whether it certainly exists once it is listed, so that the kernel needs no lookup.
    func isCertain(in tree: Tree) -> Bool

    // Commands and searches by number

    /// Whether a new request to the service can refresh it.
    var isRefreshable: Bool { get }
    /// Sends a new request to the service, however fresh the contents are.
    func refresh(in tree: Tree) async throws(Failure)
    /// Returns the directories that the kernel must drop as well when this one has changed.
    func changing(with tree: Tree) -> [any TreeDirectory]
}

extension TreeDirectory {
    func names(in tree: Tree) -> [NamedNode]? { [] }
    var listing: (any ListingDirectory)? { nil }
    var listsSeen: Bool { false }
    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode] { names }
    func day(in tree: Tree) -> Day? { nil }
    func modified(in tree: Tree) -> Int64 { tree.newestPublication }
    func lifetime(in tree: Tree) -> Lifetime { (TreeLimits.frozen, TreeLimits.current) }
    var longestName: Duration { TreeLimits.frozen }
    func isCertain(in tree: Tree) -> Bool { true }
    var isRefreshable: Bool { false }
    func refresh(in tree: Tree) async throws(Failure) {}
    func changing(with tree: Tree) -> [any TreeDirectory] { [] }

    /// The directory with its name in its parent.
    var named: NamedNode { (path.name, .directory(self)) }
}

/// The result of the search for a name in a directory.
enum LookupResult: Sendable {
    case node(Node)
    /// A node, under a name that may have another meaning at the next lookup.
    case passing(Node)
    case absent(Duration)
    case refused(Failure)
    /// A result that needs a query of the catalog.
    case unknown(@Sendable () async throws(Failure) -> LookupResult)

    /// The result for a name that a listing does not have now, and may have after a request or for another session.
    ///
    /// The kernel could not be made to forget it (`PictureEntry.lifetime`), and another look costs no request.
    static let missing = Self.absent(.zero)

    static func directory(_ directory: any TreeDirectory) -> LookupResult {
        .node(.directory(directory))
    }

    /// A directory that may have to be refused.
    static func directory(_ directory: any TreeDirectory, in tree: Tree) -> LookupResult {
        directory.refusal(in: tree).map { .refused($0) } ?? .directory(directory)
    }
}
