package import Rankings
import SQLite
internal import Synchronization

/// What was read last, what was listed, and what is to be forgotten.
extension Catalog {
    /// Notes that a picture was read.
    package func noteRecent(_ path: String) {
        let picture = RecentPicture(path: path, opened: now)
        known.withLock { $0.recent.note(picture) }
        outbox.add([.recent(picture)], canWait: true)
    }

    /// Notes that a picture was read once more, if it is among those that were.
    package func noteAgain(_ path: String) {
        guard known.withLock({ $0.recent.pictures.contains { $0.path == path } }) else { return }
        noteRecent(path)
    }

    /// What was read last, newest first.
    ///
    /// Never waits.
    package var recentPictures: [RecentPicture] {
        known.withLock { $0.recent.pictures }
    }

    /// The listings that are stored or loaded, of any kind.
    ///
    /// Never waits.
    package var storedListings: Set<ListingKey> {
        // Rows of what was just listed are still on their way to the database.
        known.withLock { $0.stored }.union(loaded.all.map(\.key))
    }

    /// Where a picture is listed, in a directory that is stored: asks the service nothing.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - accepts: Whether a place will do; called without a lock.
    /// - Returns: Nil if no stored directory lists it at a place that will do.
    package func place(
        of picture: PictureID, where accepts: @Sendable (Listing, Int) -> Bool
    ) async -> (listing: Listing, index: Int)? {
        await outbox.flush()
        let variant = StoredVariant(view)
        let keys = try? await store.read { connection throws(DatabaseError) in
            try Rows.places(of: picture.work, variant, in: connection)
        }
        for key in keys ?? [] {
            guard let listing = await storedListing(key) else { continue }
            guard let index = listing.state.withLock({ $0.table.position(of: picture) }) else { continue }
            if accepts(listing, index) { return (listing, index) }
        }
        return nil
    }

    /// The size of a picture that no listing has, in bytes: from the database, or asked from the image host.
    package func size(of picture: PictureID, at location: PictureLocation) async throws(CatalogError) -> Int64 {
        try await sizeFlights.value(for: picture) { [self] in
            // The last answer may still be on its way to the database.
            await outbox.flush()
            if let size = try? await store.sizes(of: [picture]).first, size > 0 { return .success(size) }
            do throws(CatalogError) {
                let size = try await askHost(location)
                outbox.add([.toldSize(size, picture)])
                return .success(size)
            } catch { return .failure(error) }
        }
    }

    /// The size of a picture that was made or asked for before, in bytes; nil if none was.
    package func storedSize(of picture: PictureID) async -> Int64? {
        await outbox.flush()
        guard let size = try? await store.sizes(of: [picture]).first, size > 0 else { return nil }
        return size
    }

    /// Drops a listing from memory and the database; the next look asks the service.
    ///
    /// - Returns: Whether it was known.
    @discardableResult
    package func forget(_ key: ListingKey) -> Bool {
        let isLoaded = loaded[key] != nil
        let isStored = known.withLock { known in
            known.refused[key] = nil
            known.refreshFailed[key] = nil
            return known.stored.remove(key) != nil
        }
        loaded.remove(key)
        outbox.add([.forget(key)])
        return isLoaded || isStored
    }
}
