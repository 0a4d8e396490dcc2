import HTTP
import ImageHost
package import Rankings
import SQLite
internal import Synchronization

extension Catalog {
    /// Keeps a size that was learnt by downloading.
    package func setSize(_ size: Int64, of picture: PictureID) {
        guard size > 0 else { return }
        known.withLock { _ = $0.doubted.remove(picture) }
        for listing in loaded.all { listing.setSize(size, of: picture) }
        outbox.add([.size(size, picture)])
    }

    /// Forgets a size that turned out wrong; no header is believed about this picture again, only a whole download.
    package func forgetSize(of picture: PictureID) {
        known.withLock { known in
            if known.doubted.count >= Self.doubtBound { known.doubted = [] }
            known.doubted.insert(picture)
        }
        for listing in loaded.all { listing.setSize(0, of: picture) }
        outbox.add([.noSize(picture)])
    }

    func resolveSize(in listing: Listing, at index: Int, wholeListing: Bool) async throws(CatalogError) -> Int64 {
        if let size = listing.size(at: index) { return size }
        guard let entry = listing.entry(at: index) else { throw .noSuchListing }
        if wholeListing {
            askSizes(of: listing.continueWalk(now: now), in: listing)
            listing.askAllPages()
        }
        let size = try await sizeFlights.value(for: entry.picture) { [self] in await askSize(of: entry, in: listing) }
        // Another listing of the same picture may have asked.
        return listing.learnSize(size, of: entry.picture)
    }

    /// Learns from the database which sizes of new entries are known, then goes on with a walk that is under way.
    func learnSizes(of entries: [ListingEntry], in listing: Listing) {
        guard !listing.key.listsAuthors else { return }
        inBackground { [self] in
            await learnStoredSizes(of: entries, in: listing)
            askSizes(of: listing.entriesForWalk(now: now), in: listing)
        }
    }

    /// Asks for many sizes at once: those in the database with one call, the others from the image host.
    private func askSizes(of entries: [ListingEntry], in listing: Listing) {
        guard !entries.isEmpty else { return }
        inBackground { [self] in
            let unknown = await learnStoredSizes(of: entries, in: listing)
            for entry in unknown {
                // Whoever waits for one of them overtakes the others.
                let urgency = Urgency()
                sizeFlights.start(entry.picture, hurry: urgency.raise) {
                    await self.probeSize(of: entry, in: listing, urgency)
                }
            }
        }
    }

    /// Sets the sizes that the database knows; returns the entries that it does not know.
    @discardableResult
    func learnStoredSizes(of entries: [ListingEntry], in listing: Listing) async -> [ListingEntry] {
        // Without this the first sizes ever would wait until the rows of their own listing are written.
        guard known.withLock({ $0.sizes > 0 }) else { return entries }
        guard let sizes = try? await store.sizes(of: entries.map(\.picture)) else { return entries }
        for (entry, size) in zip(entries, sizes) where size > 0 { listing.setSize(size, of: entry.picture) }
        return zip(entries, sizes).filter { $0.1 == 0 }.map(\.0)
    }

    private func askSize(of entry: ListingEntry, in listing: Listing) async -> Result<Int64, CatalogError> {
        if known.withLock({ $0.sizes > 0 }), let size = try? await store.sizes(of: [entry.picture]).first, size > 0 {
            listing.setSize(size, of: entry.picture)
            return .success(size)
        }
        return await probeSize(of: entry, in: listing)
    }

    private func probeSize(
        of entry: ListingEntry, in listing: Listing, _ urgency: Urgency? = nil
    ) async -> Result<Int64, CatalogError> {
        // Somebody may have downloaded or asked it since this was planned.
        if let index = listing.state.withLock({ $0.table.position(of: entry.picture) }),
            let size = listing.size(at: index)
        {
            return .success(size)
        }
        do throws(CatalogError) {
            if known.withLock({ $0.doubted.contains(entry.picture) }) { throw .sizeNotTold }
            let told = try await askHost(try location(of: entry), urgency)
            // Only here: a walk would otherwise look into every loaded listing for each answer. Others find it in the database.
            // A download may have told another one meanwhile, and has seen the bytes.
            let size = listing.learnSize(told, of: entry.picture)
            outbox.add([.toldSize(size, entry.picture)])
            return .success(size)
        } catch { return .failure(error) }
    }

    /// How large a picture is: as its listing told, otherwise by asking the image host.
    func askHost(_ location: PictureLocation, _ urgency: Urgency? = nil) async throws(CatalogError) -> Int64 {
        if let size = location.size { return size }
        switch await host.size(at: location, within: configuration.timeout, urgency: urgency) {
        case .size(let size): return size
        case .notTold: throw .sizeNotTold
        case .failed(let error): throw .source(error)
        }
    }

    private func location(of entry: ListingEntry) throws(CatalogError) -> PictureLocation {
        if entry.isWithheld { throw .sizeNotTold }
        let picture = entry.picture
        if let location = source.location(
            of: picture.work, picture: entry.reference, page: picture.page, rendition: picture.rendition)
        {
            return location
        }
        throw .sizeNotTold
    }
}
