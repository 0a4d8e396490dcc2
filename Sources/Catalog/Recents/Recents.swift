package import Rankings
internal import Synchronization

/// A work with a recently read picture, and its author; nil if no listing contains it.
package typealias SeenWork = (work: WorkID, author: UserID?)

/// The pictures that were read last, and their works.
///
/// ## Concurrency
///
/// Any thread may call. Methods that are not `async` never wait.
package final class Recents: Sendable {
    private let context: CatalogContext
    private let listings: Listings
    private let records: Records
    private let recent: Mutex<[RecentPicture]>
    /// The known works of recent pictures, by path, and the viewer who may see them.
    private let seen = Mutex<(works: [String: SeenWork], viewer: SignIn?)>(([:], nil))

    /// - Parameters:
    ///   - context: The shared parts of the catalog.
    ///   - pictures: The stored pictures, newest first.
    ///   - listings: The listings in which works of pictures are found.
    ///   - records: The records in which authors are found.
    init(_ context: CatalogContext, _ pictures: [RecentPicture], listings: Listings, records: Records) {
        self.context = context
        self.listings = listings
        self.records = records
        recent = Mutex([RecentPicture](stored: pictures))
    }

    /// The pictures that were read last, newest first.
    package var pictures: [RecentPicture] { recent.withLock { $0 } }

    /// Records that a picture was read, at its path.
    package func note(_ path: String, _ picture: PictureID? = nil) {
        let picture = RecentPicture(path: path, opened: context.now, of: picture.map { ($0.work, $0.page) })
        recent.withLock { $0.note(picture) }
        context.outbox.add([.recent(picture)], canWait: true)
    }

    /// Records that a picture was read once more, if it is among the recent ones.
    package func noteAgain(_ path: String, _ picture: PictureID? = nil) {
        guard pictures.contains(where: { $0.path == path }) else { return }
        note(path, picture)
    }

    /// The places of recent pictures, newest first, as far as stored listings contain them; sends no request to the service.
    package func places() async -> [(picture: RecentPicture, listing: Listing, index: Int)] {
        var found: [(picture: RecentPicture, listing: Listing, index: Int)] = []
        for picture in pictures {
            guard let (listing, index) = await place(of: picture) else { continue }
            // Under another name since, it may have been read under both.
            if !found.contains(where: { $0.listing === listing && $0.index == index }) {
                found.append((picture, listing, index))
            }
        }
        return found
    }

    /// The place of a recent picture, by its name among the recent ones; nil if no stored listing contains it.
    package func place(named name: [UInt8]) async -> (listing: Listing, index: Int)? {
        guard let picture = pictures.first(where: { $0.name.utf8.elementsEqual(name) }) else { return nil }
        return await place(of: picture)
    }

    private func place(of picture: RecentPicture) async -> (listing: Listing, index: Int)? {
        guard case .entry(let directory, let name) = TreePath(picture.path),
            let key = ListingKey(of: directory, user: context.source.signIn.user),
            let listing = await listings.stored(key)
        else { return nil }
        // Its author renamed it, or it has another rank: a listing that was requested anew names it so.
        let index =
            listing.index(named: Array(name.utf8)) ?? picture.work.flatMap { listing.index(of: $0, page: picture.page) }
        return index.map { (listing, $0) }
    }

    /// The works of the recent pictures, in that order; at most as many as there are remembered pictures.
    ///
    /// From memory and the database; sends no request to the service. Works that are no longer in a stored listing are missing.
    package func seenWorks() async -> [SeenWork] {
        let viewer = context.source.signIn
        let (pictures, remembered) = (pictures, seen.withLock { $0.viewer == viewer ? $0.works : [:] })
        var seen: [String: SeenWork] = [:]
        for picture in pictures {
            let path = picture.path
            if let found = remembered[path] {
                seen[path] = found
            } else if let (listing, index) = await place(of: picture), let entry = listing.entry(at: index) {
                let work = entry.picture.work
                seen[path] = (work, await records.listedWork(work)?.author)
            }
        }
        self.seen.withLock { [seen] in $0 = (seen, viewer) }
        return pictures.compactMap { seen[$0.path] }
    }
}
