import Catalog
import Rankings
import Thumbnails

/// What an inode stands for: small, because the kernel may know a hundred thousand of them.
///
/// A picture is its listing and its place there; names, sizes and times are looked up when they are asked for.
enum Node: Sendable {
    case root
    case rankings
    case mode(RankingMode)
    case day(RankingMode, Day)
    /// The directory of a mode's newest day by another name, whichever day that is when it is looked into.
    case latest(RankingMode)
    case dates(DateFolder)
    case users
    /// An author, with the time its listing last changed if that is known.
    case author(UserID, modified: Int64?)
    case bookmarks(UserID)
    case following
    case works
    case work(WorkID)
    case searches
    case search(String)
    case recent
    case helpers
    case helper(HelperFile)
    case link(Link)
    case made(MadeFile)
    case picture(Listing, Int32)
    /// `.sh_thumbnails` beside the pictures of a listing, and its directory of a size.
    case sharedThumbnails(PictureDirectory, ThumbnailSize?)
    case sharedThumbnail(SharedThumbnail)
}

extension Node {
    /// What makes this node the same one in every mount; inode numbers follow from it.
    var identity: String {
        switch self {
        case .link(.random(let target?)): "\(Link.randomName) \(target)"
        case .picture(let listing, let index):
            Self.identity(of: listing.entries[Int(index)].picture, in: listing.key)
        default: path
        }
    }

    /// The identity of a picture in a listing: its work and page, so that neither rank nor title matter, and its upload.
    ///
    /// A new upload is another inode, so the bytes of an inode never change: its cached pages stay right, and whoever has
    /// the old picture open shares none with the readers of the new one.
    static func identity(of picture: PictureID, in key: ListingKey) -> String {
        "\(key.path.text)/\(picture.work.rawValue)_p\(picture.page)_\(picture.uploaded)\(mark(of: picture.rendition))"
    }

    /// What tells the identity of a rendition from that of others of the same picture.
    static func mark(of rendition: Rendition) -> String {
        switch rendition {
        case .archive: "_archive"
        // A rendition may have stood in for it before, under the same name and with other bytes.
        case .original: "_original"
        case .small, .regular, .webp, .matroska, .avatar, .normalThumbnail, .largeThumbnail: ""
        }
    }

    /// The inode number, unless another identity has it already.
    var inodeNumber: UInt64 {
        switch self {
        case .day(let mode, let day):
            InodeNumber.of(identity, in: Node.mode(mode).identity, order: .day(day))
        case .link(.dated(_, let day)):
            InodeNumber.of(identity, in: parent.identity, order: .day(day))
        case .picture(let listing, let index):
            PictureNumbers(listing.key).number(of: listing.entries[Int(index)])
        default: InodeNumber.of(identity)
        }
    }

    /// Whether both have the same identity; for the usual case, the same picture of the same listing, no identity is made.
    func isSame(as other: Node) -> Bool {
        if case .picture(let listing, let index) = self, case .picture(let otherListing, let otherIndex) = other,
            listing === otherListing
        {
            return index == otherIndex
        }
        return identity == other.identity
    }

    /// The path below the mount point.
    var path: String { treePath.text }

    /// The same in parts.
    var treePath: TreePath {
        switch self {
        case .root: .root
        case .rankings: .rankings
        case .mode(let mode): .mode(mode)
        case .day(let mode, let day): .day(mode, day)
        case .latest(let mode): .latest(mode)
        case .dates(let folder): .dates(folder)
        case .users: .users
        case .author(let author, _): .author(author)
        case .bookmarks(let user): .bookmarks(user)
        case .following: .following
        case .works: .works
        case .work(let work): .work(work)
        case .searches: .searches
        case .search(let words): .search(words)
        case .recent: .recent
        case .helpers: .helpers
        case .helper(let file): file.treePath
        case .link(let link): link.treePath
        case .made(let file): file.treePath
        case .picture(let listing, let index): .entry(listing.key.path, listing.entries[Int(index)].name)
        case .sharedThumbnails(let directory, let size):
            directory.sharedThumbnails(size)
        case .sharedThumbnail(let file): file.treePath
        }
    }

    /// The directory that holds this node; the root holds itself.
    var parent: Node {
        switch self {
        case .root, .rankings, .users, .following, .works, .searches, .recent, .helpers: .root
        case .mode: .rankings
        case .day(let mode, _), .latest(let mode): .mode(mode)
        case .dates(let folder): folder.parent.map { .dates($0) } ?? .root
        case .author: .users
        case .bookmarks(let user): .author(user, modified: nil)
        case .work: .works
        case .search: .searches
        case .helper(let file): file.isBelowHelpers ? .helpers : .root
        case .link(let link): link.parent
        case .made(let file): file.parent
        case .picture(let listing, _): .directory(of: listing)
        case .sharedThumbnails(.listing(let key), nil): .directory(of: key)
        case .sharedThumbnails(.latest(let mode), nil): .latest(mode)
        case .sharedThumbnails(let directory, _): .sharedThumbnails(directory, nil)
        case .sharedThumbnail(let file): .sharedThumbnails(.listing(file.listing.key), file.thumbnail.size)
        }
    }

    /// The path of the directory that holds this node; nil for the root.
    var parentPath: String? {
        if case .root = self { nil } else { parent.path }
    }

    /// The directory that shows a listing.
    static func directory(of listing: Listing) -> Node {
        if case .author(let author) = listing.key { return .author(author, modified: listing.modified) }
        return directory(of: listing.key)
    }

    /// The directory that shows the listing of a key.
    static func directory(of key: ListingKey) -> Node {
        switch key {
        case .ranking(let mode, let day): .day(mode, day)
        case .author(let author): .author(author, modified: nil)
        case .work(let work): .work(work)
        case .search(let words): .search(words)
        case .bookmarks(let user): .bookmarks(user)
        case .following: .following
        }
    }

    /// The directory that shows pictures and that this is, if it is one.
    var pictureDirectory: PictureDirectory? {
        if case .latest(let mode) = self { .latest(mode) } else { listingKey.map { .listing($0) } }
    }

    /// The listing that this directory shows, if it always shows the same one.
    var listingKey: ListingKey? {
        switch self {
        case .day(let mode, let day): .ranking(mode, day)
        case .author(let author, _): .author(author)
        case .bookmarks(let user): .bookmarks(user)
        case .work(let work): .work(work)
        case .search(let words): .search(words)
        default: nil
        }
    }
}

/// A directory of pictures.
enum PictureDirectory: Hashable, Sendable {
    /// It shows this listing.
    case listing(ListingKey)
    /// It shows the newest day of a ranking.
    case latest(RankingMode)

    var treePath: TreePath {
        switch self {
        case .listing(let key): key.path
        case .latest(let mode): .latest(mode)
        }
    }

    func sharedThumbnails(_ size: ThumbnailSize?) -> TreePath {
        size.map { .entry(.sharedThumbnails(treePath), $0.directory) } ?? .sharedThumbnails(treePath)
    }
}

extension Listing {
    /// What an entry of this listing stands for.
    func node(at index: Int, _ entry: ListingEntry) -> Node {
        key.listsAuthors ? .link(.followed(entry.author)) : .picture(self, Int32(clamping: index))
    }
}
