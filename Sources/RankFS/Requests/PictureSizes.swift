import Catalog
import Fuse
import ImageCache
import Rankings
import Synchronization

/// A size in bytes, and whether it is only what a download under way was told.
typealias KnownSize = (bytes: Int64, isAnnounced: Bool)

/// How long pictures are: known, announced, or asked for.
///
/// ## Concurrency
///
/// Any thread may call; each of the two tables has its own lock.
final class PictureSizes: Sendable {
    private let tree: Tree
    private let walks = Mutex(WalkRecognition())
    /// Inodes that were shown with a size that a download under way was told.
    private let announcements = Mutex<[PictureID: Set<UInt64>]>([:])

    init(_ tree: Tree) {
        self.tree = tree
    }

    /// A directory handle is read from for the first time.
    func beganReading(_ directory: Listing, by reader: WalkRecognition.Reader) {
        walks.withLock { $0.beganReading(directory.key, by: reader) }
        if reader == .person { directory.hurry() }
    }

    /// A directory handle that was read from is closed.
    func endedReading(_ directory: ListingKey, by reader: WalkRecognition.Reader) {
        walks.withLock { $0.endedReading(directory, by: reader) }
    }

    /// The size of an entry's picture if somebody here knows it: never waits.
    ///
    /// A withheld picture has no bytes, so its size is 0 and true. A download under way was told a length, so that a reader who
    /// catches up with the preloads asks nobody; until its last byte has come that is hearsay.
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

    /// Has the kernel look again at a size that was only announced, once the download has ended with another one or none.
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

    /// The size of an entry's picture, asked for if need be: alone, or with its whole directory once a walk is recognised.
    ///
    /// - Parameters:
    ///   - listing: The listing.
    ///   - index: The entry.
    ///   - isGlance: Whether who asks only counts or previews, as far as one can tell.
    /// - Returns: The size.
    /// - Throws: What the host says, or who downloads.
    func asked(_ listing: Listing, _ index: Int, isGlance: Bool) async throws(Failure) -> KnownSize {
        if let size = known(listing, index) { return size }
        let (isWalk, asker) = walks.withLock {
            ($0.askedSize(in: listing.key), $0.asker(in: listing.key, isGlance: isGlance))
        }
        // A walk over sizes asks for all pages of the listing.
        let told = await RequestUrgency.$isBackground.withValue(asker != .person) {
            // Typed errors do not pass through.
            do throws(Failure) {
                return Result<Int64, Failure>.success(
                    try await tree.askedSize(listing, index, wholeListing: isWalk))
            } catch { return .failure(error) }
        }
        return (try told.get(), isAnnounced: false)
    }
}
