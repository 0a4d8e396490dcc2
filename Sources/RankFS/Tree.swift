import Catalog
import Dispatch
import Fuse
import ImageCache
import Rankings
import Render
import Synchronization

/// The state of one mount without inodes, handles and replies; directories, files and links take it as a parameter.
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
    let callers: CallerRecognition
    /// The files that are found by name.
    let helpers: [HelperFile]
    /// The web pages that works come from, for works with directories that were opened; empty for a work without one.
    let origins = Mutex(RecentTable<WorkID, String>(most: TreeLimits.rememberedOrigins))
    let random = Mutex(RandomChoices())
    let sharedNames = Mutex(SharedThumbnailNames())
    /// The lengths, in bytes, of the last versions of files that change with each reader.
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
        callers = CallerRecognition(configuration.processes, now: configuration.monotonicNow)
        helpers = HelperFile.all(configuration)
    }

    /// Finds the node of a name in a directory.
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

    /// Makes the kernel request the attributes of an inode again.
    func invalidateAttributes(_ inode: UInt64) {
        // Not on this thread: the kernel may hold locks of the inode until the request is answered.
        let invalidate = configuration.invalidateAttributes
        DispatchQueue.global().async { invalidate(inode) }
    }

    /// The location of an entry's picture, if its record contains it.
    func knownLocation(of entry: ListingEntry) -> PictureLocation? {
        source.location(
            of: entry.picture.work, picture: entry.reference, page: entry.picture.page,
            rendition: entry.picture.rendition)
    }

    /// The location of an entry's picture.
    func location(of entry: ListingEntry) throws(Failure) -> PictureLocation {
        guard let location = knownLocation(of: entry) else { throw .unlocated }
        return location
    }

    /// Determines the size of an entry's picture with a request, or with a download if no header declares it.
    ///
    /// - Parameters:
    ///   - listing: The listing.
    ///   - index: The index of the entry.
    ///   - wholeListing: Whether the sizes of all entries are likely to be needed.
    /// - Returns: The size in bytes.
    /// - Throws: The failure reported by the image host or by the download.
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

    /// Forgets the size of a picture that was read and had another length, so that the next `stat` queries it again.
    ///
    /// Only a contradicting length does that: a cut connection or a portal's page says nothing about the length.
    func doubtSize(of picture: OpenPicture, after failure: Failure) {
        if case .picture(.lengthContradicts) = failure, !picture.hasDigest { catalog.sizes.forget(picture.picture) }
    }

    /// Downloads a picture if no header declares its length, which is the only way to show a true size.
    func learnSize(of request: PictureRequest) async throws(Failure) -> Int64 {
        do throws(ImageCacheError) {
            let size = try await cache.learnSize(of: request)
            catalog.sizes.set(size, of: request.id)
            return size
        } catch { throw .picture(error) }
    }
}

// MARK: - The option offline

/// With the option `offline`, directories list only entries that open, since no others can be fetched before the next mount.
///
/// Names that are not listed are still found: their known attributes are reported, and opening them gives the reason of the
/// failure.
extension Tree {
    /// Returns the given names that open without a request.
    func opening(_ names: [NamedNode]) async -> [NamedNode] {
        var opening: [NamedNode] = []
        for entry in names where await entry.node.opens(in: self) { opening.append(entry) }
        return opening
    }

    /// Whether an entry of a listing opens without a request: a stored picture, or an author with a stored listing.
    func opens(_ entry: ListingEntry, of listing: Listing) -> Bool {
        if listing.key.listsAuthors { return catalog.listings.isStored(.author(entry.author.id)) }
        return !entry.isWithheld && cache.storedSize(of: entry.picture) != nil
    }
}

// MARK: - The owner and others

/// On a mount that other users can access, the owner's nodes are closed to them.
///
/// The owner is the user to which the files belong; root has the same rights. The kernel keeps names and attributes for all users
/// alike. The mode bits (`default_permissions`) make it stop other users on the way to anything below; requests that still reach
/// the file system are checked again by the user of the caller (fuse_req_ctx(3)).
extension Tree {
    /// The reason why a node must not be shown to a caller; nil if there is none.
    func refusal(of node: Node, to caller: Caller) -> Failure? {
        node.refusal(in: self) ?? (isKept(node) && !isOwner(caller) ? .ownersOnly : nil)
    }

    /// Whether a caller may see the owner's nodes and give commands.
    func isOwner(_ caller: Caller) -> Bool {
        !configuration.keepsOwners || caller.user == configuration.user || caller.user == 0
    }

    /// Whether a node is only for the owner and root.
    func isKept(_ node: Node) -> Bool {
        configuration.keepsOwners && node.audience(in: self) != .everybody
    }

    /// Returns the attributes shown to all users: a node closed to other users has no permissions for them.
    func narrowed(_ attributes: Attributes, of node: Node) -> Attributes {
        guard isKept(node), attributes.kind != .link else { return attributes }
        var attributes = attributes
        attributes.permissions &= 0o700
        return attributes
    }

    /// Returns the names of a directory that are listed for a caller.
    ///
    /// A lookup by name finds the others for every user: the kernel would take a refusal for the end of the name, also where the
    /// owner works in it.
    func shown(_ names: [NamedNode], to caller: Caller) -> [NamedNode] {
        isOwner(caller) ? names : names.filter { $0.node.audience(in: self) != .session }
    }
}
