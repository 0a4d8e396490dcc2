import Catalog
import Dispatch
import Fuse
import ImageCache
import Rankings
import Render
import Synchronization

/// What directories, files and links are asked with: the state of one mount, without inodes, handles and replies.
///
/// ## Concurrency
///
/// Any thread may call; each table has its own lock, and none is held while another one is taken.
final class Tree: Sendable {
    let configuration: MountConfiguration
    let source: any RankingSource
    let catalog: Catalog
    let cache: ImageCache
    let animations: AnimationFiles
    let desktops: Desktops
    /// Files that are found by name.
    let helpers: [HelperFile]
    let origins = Origins()
    let random = Mutex(RandomChoices())
    let sharedNames = Mutex(SharedThumbnailNames())
    /// How long files that change with each reader were when they were made last.
    let liveLengths = Mutex<[TreePath: Int]>([:])

    init(
        _ configuration: MountConfiguration, source: any RankingSource, catalog: Catalog, cache: ImageCache,
        renderer: any Rendering
    ) {
        self.configuration = configuration
        self.source = source
        self.catalog = catalog
        self.cache = cache
        animations = AnimationFiles(renderer)
        desktops = Desktops(configuration.processes, now: configuration.monotonicNow)
        helpers = HelperFile.all(configuration)
    }

    /// What a name in a directory stands for.
    func find(_ name: [UInt8], in directory: any TreeDirectory, _ caller: Caller) -> LookupResult {
        if ProbedNames.isAnnouncement(name) { return .absent(.zero) }
        if let failure = refusal(of: .directory(directory), to: caller) { return .refused(failure) }
        if configuration.thumbnails != nil, directory.listing?.showsPictures == true,
            SharedThumbnailsDirectory.isName(name)
        {
            return .directory(SharedThumbnailsDirectory(of: directory))
        }
        return directory.find(name, in: self, for: caller)
    }

    /// Lets the kernel ask for the attributes of an inode again.
    func invalidateAttributes(_ inode: UInt64) {
        // Not on this thread: the kernel may hold locks of the inode until the request is answered.
        let invalidate = configuration.invalidateAttributes
        DispatchQueue.global().async { invalidate(inode) }
    }

    /// Where an entry's picture is if its record tells.
    func knownLocation(of entry: ListingEntry) -> PictureLocation? {
        source.location(
            of: entry.picture.work, picture: entry.reference, page: entry.picture.page,
            rendition: entry.picture.rendition)
    }

    /// Where an entry's picture is.
    func location(of entry: ListingEntry) throws(Failure) -> PictureLocation {
        guard let location = knownLocation(of: entry) else { throw .unlocated }
        return location
    }

    /// The size of an entry's picture, asked for; downloaded where no header tells it.
    ///
    /// - Parameters:
    ///   - listing: The listing.
    ///   - index: The entry.
    ///   - wholeListing: Whether those of all entries are likely to be wanted.
    /// - Returns: Bytes.
    /// - Throws: What the host says, or who downloads.
    func askedSize(_ listing: Listing, _ index: Int, wholeListing: Bool) async throws(Failure) -> Int64 {
        do throws(CatalogError) {
            return try await listing.resolveSize(at: index, wholeListing: wholeListing)
        } catch .sizeNotTold {
            let entry = listing.entries[index]
            let request = PictureRequest(
                id: entry.picture, location: try location(of: entry), size: nil,
                isPrivate: configuration.isPrivate(listing.key), path: { listing.path(of: entry) })
            return try await learnSize(of: request)
        } catch { throw .catalog(error) }
    }

    /// Doubts the size of whatever was read and turned out to have another, so that the next `stat` asks again.
    ///
    /// Only another length does that: a cut or a portal's page says nothing of it.
    func doubtSize(of picture: OpenPicture, after failure: Failure) {
        if case .picture(.lengthContradicts) = failure, !picture.hasDigest { catalog.sizes.forget(picture.picture) }
    }

    /// Downloads a picture whose length no header tells, which is the only way to show a true size.
    func learnSize(of request: PictureRequest) async throws(Failure) -> Int64 {
        do throws(ImageCacheError) {
            let size = try await cache.learnSize(of: request)
            catalog.sizes.set(size, of: request.id)
            return size
        } catch { throw .picture(error) }
    }
}

// MARK: - The option offline

/// With the option `offline` directories list what opens, since nothing else can be had before the next mount.
///
/// Names that are not listed are found as ever: what is known of them is told, and opening them says why it fails.
extension Tree {
    /// Those of some names that open without a request.
    func opening(_ names: [NamedNode]) async -> [NamedNode] {
        var opening: [NamedNode] = []
        for entry in names where await entry.node.opens(in: self) { opening.append(entry) }
        return opening
    }

    /// Whether an entry of a listing opens without a request: a picture that is stored, an author whose works are.
    func opens(_ entry: ListingEntry, of listing: Listing) -> Bool {
        if listing.key.listsAuthors { return catalog.listings.isStored(.author(entry.author.id)) }
        return !entry.isWithheld && cache.storedSize(of: entry.picture) != nil
    }
}

// MARK: - The owner and others

/// On a mount that others look into, what is the owner's stays the owner's.
///
/// The owner is whom the files belong to; root may do what the owner may. The kernel, which keeps names and attributes for
/// everybody alike, is told by the mode bits (`default_permissions`), and so stops others on the way to whatever lies below;
/// what reaches the file system is looked at again by the caller's user (fuse_req_ctx(3)).
extension Tree {
    /// Why a node must not be shown to a caller.
    func refusal(of node: Node, to caller: Caller) -> Failure? {
        node.refusal(in: self) ?? (isKept(node) && !isOwner(caller) ? .ownersOnly : nil)
    }

    /// Whether a caller may see the owner's things and give commands.
    func isOwner(_ caller: Caller) -> Bool {
        !configuration.keepsOwners || caller.user == configuration.user || caller.user == 0
    }

    /// Whether a node is for the owner and root alone.
    func isKept(_ node: Node) -> Bool {
        configuration.keepsOwners && node.audience(in: self) != .everybody
    }

    /// The attributes that everybody gets to see: what is kept from others has no permissions for them.
    func narrowed(_ attributes: Attributes, of node: Node) -> Attributes {
        guard isKept(node), attributes.kind != .link else { return attributes }
        var attributes = attributes
        attributes.permissions &= 0o700
        return attributes
    }

    /// The names of a directory that a caller is shown.
    ///
    /// Looked up by name they answer to everybody: the kernel would take a refusal for the end of the name, also where the
    /// owner works in it.
    func shown(_ names: [NamedNode], to caller: Caller) -> [NamedNode] {
        isOwner(caller) ? names : names.filter { $0.node.audience(in: self) != .session }
    }
}
