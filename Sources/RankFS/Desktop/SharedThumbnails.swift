import Catalog
import Fuse
import Rankings
import Synchronization

/// The directory `.sh_thumbnails` in every directory of pictures, and its directory of each size.
///
/// Both are never listed; each file is made at the lookup of its name. Defined in the Thumbnail Managing Standard 0.9, section
/// 10; Tumbler, Ristretto and pqiv use it. It serves every user of the mount.
struct SharedThumbnailsDirectory: TreeDirectory {
    private let owner: any TreeDirectory
    private let size: ThumbnailSize?

    /// - Parameters:
    ///   - owner: The directory of pictures.
    ///   - size: The size of the thumbnails; nil for the directory of all sizes.
    init(of owner: any TreeDirectory, _ size: ThumbnailSize? = nil) {
        self.owner = owner
        self.size = size
    }

    /// Whether a name in a directory of pictures is the name of its shared thumbnails.
    static func isName(_ name: [UInt8]) -> Bool {
        name.elementsEqual(TreePath.sharedThumbnails(.root).name.utf8)
    }

    var path: TreePath {
        size.map { .entry(.sharedThumbnails(owner.path), $0.directory) } ?? .sharedThumbnails(owner.path)
    }

    // The thumbnails of a size are found by name only.
    func names(in tree: Tree) -> [NamedNode]? {
        guard size == nil else { return [] }
        return ThumbnailSize.allCases.map { SharedThumbnailsDirectory(of: owner, $0).named }
    }

    /// Finds a thumbnail; names that no thumbnail has cost nothing.
    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let size else {
            let size = ThumbnailSize.allCases.first { $0.directory.utf8.elementsEqual(name) }
            return size.map { .directory(SharedThumbnailsDirectory(of: owner, $0)) } ?? .absent(TreeLimits.frozen)
        }
        guard let digest = SharedThumbnailNames.digest(in: name) else { return .absent(TreeLimits.frozen) }
        return .unknown { () async throws(Failure) in await thumbnail(digest, size, in: tree) }
    }

    private func thumbnail(_ digest: String, _ size: ThumbnailSize, in tree: Tree) async -> LookupResult {
        // A program that needs a thumbnail has listed the directory: a name guessed without that causes no request.
        guard let key = owner.listing?.rememberedKey(in: tree),
            tree.catalog.listings.loaded(key) != nil || tree.catalog.listings.keys.contains(key),
            let listing = try? await tree.listing(key),
            let (index, address) = tree.sharedNames.withLock({ $0.find(digest, in: listing) })
        else { return .absent(.zero) }
        let picture = listing.entries[index].picture
        // Without the picture's length, which may become known between two lookups.
        let thumbnail = Thumbnail(uri: address, size: size, modified: picture.uploaded, length: nil)
        guard let bytes = await tree.bytes(of: thumbnail, listing, index) else { return .absent(.zero) }
        return .node(
            .file(SharedThumbnail(listing: listing, index: index, thumbnail: thumbnail, length: bytes.count)))
    }

    func lifetime(in tree: Tree) -> Lifetime { (TreeLimits.frozen, TreeLimits.frozen) }
    var longestName: Duration { owner.longestName }
    func refusal(in tree: Tree) -> Failure? { owner.refusal(in: tree) }
    func audience(in tree: Tree) -> Audience { owner.audience(in: tree).ofContents }
}

/// A thumbnail in a directory's shared thumbnails, made for a lookup by name.
struct SharedThumbnail: TreeFile {
    let listing: Listing
    /// The index of its picture in the listing.
    let index: Int
    let thumbnail: Thumbnail
    /// The length of its file, in bytes.
    let length: Int

    var path: TreePath {
        thumbnail.path.split(separator: "/").reduce(.sharedThumbnails(listing.key.path)) { .entry($0, String($1)) }
    }

    func lifetime(in tree: Tree) -> Lifetime { (TreeLimits.frozen, TreeLimits.frozen) }
    func knownSize(in tree: Tree) -> SizeAndTime? { (Int64(length), thumbnail.modified) }

    func opened(in tree: Tree) async throws(Failure) -> OpenedFile {
        guard let bytes = await tree.bytes(of: thumbnail, listing, index) else { throw .absent }
        return .text(bytes, isLive: false)
    }

    func refusal(in tree: Tree) -> Failure? { tree.refusal(of: listing.key) }
    func audience(in tree: Tree) -> Audience { tree.audience(of: listing.key) }
}

extension Tree {
    fileprivate func bytes(of thumbnail: Thumbnail, _ listing: Listing, _ index: Int) async -> [UInt8]? {
        guard let seeder = configuration.thumbnails,
            let job = thumbnailJob(
                listing.entries[index], of: listing.key, in: [listing.key.path.text],
                length: listing.size(at: index))
        else { return nil }
        return await seeder.file(of: thumbnail, job)
    }
}
