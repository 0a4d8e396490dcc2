import Catalog
import Fuse
import Rankings

/// The object of an inode: small, because the kernel may know a hundred thousand of them.
///
/// A picture is its listing and its index there; names, sizes and times are determined when they are needed. Directories, files
/// and links describe themselves.
enum Node: Sendable {
    case directory(any TreeDirectory)
    case picture(Listing, Int32)
    case file(any TreeFile)
    case link(Link)

    /// The entry of the tree; the requirements of all kinds are the same.
    private var entry: any TreeEntry {
        switch self {
        case .directory(let directory): directory
        case .picture(let listing, let index): PictureEntry(listing: listing, index: Int(index))
        case .file(let file): file
        case .link(let link): link
        }
    }

    var path: TreePath { entry.path }
    func isThere(in tree: Tree) -> Bool { entry.isThere(in: tree) }
    func refusal(in tree: Tree) -> Failure? { entry.refusal(in: tree) }
    func audience(in tree: Tree) -> Audience { entry.audience(in: tree) }
    func opens(in tree: Tree) async -> Bool { await entry.opens(in: tree) }
    func lifetime(in tree: Tree) -> Lifetime { entry.lifetime(in: tree) }

    /// The node as a directory; nil for others.
    var directory: (any TreeDirectory)? {
        if case .directory(let directory) = self { directory } else { nil }
    }

    /// The type that readdir(3) shows in `d_type`.
    var kind: Attributes.Kind {
        switch self {
        case .directory: .directory
        case .picture, .file: .file
        case .link: .link
        }
    }

    var isRoot: Bool { directory?.path == .root }

    /// Whether it is a directory with secret names, or a picture in one: the mode says so on every mount.
    var isSecret: Bool {
        switch self {
        case .picture(let listing, _): listing.key.kind.facts.isSecret
        case .directory(let directory): directory.listing?.isSecret ?? false
        case .file, .link: false
        }
    }

    // MARK: - Inode numbers

    /// The identity that is the same in every mount; the inode number follows from it.
    var identity: String {
        guard case .picture(let listing, let index) = self else { return path.text }
        return Self.identity(of: listing.entries[Int(index)].picture, in: listing.key)
    }

    /// The identity of a picture in a listing: its work and page, so that neither rank nor title matter, and its upload.
    ///
    /// A new upload is another inode, so the bytes of an inode never change: its cached pages stay valid, and a reader with the
    /// old picture open shares no pages with the readers of the new one.
    static func identity(of picture: PictureID, in key: ListingKey) -> String {
        let name = "\(picture.work.rawValue)_p\(picture.page)_\(picture.uploaded)\(mark(of: picture.rendition))"
        return TreePath.entry(key.path, name).text
    }

    /// The part of the identity that distinguishes a rendition from others of the same picture.
    static func mark(of rendition: Rendition) -> String {
        switch rendition {
        case .archive: "_archive"
        // Another rendition may have had the same name before, with other bytes.
        case .original: "_original"
        case .small, .regular, .webp, .gif, .matroska, .avatar, .normalThumbnail, .largeThumbnail: ""
        }
    }

    /// The inode number, unless another identity has it already.
    var inodeNumber: UInt64 {
        if case .picture(let listing, let index) = self {
            return PictureNumbers(listing.key).number(of: listing.entries[Int(index)])
        }
        let path = path
        switch path {
        case .day(_, let day), .dayLink(_, let day):
            return InodeNumber.of(path.text, in: (path.parent ?? .root).text, order: .day(day))
        default: return InodeNumber.of(path.text)
        }
    }

    /// Whether both have the same identity; in the usual case, the same picture of the same listing, no identity is made.
    func isSame(as other: Node) -> Bool {
        if case .picture(let listing, let index) = self, case .picture(let otherListing, let otherIndex) = other,
            listing === otherListing
        {
            return index == otherIndex
        }
        // By bytes: names that differ in normalisation are other names.
        return identity.utf8.elementsEqual(other.identity.utf8)
    }
}

/// A picture of a listing.
private struct PictureEntry: TreeEntry {
    let listing: Listing
    let index: Int

    var path: TreePath { .entry(listing.key.path, listing.entries[index].name) }
    func refusal(in tree: Tree) -> Failure? { tree.refusal(of: listing.key) }
    func audience(in tree: Tree) -> Audience { tree.audience(of: listing.key) }

    func opens(in tree: Tree) async -> Bool {
        listing.entry(at: index).map { tree.opens($0, of: listing) } ?? false
    }

    func lifetime(in tree: Tree) -> Lifetime {
        // It may be shown at any moment: the user signs in, or a post is approved.
        if listing.entry(at: index)?.isWithheld == true { return (.zero, .zero) }
        // Another picture may get the name, at once where it is that of a page or of a place in a list. To make the kernel forget a name
        // (fuse_lowlevel_notify_inval_entry) waits for lookups in its directory, and outlives a kill of this process: commands alone do.
        if listing.key.ranking == nil {
            return (listing.key.kind.namesArePlaces ? .zero : TreeLimits.changing, TreeLimits.frozen)
        }
        // Its link count changes when the next day appears.
        return (TreeLimits.frozen, tree.isInLatest(listing.key) ? TreeLimits.current : TreeLimits.frozen)
    }
}

// MARK: - The owner and others

/// On a mount that other users can access, the owner's nodes are closed to them.
///
/// The owner is the user to which the files belong; root has the same rights. The kernel keeps names and attributes for all users
/// alike. The mode bits (`default_permissions`) make it stop other users on the way to anything below; requests that still reach
/// the file system are checked again by the user of the caller (fuse_req_ctx(3)).
extension Tree {
    /// Returns the given names that open without a request.
    ///
    /// With the option `offline`, directories list only these, since no others can be fetched before the next mount. Names that are
    /// not listed are still found: their known attributes are reported, and opening them gives the reason of the failure.
    func opening(_ names: [NamedNode]) async -> [NamedNode] {
        var opening: [NamedNode] = []
        for entry in names where await entry.node.opens(in: self) { opening.append(entry) }
        return opening
    }

    /// The reason why a node must not be shown to a caller; nil if there is none.
    func refusal(of node: Node, to caller: Caller) -> Failure? {
        node.refusal(in: self) ?? (isKept(node) && !isOwner(caller) ? .ownersOnly : nil)
    }

    /// Whether a node is only for the owner and root.
    func isKept(_ node: Node) -> Bool {
        configuration.keepsOwners && node.audience(in: self) != .everybody
    }

    /// Returns the names of a directory that are listed for a caller.
    ///
    /// A lookup by name finds the others for every user: the kernel would take a refusal for the end of the name, also where the
    /// owner works in it.
    func shown(_ names: [NamedNode], to caller: Caller) -> [NamedNode] {
        isOwner(caller) ? names : names.filter { $0.node.audience(in: self) != .session }
    }
}

// MARK: - Picture numbers

/// The inode numbers of a listing's pictures: the part of the directory is computed once, and no text is made for each picture.
struct PictureNumbers: Sendable {
    /// The number of the directory's identity.
    private let directory: UInt64
    /// The common beginning of the identities of all its pictures.
    private let beginning: IdentityHash

    init(_ key: ListingKey) {
        let path = key.path.text
        directory = InodeNumber.of(path)
        var hash = IdentityHash()
        hash.add(path)
        hash.add("/")
        beginning = hash
    }

    /// Returns the number of an entry, in the order in which its directory lists it.
    func number(of entry: ListingEntry) -> UInt64 {
        let picture = entry.picture
        let order: InodeOrder =
            entry.rank > 0
            ? .rank(Int(entry.rank), page: picture.page) : .newestFirst(picture.work, page: picture.page)
        // `Node.identity(of:in:)` in parts.
        var identity = beginning
        identity.add(picture.work.rawValue)
        identity.add("_p")
        identity.add(picture.page)
        identity.add("_")
        identity.add(picture.uploaded)
        identity.add(Node.mark(of: picture.rendition))
        return InodeNumber.place(InodeNumber.of(identity), in: directory, order: order)
    }
}
