import Catalog
import Fuse
import ImageCache
import Rankings
import Synchronization

/// A size in bytes, and whether it was only announced to a download in progress.
typealias KnownSize = (bytes: Int64, isAnnounced: Bool)

/// Attributes in the form sent to the kernel, how long it may keep the name and the attributes, and the picture with a size that is only
/// announced to a download in progress: then the kernel keeps neither.
typealias Shown = (attributes: Attributes, lifetime: Lifetime, announced: PictureID?)

/// The lengths of pictures: known, announced, or requested.
///
/// ## Concurrency
///
/// Any thread may call; one lock guards the announcements.
final class PictureSizes: Sendable {
    private let tree: Tree
    /// The inodes that were shown with a size announced to a download in progress.
    private let announcements = Mutex<[PictureID: Set<UInt64>]>([:])

    init(_ tree: Tree) {
        self.tree = tree
    }

    /// Returns the size of an entry's picture if it is known on this machine; never waits.
    ///
    /// A withheld picture has no bytes, so its size is 0 and true. A download in progress has an announced length, so that a
    /// reader that catches up with the preloads causes no request; the length is unconfirmed until the last byte has come.
    func known(_ listing: Listing, _ index: Int) -> KnownSize? {
        if let size = listing.size(at: index) { return (size, false) }
        let entry = listing.entries[index]
        if entry.isWithheld { return (0, false) }
        switch tree.cache.state(of: entry.picture) {
        case .stored(let length):
            tree.catalog.sizes.set(length, of: entry.picture)
            return (length, false)
        case .downloading(_, let total): return total.map { ($0, true) }
        case .absent, .queued, .failed: return nil
        }
    }

    /// Makes the kernel query an announced size again, once the download has ended with another size or none.
    func watchAnnouncement(_ shown: Shown, _ inode: UInt64) {
        guard let picture = shown.announced else { return }
        let isFirst = announcements.withLock { inodes in
            defer { inodes[picture, default: []].insert(inode) }
            return inodes[picture] == nil
        }
        guard isFirst else { return }
        let size = shown.attributes.size
        Task {
            await tree.cache.announcementEnded(of: picture)
            let inodes = announcements.withLock { $0.removeValue(forKey: picture) ?? [] }
            if case .stored(size) = tree.cache.state(of: picture) { return }
            for inode in inodes { tree.invalidateAttributes(inode) }
        }
    }

    /// Returns the size of an entry's picture, with a request if needed.
    ///
    /// The size is requested alone, or with the whole directory once a walk is recognised.
    ///
    /// - Parameters:
    ///   - listing: The listing.
    ///   - index: The index of the entry.
    ///   - caller: The process that waits for the size.
    ///   - isGlance: Whether the caller only counts or previews, as far as can be determined.
    /// - Returns: The size.
    /// - Throws: The failure reported by the image host or by the download.
    func asked(
        _ listing: Listing, _ index: Int, by caller: Caller, isGlance: Bool
    ) async throws(Failure) -> KnownSize {
        if let size = known(listing, index) { return size }
        let (isWhole, isBackground) = tree.callers.facts { callers, now in
            callers.requestedSize(in: listing.key, by: caller.process, isGlance: isGlance, now: now)
        }
        // A walk over sizes requests all pages of the listing.
        let told = await RequestUrgency.$isBackground.withValue(isBackground) {
            await Result { () async throws(Failure) in
                try await tree.askedSize(listing, index, wholeListing: isWhole)
            }
        }
        // The answer to another request may have had the length meanwhile.
        if case .failure = told, let size = known(listing, index) { return size }
        return (try told.get(), isAnnounced: false)
    }
}
