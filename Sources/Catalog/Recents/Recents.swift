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

    /// Records that a picture was read.
    package func note(_ path: String) {
        let picture = RecentPicture(path: path, opened: context.now)
        recent.withLock { $0.note(picture) }
        context.outbox.add([.recent(picture)], canWait: true)
    }

    /// Records that a picture was read once more, if it is among the recent ones.
    package func noteAgain(_ path: String) {
        guard pictures.contains(where: { $0.path == path }) else { return }
        note(path)
    }

    /// The places of recent pictures, newest first, as far as stored listings contain them; sends no request to the service.
    package func places() async -> [(picture: RecentPicture, listing: Listing, index: Int)] {
        var found: [(picture: RecentPicture, listing: Listing, index: Int)] = []
        for picture in pictures {
            if let (listing, index) = await place(of: picture.path) { found.append((picture, listing, index)) }
        }
        return found
    }

    /// The place of a recent picture, by its name among the recent ones; nil if no stored listing contains it.
    package func place(named name: [UInt8]) async -> (listing: Listing, index: Int)? {
        guard let picture = pictures.first(where: { $0.name.utf8.elementsEqual(name) }) else { return nil }
        return await place(of: picture.path)
    }

    private func place(of path: String) async -> (listing: Listing, index: Int)? {
        guard case .entry(let directory, let name) = TreePath(path),
            let key = ListingKey(of: directory, user: context.source.signIn.user),
            let listing = await listings.stored(key), let index = listing.index(named: Array(name.utf8))
        else { return nil }
        return (listing, index)
    }

    /// The works of the recent pictures, in that order; at most as many as there are remembered pictures.
    ///
    /// From memory and the database; sends no request to the service. Works that are no longer in a stored listing are missing.
    package func seenWorks() async -> [SeenWork] {
        let viewer = context.source.signIn
        let (paths, remembered) = (pictures.map(\.path), seen.withLock { $0.viewer == viewer ? $0.works : [:] })
        var seen: [String: SeenWork] = [:]
        for path in paths {
            if let found = remembered[path] {
                seen[path] = found
            } else if let (listing, index) = await place(of: path), let entry = listing.entry(at: index) {
                let work = entry.picture.work
                seen[path] = (work, await records.listedWork(work)?.author)
            }
        }
        self.seen.withLock { [seen] in $0 = (seen, viewer) }
        return paths.compactMap { seen[$0] }
    }
}
