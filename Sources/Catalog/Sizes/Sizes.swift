import HTTP
package import ImageHost
package import Rankings
import SQLite
internal import Synchronization

/// How large pictures are: told by listings, learnt by downloading, stored, or asked from the image host.
///
/// ## Concurrency
///
/// Any thread may call. What does not say `async` never waits.
package final class Sizes: Sendable {
    /// Sizes that what only counts or previews is given without waiting: a long day, or a window of short ones.
    ///
    /// Nautilus begins the properties of a directory only when it has counted those before it: fewer would keep a person waiting.
    static let glanceBurst = 600
    /// How many a second after that.
    static let glanceRate = 2.0
    /// Doubted sizes remembered at most; a host that lies about more pictures is believed about some of them again.
    static let doubtBound = 4096

    private let context: CatalogContext
    private let host: ImageHost
    /// Nil where no other machine's answers are to be had.
    private let shared: (any SharedSizes)?
    /// The listings that show sizes.
    private let memory: LoadedListings
    private let flights = SharedTasks<PictureID, Int64>()
    /// What sizes of what is only counted or previewed wait for.
    private let glances: TokenBucketGate
    /// Pictures whose told size a download contradicted: headers may tell it again.
    private let doubted = Mutex<Set<PictureID>>([])

    init(_ context: CatalogContext, host: ImageHost, shared: (any SharedSizes)? = nil, memory: LoadedListings) {
        self.context = context
        self.host = host
        self.shared = shared
        self.memory = memory
        glances = TokenBucketGate(
            burst: Self.glanceBurst, perSecond: Self.glanceRate, closedUntil: nil, now: context.configuration.now,
            onClose: { _ in }, time: context.configuration.time)
    }

    /// Keeps a size that was learnt by downloading.
    package func set(_ size: Int64, of picture: PictureID) {
        guard size > 0 else { return }
        doubted.withLock { _ = $0.remove(picture) }
        for listing in memory.all { listing.setSize(size, of: picture) }
        context.outbox.add([.size(size, picture)])
    }

    /// Forgets a size that turned out wrong; no header is believed about this picture again, only a whole download.
    package func forget(_ picture: PictureID) {
        doubted.withLock { doubted in
            if doubted.count >= Self.doubtBound { doubted = [] }
            doubted.insert(picture)
        }
        for listing in memory.all { listing.setSize(0, of: picture) }
        context.outbox.add([.noSize(picture)])
    }

    private func isDoubted(_ picture: PictureID) -> Bool {
        doubted.withLock { $0.contains(picture) }
    }

    /// Shows a size that was stored or told, unless another one is known or it was doubted meanwhile.
    ///
    /// A doubt takes effect in the database a moment after it was raised, and answers may have been under way.
    ///
    /// - Returns: The size that holds; nil if only a download can tell.
    private func show(_ size: Int64, of picture: PictureID, in listing: Listing) -> Int64? {
        doubted.withLock { $0.contains(picture) ? nil : listing.learnSize(size, of: picture) }
    }

    /// Keeps a size that the image host told; it does not replace one that is known.
    func told(_ size: Int64, of picture: PictureID) {
        context.outbox.add([.toldSize(size, picture)])
    }

    /// The size of a picture that no listing has, in bytes: from the database, or asked from the image host.
    package func size(of picture: PictureID, at location: PictureLocation) async throws(CatalogError) -> Int64 {
        try await flights.value(for: picture) { [self] in
            if let size = await stored(of: picture) { return .success(size) }
            do throws(CatalogError) {
                if isDoubted(picture) { throw .sizeNotTold }
                let size = try await askHost(location)
                if isDoubted(picture) { throw .sizeNotTold }
                told(size, of: picture)
                return .success(size)
            } catch { return .failure(error) }
        }
    }

    /// The size of a picture that was made or asked for before, in bytes; nil if none was.
    package func stored(of picture: PictureID) async -> Int64? {
        // The last answer may still be on its way to the database.
        await context.outbox.flush()
        guard let size = try? await context.store.sizes(of: [picture]).first, size > 0 else { return nil }
        return size
    }

    /// Ends what is asked.
    func close() {
        flights.close()
    }

    // MARK: - Entries of listings

    /// The size of an entry in bytes, asked for once however many want it.
    ///
    /// What a program asks for on nobody's behalf, and not of the whole listing, is only counted or previewed.
    ///
    /// - Parameters:
    ///   - listing: The listing.
    ///   - index: The entry.
    ///   - wholeListing: Whether those of all entries are likely to be wanted.
    /// - Returns: The size.
    /// - Throws: `.sizeNotTold` if the host tells no length.
    func resolve(in listing: Listing, at index: Int, wholeListing: Bool) async throws(CatalogError) -> Int64 {
        if let size = listing.size(at: index) { return size }
        guard let entry = listing.entry(at: index) else { throw .noSuchListing }
        if wholeListing {
            ask(listing.continueWalk(now: context.now), in: listing)
            listing.askAllPages()
        }
        let isGlance = RequestUrgency.isBackground && !wholeListing
        let size = try await flights.value(for: entry.picture) { [self] in
            await ask(entry, in: listing, isGlance ? Urgency.current : nil)
        }
        // Another listing of the same picture may have asked.
        guard let size = show(size, of: entry.picture, in: listing) else { throw .sizeNotTold }
        return size
    }

    /// Learns from the database which sizes of new entries are known, then goes on with a walk that is under way.
    func learn(of entries: [ListingEntry], in listing: Listing) {
        guard !listing.key.listsAuthors else { return }
        context.background.run { [self] in
            await learnStored(of: entries, in: listing)
            ask(listing.entriesForWalk(now: context.now), in: listing)
        }
    }

    /// Sets the sizes that the database knows; returns the entries that it does not know.
    @discardableResult
    func learnStored(of entries: [ListingEntry], in listing: Listing) async -> [ListingEntry] {
        // Without this the first sizes ever would wait until the rows of their own listing are written.
        guard context.stored.sizes > 0 else { return entries }
        guard let sizes = try? await context.store.sizes(of: entries.map(\.picture)) else { return entries }
        return zip(entries, sizes).filter { $1 == 0 || show($1, of: $0.picture, in: listing) == nil }.map(\.0)
    }

    /// Sets the sizes that other machines have asked for; returns the entries that they have not asked for either.
    private func learnShared(of entries: [ListingEntry], in listing: Listing) async -> [ListingEntry] {
        guard let shared, !entries.isEmpty else { return entries }
        let sizes = await shared.known(of: entries.map(\.picture), in: listing.key)
        var (unknown, told): ([ListingEntry], [PictureID: Int64]) = ([], [:])
        for (entry, size) in zip(entries, sizes) {
            guard size > 0, let size = show(size, of: entry.picture, in: listing) else {
                unknown.append(entry)
                continue
            }
            told[entry.picture] = size
        }
        context.outbox.add(told.map { .toldSize($0.value, $0.key) })
        return unknown
    }

    /// Asks for many sizes at once: those in the database with one call, the others from the image host.
    private func ask(_ entries: [ListingEntry], in listing: Listing) {
        guard !entries.isEmpty else { return }
        context.background.run { [self] in
            let unknown = await learnStored(of: entries, in: listing)
            for entry in await learnShared(of: unknown, in: listing) {
                // Whoever waits for one of them overtakes the others.
                let urgency = Urgency()
                flights.start(entry.picture, hurry: urgency.raise) {
                    await self.probe(entry, in: listing, urgency)
                }
            }
        }
    }

    private func ask(
        _ entry: ListingEntry, in listing: Listing, _ glance: Urgency?
    ) async -> Result<Int64, CatalogError> {
        if context.stored.sizes > 0, let size = try? await context.store.sizes(of: [entry.picture]).first, size > 0,
            let size = show(size, of: entry.picture, in: listing)
        {
            return .success(size)
        }
        guard let glance else { return await probe(entry, in: listing) }
        return await listing.state.withLock { $0.untilOpened() }.whileFollowed(by: { glance.raise() }) {
            if (try? location(of: entry))?.size == nil { await waitForTurn(glance) }
            return await probe(entry, in: listing, glance)
        }
    }

    /// Waits until the budget of what is only counted or previewed lets a size be asked for, until a person waits for it, or as long
    /// as leaves time to answer.
    private func waitForTurn(_ glance: Urgency) async {
        let time = context.configuration.time
        let patience = context.configuration.timeout / 2
        let pass = { @Sendable [glances] () async throws(HTTPError) in
            glances.settle(try await glances.pass(.opening, deadline: time.now().advanced(by: patience)), .fine)
        }
        do throws(HTTPError) { try await glance.untilRaised(pass) } catch {}
    }

    private func probe(
        _ entry: ListingEntry, in listing: Listing, _ urgency: Urgency? = nil
    ) async -> Result<Int64, CatalogError> {
        // Somebody may have downloaded or asked it since this was planned.
        if let index = listing.state.withLock({ $0.table.position(of: entry.picture) }),
            let size = listing.size(at: index)
        {
            return .success(size)
        }
        do throws(CatalogError) {
            if isDoubted(entry.picture) { throw .sizeNotTold }
            let answer = try await askHost(try location(of: entry), urgency, for: entry.picture, in: listing.key)
            // Only here: a walk would otherwise look into every loaded listing for each answer. Others find it in the database.
            // A download may have told another one meanwhile, and has seen the bytes.
            guard let size = show(answer, of: entry.picture, in: listing) else { throw .sizeNotTold }
            told(size, of: entry.picture)
            return .success(size)
        } catch { return .failure(error) }
    }

    /// How large a picture is: as its listing told, otherwise by asking the image host.
    private func askHost(
        _ location: PictureLocation, _ urgency: Urgency? = nil, for picture: PictureID? = nil,
        in listing: ListingKey? = nil
    ) async throws(CatalogError) -> Int64 {
        if let size = location.size { return size }
        let ask = { @Sendable [host, timeout = context.configuration.timeout] in
            await host.size(at: location, within: timeout, urgency: urgency)
        }
        let told =
            if let shared, let picture, let listing {
                await shared.size(of: picture, in: listing, ask: ask)
            } else { await ask() }
        switch told {
        case .size(let size): return size
        case .notTold: throw .sizeNotTold
        case .failed(let error): throw .source(error)
        }
    }

    private func location(of entry: ListingEntry) throws(CatalogError) -> PictureLocation {
        if entry.isWithheld { throw .sizeNotTold }
        let picture = entry.picture
        if let location = context.source.location(
            of: picture.work, picture: entry.reference, page: picture.page, rendition: picture.rendition)
        {
            return location
        }
        throw .sizeNotTold
    }
}

// MARK: - Shared sizes

/// Sizes of pictures that other machines have asked for.
///
/// ## Concurrency
///
/// Any task may call.
package protocol SharedSizes: Sendable {
    /// The sizes that are known without asking anybody for one of them.
    ///
    /// - Parameters:
    ///   - pictures: The pictures.
    ///   - listing: The listing that shows them.
    /// - Returns: Bytes in the order of the pictures, 0 for those that nobody has asked for.
    func known(of pictures: [PictureID], in listing: ListingKey) async -> [Int64]

    /// A size that a machine has asked for, this one if no other has.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - listing: The listing that shows it.
    ///   - ask: Asks the image host.
    /// - Returns: What the image host told.
    func size(
        of picture: PictureID, in listing: ListingKey, ask: @Sendable () async -> PictureSize
    ) async -> PictureSize
}
