import Catalog
import Fuse
import Rankings

/// The mount point.
struct RootDirectory: TreeDirectory {
    var path: TreePath { .root }

    func names(in tree: Tree) -> [NamedNode]? {
        Node.top.filter { $0.isThere(in: tree) && $0.refusal(in: tree) == nil }.map { ($0.path.name, $0) }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let path = EntryName.ascii(name).map(TreePath.root.child) else { return .absent(TreeLimits.frozen) }
        if path == .helpers { return .directory(HelpersDirectory()) }
        if let file = tree.helpers.first(where: { $0.path == path }) { return .node(.file(file)) }
        guard let node = Node.top.first(where: { $0.path == path }) else {
            return .absent(TreeLimits.frozen)
        }
        guard node.isThere(in: tree) else {
            return node.directory?.listing == nil ? .absent(TreeLimits.frozen) : .missing
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
    /// The node of a listing's picture, if it is shown now and opens for the present account.
    func shownPicture(_ listing: Listing, _ index: Int) -> Node? {
        let node = Node.picture(listing, Int32(clamping: index))
        guard let entry = listing.entry(at: index), entry.isBrowsed, node.refusal(in: self) == nil,
            refusal(of: entry.picture, in: listing) == nil
        else { return nil }
        return node
    }
}

// MARK: - Directory kinds

/// The kinds of directories: kinds of listings have rows (`ListingKind`), any other kind gets its line here.
extension Node {
    /// The possible entries of the root, in their order.
    static let top: [Node] =
        [.directory(RankingsDirectory()), .directory(DatesDirectory(folder: .all))]
        + ListingKind.allCases.filter { $0.folder != nil }.map { .directory(FolderDirectory(kind: $0)) }
        + [.directory(RecentDirectory()), .file(RandomPicture())]
        + ListingKind.allCases.filter { $0.facts.ownName != nil }.map { .directory(SessionDirectory(kind: $0)) }

    /// The directory that a search for a number visits last, because it has many entries below it.
    static let searchedLast = Node.directory(DatesDirectory(folder: .all))
}

extension TreePath {
    /// The directory with this path; nil for a path that no directory has by its form.
    var directory: (any TreeDirectory)? {
        switch self {
        case .root: RootDirectory()
        case .mode(let mode): ModeDirectory(mode: mode)
        case .day(let mode, let day): DayDirectory(mode, day)
        case .latest(let mode): LatestDirectory(mode: mode)
        case .dates(let folder): DatesDirectory(folder: folder)
        case .listing(.author, _), .listing(.work, _): ListingKey(of: self)?.directory()
        case .listing(let kind, let name): KindDirectory(kind, name)
        case .helpers: HelpersDirectory()
        case .sharedThumbnails(let owner): owner.directory.map { SharedThumbnailsDirectory(of: $0) }
        default: Node.top.lazy.compactMap { $0.path == self ? $0.directory : nil }.first
        }
    }
}

extension Node {
    static let root = Node.directory(RootDirectory())

    /// The directory that holds this node; the root holds itself.
    var parent: any TreeDirectory {
        if case .picture(let listing, _) = self { return listing.directory }
        return path.parent?.directory ?? RootDirectory()
    }
}
