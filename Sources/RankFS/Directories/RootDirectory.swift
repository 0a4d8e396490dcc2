import Catalog
import Fuse
import Rankings

/// The mount point.
struct RootDirectory: TreeDirectory {
    var path: TreePath { .root }

    func names(in tree: Tree) -> [NamedNode]? {
        DirectoryKinds.top.filter { $0.isThere(in: tree) && $0.refusal(in: tree) == nil }.map { ($0.path.name, $0) }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let path = EntryName.ascii(name).map(TreePath.root.child) else { return .absent(TreeLimits.frozen) }
        if path == .helpers { return .directory(HelpersDirectory()) }
        if let file = tree.helpers.first(where: { $0.path == path }) { return .node(.file(file)) }
        guard let node = DirectoryKinds.top.first(where: { $0.path == path }), node.isThere(in: tree) else {
            return .absent(TreeLimits.frozen)
        }
        if let failure = node.refusal(in: tree) { return .refused(failure) }
        guard path == .random else { return .node(node) }
        return .unknown {
            let picture = await tree.randomPicture(for: caller)
            tree.callers.facts { callers, _ in callers.found(picture.path.text, as: .random, by: caller.process) }
            return .passing(picture)
        }
    }
}

/// `.rankfs`: helper files, found by name and not listed in the root.
struct HelpersDirectory: TreeDirectory {
    var path: TreePath { .helpers }

    func names(in tree: Tree) -> [NamedNode]? {
        tree.helpers.filter { $0.path.parent == path }.map { ($0.name, .file($0)) }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        let file = tree.helpers.first { $0.path.parent == path && $0.name.utf8.elementsEqual(name) }
        return file.map { .node(.file($0)) } ?? .absent(TreeLimits.frozen)
    }
}

// MARK: - Recent directory

/// `recent/`: the pictures that were read last, each under a further name.
///
/// All come from stored listings, so no request is made. Reading a picture here does not count as a new read.
struct RecentDirectory: TreeDirectory {
    var path: TreePath { .recent }
    func isThere(in tree: Tree) -> Bool { tree.configuration.notesRecent }
    func audience(in tree: Tree) -> Audience { .owner }
    /// The kernel sends a lookup at each open, which shows that the picture was opened here.
    var longestName: Duration { .zero }
    var listsSeen: Bool { true }

    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode] {
        let places = await tree.catalog.recents.places()
        return places.compactMap { place in
            tree.shownPicture(place.listing, place.index).map { (place.picture.name, $0) }
        }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        .unknown { () async throws(Failure) in
            guard let (listing, index) = await tree.catalog.recents.place(named: name),
                let node = tree.shownPicture(listing, index)
            else { return .absent(.zero) }
            tree.callers.facts { callers, _ in callers.found(node.path.text, as: .recent, by: caller.process) }
            return .node(node)
        }
    }

    func modified(in tree: Tree) -> Int64 {
        tree.catalog.recents.pictures.first?.opened ?? tree.newestPublication
    }
}

extension Tree {
    /// The node of a listing's picture, if it is shown now.
    fileprivate func shownPicture(_ listing: Listing, _ index: Int) -> Node? {
        let node = Node.picture(listing, Int32(clamping: index))
        return listing.entry(at: index)?.isHidden == false && node.refusal(in: self) == nil ? node : nil
    }
}

// MARK: - Directory kinds

/// The kinds of directories: a new kind gets its line here.
enum DirectoryKinds {
    /// The possible entries of the root, in their order.
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
    ///   - modified: The time of its last change, in Unix seconds, if known.
    /// - Returns: The directory, whether the listing exists or not.
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

    /// The directory with a path; nil for a path that no directory has by its form.
    static func directory(at path: TreePath) -> (any TreeDirectory)? {
        switch path {
        case .root: RootDirectory()
        case .mode(let mode): ModeDirectory(mode)
        case .day(let mode, let day): DayDirectory(mode, day)
        case .latest(let mode): LatestDirectory(mode)
        case .dates(let folder): DatesDirectory(folder)
        case .author(let author): AuthorDirectory(author)
        case .bookmarks(let user): BookmarksDirectory(user)
        case .artist(let name): ArtistDirectory(name)
        case .work(let work): WorkDirectory(work)
        case .search(let words): SearchDirectory(words)
        case .helpers: HelpersDirectory()
        case .sharedThumbnails(let owner): directory(at: owner).map { SharedThumbnailsDirectory(of: $0) }
        default: top.lazy.compactMap { $0.path == path ? $0.directory : nil }.first
        }
    }
}

extension Listing {
    /// The directory that shows this listing.
    var directory: any ListingDirectory { DirectoryKinds.directory(showing: key, modified: modified) }
}

extension Node {
    static let root = Node.directory(RootDirectory())

    /// The directory that holds this node; the root holds itself.
    var parent: any TreeDirectory {
        if case .picture(let listing, _) = self { return listing.directory }
        return path.parent.flatMap(DirectoryKinds.directory(at:)) ?? RootDirectory()
    }
}
