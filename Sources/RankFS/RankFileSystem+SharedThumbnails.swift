import Catalog
import Fuse
import Rankings
import Synchronization
import Thumbnails

/// `.sh_thumbnails` in every directory of pictures: never listed, each file made when it is looked up by its name.
///
/// Thumbnail Managing Standard 0.9, section 10; Tumbler, Ristretto and pqiv look there. It is for every user of the mount.
extension RankFileSystem {
    /// What a name in a shared store is; costs nothing for names that no thumbnail has.
    func findSharedThumbnail(_ name: [UInt8], _ directory: PictureDirectory, _ size: ThumbnailSize?) -> LookupResult {
        guard let size else {
            let size = ThumbnailSize.allCases.first { $0.directory.utf8.elementsEqual(name) }
            return size.map { .node(.sharedThumbnails(directory, $0)) } ?? .absent(TreeLimits.frozen)
        }
        guard let digest = SharedAddress.digest(in: name) else { return .absent(TreeLimits.frozen) }
        return .unknown { () async throws(Failure) in await self.sharedThumbnail(digest, directory, size) }
    }

    /// Opens a thumbnail of which a look told the length.
    func open(_ file: SharedThumbnail, _ reply: OpenReply) {
        later(reply, subject: { file.path }) { () async throws(Failure) in
            guard let bytes = await self.bytes(of: file.thumbnail, file.listing, file.index) else {
                throw .noSuchName
            }
            reply.opened(
                handle: self.handles.insert(.text(bytes)), keepCache: true, directIO: false, cacheDirectory: false)
        }
    }

    private func sharedThumbnail(
        _ digest: String, _ directory: PictureDirectory, _ size: ThumbnailSize
    ) async -> LookupResult {
        // Whoever wants a thumbnail has listed the directory: a name guessed elsewhere asks nobody.
        guard let key = rememberedListing(of: directory),
            catalog.listings.loaded(key) != nil || catalog.listings.keys.contains(key),
            let listing = try? await listing(key),
            let (index, address) = sharedNames.withLock({ $0.find(digest, in: listing) })
        else { return .absent(.zero) }
        let picture = listing.entries[index].picture
        // Without the picture's length, which may become known between two looks.
        let thumbnail = Thumbnail(uri: address, size: size, modified: picture.uploaded, length: nil)
        guard let bytes = await bytes(of: thumbnail, listing, index) else { return .absent(.zero) }
        return .node(.sharedThumbnail(SharedThumbnail(listing, index, thumbnail, length: bytes.count)))
    }

    private func bytes(of thumbnail: Thumbnail, _ listing: Listing, _ index: Int) async -> [UInt8]? {
        let entry = listing.entries[index]
        guard let seeder = configuration.thumbnails,
            let job = thumbnailJob(
                entry, of: listing.key, in: [listing.key.path.text], length: listing.size(at: index))
        else { return nil }
        return await seeder.file(of: thumbnail, job)
    }
}
