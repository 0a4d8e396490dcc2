package import Rankings
internal import Synchronization

/// A work of which a picture was read lately.
package struct SeenWork: Hashable, Sendable {
    package var work: WorkID
    /// Nil if no listing told.
    package var author: UserID?
}

/// What was read last: the pictures, and the works that they are of.
///
/// ## Concurrency
///
/// Any thread may call. What does not say `async` never waits.
package final class Recents: Sendable {
    private struct State {
        var recent: RecentPictures
        /// The works of recent pictures, by path; those that were asked for.
        var seen: [String: SeenWork] = [:]
    }

    private let context: CatalogContext
    private let listings: Listings
    private let records: Records
    private let state: Mutex<State>

    /// - Parameters:
    ///   - context: What the catalog's parts share.
    ///   - pictures: What is stored, newest first.
    ///   - listings: Where works of pictures are found.
    ///   - records: Where their authors are.
    init(_ context: CatalogContext, _ pictures: [RecentPicture], listings: Listings, records: Records) {
        self.context = context
        self.listings = listings
        self.records = records
        state = Mutex(State(recent: RecentPictures(pictures)))
    }

    /// What was read last, newest first.
    package var pictures: [RecentPicture] {
        state.withLock { $0.recent.pictures }
    }

    /// Notes that a picture was read.
    package func note(_ path: String) {
        let picture = RecentPicture(path: path, opened: context.now)
        state.withLock { $0.recent.note(picture) }
        context.outbox.add([.recent(picture)], canWait: true)
    }

    /// Notes that a picture was read once more, if it is among those that were.
    package func noteAgain(_ path: String) {
        guard state.withLock({ $0.recent.pictures.contains { $0.path == path } }) else { return }
        note(path)
    }

    /// Where the pictures that were read last are, newest first, as far as stored listings have them; asks the service nothing.
    package func places() async -> [(picture: RecentPicture, listing: Listing, index: Int)] {
        var found: [(picture: RecentPicture, listing: Listing, index: Int)] = []
        for picture in pictures {
            if let (listing, index) = await place(of: picture.path) { found.append((picture, listing, index)) }
        }
        return found
    }

    /// Where a picture is that was read, by its name among them; nil if no stored listing has it.
    package func place(named name: [UInt8]) async -> (listing: Listing, index: Int)? {
        guard let picture = pictures.first(where: { $0.name.utf8.elementsEqual(name) }) else { return nil }
        return await place(of: picture.path)
    }

    private func place(of path: String) async -> (listing: Listing, index: Int)? {
        guard case .entry(let directory, let name) = TreePath(path), let key = ListingKey(of: directory),
            let listing = await listings.stored(key), let index = listing.index(named: Array(name.utf8))
        else { return nil }
        return (listing, index)
    }

    /// The works of the pictures that were read last, in that order: as many as are remembered of those at most.
    ///
    /// From memory and the database; asks the service nothing. What is in no stored listing any more is missing.
    package func seenWorks() async -> [SeenWork] {
        let (paths, remembered) = state.withLock { ($0.recent.pictures.map(\.path), $0.seen) }
        var seen: [String: SeenWork] = [:]
        for path in paths {
            if let found = remembered[path] {
                seen[path] = found
            } else if let (listing, index) = await place(of: path), let entry = listing.entry(at: index) {
                let work = entry.picture.work
                seen[path] = SeenWork(work: work, author: await records.listedWork(work)?.author)
            }
        }
        state.withLock { [seen] in $0.seen = seen }
        return paths.compactMap { seen[$0] }
    }
}
