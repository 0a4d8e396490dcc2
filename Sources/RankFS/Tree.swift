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
    let renderer: any Rendering
    /// Returns the inodes by which the kernel knows a picture, in all listings.
    private let inodes: @Sendable (PictureID) -> [UInt64]
    let callers: CallerRecognition
    /// The files that are found by name.
    let helpers: [HelperFile]
    /// The web pages that works come from, for works with directories that were opened; empty for a work without one.
    let origins = Mutex(RecentTable<WorkID, String>(most: TreeLimits.rememberedOrigins))
    let random = Mutex(RandomChoices())
    let sharedNames = Mutex(SharedThumbnailNames())
    /// The moving pictures that are being encoded, each once for all readers.
    let encoding = Mutex<[PictureID: Task<Result<[UInt8], Failure>, Never>]>([:])
    /// The lengths, in bytes, of the last versions of files that change with each reader.
    let liveLengths = Mutex<[TreePath: Int]>([:])

    init(
        _ configuration: MountConfiguration, source: any RankingSource, catalog: Catalog, cache: ImageCache,
        renderer: any Rendering, helpers: [HelperFile], inodes: @escaping @Sendable (PictureID) -> [UInt64]
    ) {
        self.configuration = configuration
        self.source = source
        self.catalog = catalog
        self.cache = cache
        self.renderer = renderer
        callers = CallerRecognition(configuration.processes, now: configuration.monotonicNow)
        self.helpers = helpers
        self.inodes = inodes
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
        do throws(Failure) {
            return try await catalog.sizes.resolve(in: listing, at: index, wholeListing: wholeListing)
        } catch .sizeNotTold {
            let entry = listing.entries[index]
            let request = PictureRequest(
                id: entry.picture, location: try location(of: entry), size: nil,
                isPrivate: configuration.isPrivate(listing.key), path: { listing.path(of: entry) })
            return try await learnSize(of: request)
        }
    }

    /// Forgets the size of a picture that was read and had another length, so that the next `stat` queries it again, in any listing.
    ///
    /// Only a contradicting length does that: a cut connection or a portal's page says nothing about the length.
    func doubtSize(of picture: OpenPicture, after failure: Failure) {
        guard case .lengthContradicts = failure, !picture.hasDigest else { return }
        catalog.sizes.forget(picture.picture)
        inodes(picture.picture).forEach(invalidateAttributes)
    }

    /// Downloads a picture if no header declares its length, which is the only way to show a true size.
    func learnSize(of request: PictureRequest) async throws(Failure) -> Int64 {
        let size = try await cache.learnSize(of: request)
        catalog.sizes.set(size, of: request.id)
        return size
    }

    /// The stored listings with directories in that of another one.
    func stored(in key: ListingKey) -> [ListingKey] {
        catalog.listings.keys.filter { $0.holder == key && refusal(of: $0) == nil }
    }

    /// Whether the directory of a listing opens without a request: it is stored, or one in it is.
    func opens(_ key: ListingKey) -> Bool { catalog.listings.isStored(key) || !stored(in: key).isEmpty }

    /// Whether an entry of a listing opens without a request: a stored picture, or an author with a stored listing.
    func opens(_ entry: ListingEntry, of listing: Listing) -> Bool {
        if let inner = listing.inner(entry) { return catalog.listings.isStored(inner) }
        if listing.key.listsNames { return catalog.listings.isStored(.author(entry.author.id)) }
        return !entry.isWithheld && cache.storedSize(of: entry.picture) != nil
    }
}

// MARK: - Lifetimes and audiences

/// How long the kernel may keep a name and its attributes.
typealias Lifetime = (entry: Duration, attributes: Duration)

extension Audience {
    /// The audience of the contents of a directory: a session adds only the name of the directory.
    var ofContents: Audience { self == .everybody ? .everybody : .owner }
}

extension Tree {
    /// Whether a caller may see the owner's nodes and give commands.
    func isOwner(_ caller: Caller) -> Bool {
        !configuration.keepsOwners || caller.user == configuration.user || caller.user == 0
    }

    /// The reason why a listing must not be shown now.
    func refusal(of key: ListingKey) -> Failure? {
        if let mode = key.mode { return refusal(of: mode) }
        guard let owner = key.owner else { return nil }
        // Public bookmarks stand below `users/` for every account; of the others the kernel looks the path up again.
        let isOthers = key.kind != .bookmarks && owner != source.signIn.user
        return refusalOfSession ?? (isOthers ? .forgottenInode : nil)
    }

    /// The reason why a picture must not be opened that the kernel knows from a listing of an account; nil if there is none.
    ///
    /// The listing for the present viewer decides. Where that one does not tell, the kernel looks the name up again.
    func refusal(of picture: PictureID, in listing: Listing) -> Failure? {
        let viewer: UserID? = if case .user(let user) = listing.audience { user } else { listing.key.owner }
        guard let viewer, source.signIn.user != viewer else { return nil }
        guard let present = catalog.listings.loaded(listing.key) else {
            // Without a request nothing tells what everybody sees, and the directory shows what is stored.
            return configuration.isOffline && listing.key.owner == nil ? nil : .forgottenInode
        }
        guard let index = present.index(of: picture) else { return present.isComplete ? .needsSignIn : .forgottenInode }
        return present.entry(at: index)?.isWithheld == true ? .needsSignIn : nil
    }

    /// The users that can see the entries of a listing.
    func audience(of key: ListingKey) -> Audience {
        (key.mode.map(audience) ?? key.kind.facts.audience).ofContents
    }

    /// The users that can see the name of a ranking.
    func audience(of mode: RankingMode) -> Audience {
        source.description.needsSignIn(mode) ? .session : .everybody
    }

    /// The reason why the nodes of a session must not be shown now.
    var refusalOfSession: Failure? {
        source.signIn == .signedOut ? .needsSignIn : nil
    }

    // MARK: - Present state of rankings

    /// The listed modes: those of all contents, and the limited ones with a stored day.
    var listedModes: [RankingMode] {
        let limited = Set(
            catalog.listings.keys.compactMap { key -> RankingMode? in
                guard let mode = key.mode, source.description.whole(of: mode) != mode, isAllowed(mode) else {
                    return nil
                }
                return mode
            })
        return (source.modes + limited.sorted { $0.rawValue < $1.rawValue }).filter(catalog.listings.view.shows)
    }

    /// The reason why a ranking must not be shown now.
    func refusal(of mode: RankingMode) -> Failure? { isAllowed(mode) ? nil : .modeNeedsSignIn }

    /// Whether the present sign-in state allows a ranking.
    private func isAllowed(_ mode: RankingMode) -> Bool {
        !source.description.needsSignIn(mode) || source.has(mode)
    }

    /// How long the kernel may keep a name that exists while a ranking is shown.
    func longest(of mode: RankingMode) -> Duration {
        source.description.needsSignIn(mode) ? .zero : TreeLimits.frozen
    }

    /// The time at which a day's ranking appears, in Unix seconds.
    func publication(of day: Day, in mode: RankingMode) -> Int64 {
        source.description.days(of: mode).published(day)
    }

    /// The time at which the newest day of all appeared, in Unix seconds.
    var newestPublication: Int64 {
        let days = source.description.days
        return days.published(days.newest(at: configuration.now()))
    }

    /// Returns a mode's newest day known in memory, or with the option `offline` the newest stored day.
    ///
    /// Makes no request.
    func rememberedNewest(of mode: RankingMode) -> RememberedDay? {
        guard configuration.isOffline else { return catalog.days.rememberedNewest(of: mode) }
        return catalog.days.stored(of: mode).last.map { RememberedDay(day: $0, isCurrent: true) }
    }

    /// Whether `latest` is known to show a listing.
    func isInLatest(_ key: ListingKey) -> Bool {
        guard let (mode, day) = key.ranking else { return false }
        return rememberedNewest(of: mode)?.day == day
    }
}
