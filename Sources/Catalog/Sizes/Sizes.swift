import HTTP
package import Sourcing
package import Rankings
import System
internal import Synchronization

/// The sizes of pictures: from listings, from downloads, from the database, or by a request to the image host.
///
/// ## Concurrency
///
/// Any thread may call. Methods that are not `async` never wait.
package final class Sizes: Sendable {
    /// The number of sizes that a count or preview gets without waiting: a long day, or a window of short ones.
    ///
    /// Nautilus begins the properties of a directory only after it has counted the directories before it, so that a smaller
    /// number would keep a user waiting.
    static let glanceBurst = 600.0
    /// The sizes per second after that.
    static let glanceRate = 2.0
    /// The most doubted sizes that are remembered; after more lies of a host, some of its declared sizes are accepted again.
    static let doubtBound = 4096

    private let context: CatalogContext
    private let host: ImageHost
    /// Nil where no answers of other machines are available.
    private let shared: (any SharedSizes)?
    /// The listings that show sizes.
    private let memory: LoadedListings
    /// The requests under way.
    let flights = SharedTasks<PictureID, Int64>()
    /// The budget for sizes that are only counted or previewed.
    private let glances = Mutex(SteadyPace(burst: glanceBurst, perSecond: glanceRate))
    /// Pictures with a declared size that a download contradicted: headers may declare it again.
    private let doubted = Mutex<Set<PictureID>>([])

    init(_ context: CatalogContext, host: ImageHost, shared: (any SharedSizes)? = nil, memory: LoadedListings) {
        self.context = context
        self.host = host
        self.shared = shared
        self.memory = memory
    }

    /// Keeps a size that a download found.
    package func set(_ size: Int64, of picture: PictureID) {
        guard size > 0 else { return }
        let wasDoubted = doubted.withLock { $0.remove(picture) != nil }
        for listing in memory.all where listing.setSize(size, of: picture) {
            // What a host told wrongly once other machines would believe.
            if wasDoubted, let shared { Task { await shared.offer(size, of: picture, in: listing.key) } }
        }
        context.outbox.add([.size(size, picture)])
    }

    /// Forgets a size that was wrong; afterwards only a whole download sets the size of this picture, and no header does.
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

    /// Shows a stored or declared size, unless another one is known or the size was doubted meanwhile.
    ///
    /// A doubt takes effect in the database a moment after it was raised, and answers may have been under way.
    ///
    /// - Returns: The valid size; nil if only a download can find it.
    private func show(_ size: Int64, of picture: PictureID, in listing: Listing) -> Int64? {
        doubted.withLock { $0.contains(picture) ? nil : listing.learnSize(size, of: picture) }
    }

    /// Keeps a size that the image host declared; it does not replace a known one.
    func told(_ size: Int64, of picture: PictureID) {
        context.outbox.add([.toldSize(size, picture)])
    }

    /// The size in bytes of a picture that is in no listing: from the database, or by a request to the image host.
    package func size(of picture: PictureID, at location: PictureLocation) async throws(Failure) -> Int64 {
        try await flights.value(for: picture) { [self] in
            if let size = await stored(of: picture) { return .success(size) }
            do throws(Failure) {
                if isDoubted(picture) { throw .sizeNotTold }
                let size = try await askHost(location)
                if isDoubted(picture) { throw .sizeNotTold }
                told(size, of: picture)
                return .success(size)
            } catch { return .failure(error) }
        }
    }

    /// The size in bytes of a picture that was made or requested before; nil if neither happened.
    package func stored(of picture: PictureID) async -> Int64? { await context.storedSize(of: picture) }

    // MARK: - Entries of listings

    /// The size of an entry in bytes, requested once for all waiters.
    ///
    /// A background request that does not concern the whole listing serves only a count or a preview.
    ///
    /// - Parameters:
    ///   - listing: The listing.
    ///   - index: The entry.
    ///   - wholeListing: Whether the sizes of all entries are likely to be needed.
    /// - Returns: The size.
    /// - Throws: `.sizeNotTold` if the host declares no length.
    package func resolve(in listing: Listing, at index: Int, wholeListing: Bool) async throws(Failure) -> Int64 {
        if let size = listing.size(at: index) { return size }
        guard let entry = listing.entry(at: index) else { throw .absent }
        if wholeListing {
            ask(listing.continueWalk(now: context.now), in: listing)
            listing.askAllPages()
        } else if !RequestUrgency.isBackground {
            listing.state.withLock { $0.glimpsed = context.now }
        }
        let isGlance = RequestUrgency.isBackground && !wholeListing
        let size = try await flights.value(for: entry.picture) { [self] in
            await ask(entry, in: listing, isGlance ? Urgency.current : nil)
        }
        // Another listing of the same picture may have sent the request.
        guard let size = show(size, of: entry.picture, in: listing) else { throw .sizeNotTold }
        return size
    }

    /// Reads the known sizes of new entries from the database, then continues a walk that is under way.
    func learn(of entries: [ListingEntry], in listing: Listing) {
        guard !listing.key.listsNames else { return }
        context.background.run { [self] in
            await learnStored(of: entries, in: listing)
            ask(listing.entriesForWalk(now: context.now), in: listing)
        }
    }

    /// Sets the sizes that the database has; returns the entries without one.
    @discardableResult
    func learnStored(of entries: [ListingEntry], in listing: Listing) async -> [ListingEntry] {
        // Without this check, the first sizes ever would wait until the rows of their own listing are written.
        guard context.stored.sizes > 0 else { return entries }
        guard let sizes = try? await context.store.sizes(of: entries.map(\.picture)) else { return entries }
        return zip(entries, sizes).filter { $1 == 0 || show($1, of: $0.picture, in: listing) == nil }.map(\.0)
    }

    /// Sets the sizes that other machines have requested; returns the entries without one.
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

    /// Offers the known sizes of a listing to other machines again, once what they shared of it was removed.
    package func offer(of listing: Listing) async {
        guard let shared else { return }
        for entry in listing.entries {
            guard let size = await stored(of: entry.picture) else { continue }
            await shared.offer(size, of: entry.picture, in: listing.key)
        }
    }

    /// Requests many sizes at once: those in the database with one call, the others from the image host.
    private func ask(_ entries: [ListingEntry], in listing: Listing) {
        guard !entries.isEmpty else { return }
        context.background.run { [self] in
            let unknown = await learnStored(of: entries, in: listing)
            for entry in await learnShared(of: unknown, in: listing) where listing.isWalked {
                // A request with a waiter overtakes the others.
                let urgency = Urgency()
                flights.start(entry.picture, urgency) { await self.probe(entry, in: listing, urgency) }
            }
        }
    }

    /// Ends a walk over the sizes of a listing by a program that goes on to copy the pictures: further sizes arrive with their bytes.
    ///
    /// Requests for sizes that have no waiter and have not gone to the network are withdrawn.
    package func endWalk(of listing: Listing) { flights.withdraw(listing.endedWalk().map(\.picture)) }

    private func ask(
        _ entry: ListingEntry, in listing: Listing, _ glance: Urgency?
    ) async -> Result<Int64, Failure> {
        if context.stored.sizes > 0, let size = try? await context.store.sizes(of: [entry.picture]).first, size > 0,
            let size = show(size, of: entry.picture, in: listing)
        {
            return .success(size)
        }
        guard let glance else { return await probe(entry, in: listing) }
        return await listing.state.withLock { $0.untilOpened() }.whileFollowed(by: { glance.raise(to: $0) }) {
            if (try? location(of: entry))?.size == nil { await waitForTurn(glance) }
            return await probe(entry, in: listing, glance)
        }
    }

    /// Waits for the budget of counts and previews, or until a user waits for the size; not at all if that would leave no time to answer.
    private func waitForTurn(_ glance: Urgency) async {
        let (time, patience) = (context.configuration.time, context.configuration.timeout / 2)
        let now = time.now()
        let wait = glances.withLock { pace -> Duration in
            pace.take(1, now: now)
            let wait = pace.wait(now: now)
            guard wait > patience else { return wait }
            pace.take(-1)
            return .zero
        }
        guard wait > .zero else { return }
        let turn = Task { _ = try? await time.sleep(wait) }
        await glance.whileFollowed(by: { if $0 == .reader { turn.cancel() } }) {
            await withTaskCancellationHandler {
                await turn.value
            } onCancel: {
                turn.cancel()
            }
        }
    }

    private func probe(
        _ entry: ListingEntry, in listing: Listing, _ urgency: Urgency? = nil
    ) async -> Result<Int64, Failure> {
        // The picture may have been downloaded or its size requested since this was planned.
        if let index = listing.state.withLock({ $0.table.position(of: entry.picture) }),
            let size = listing.size(at: index)
        {
            return .success(size)
        }
        do throws(Failure) {
            if isDoubted(entry.picture) { throw .sizeNotTold }
            let answer = try await askHost(try location(of: entry), urgency, for: entry.picture, in: listing.key)
            // Only this listing is updated: a walk would otherwise search every loaded listing for each answer. The others find
            // the size in the database. A download may have set another size meanwhile, and a download has seen the bytes.
            guard let size = show(answer, of: entry.picture, in: listing) else { throw .sizeNotTold }
            told(size, of: entry.picture)
            return .success(size)
        } catch { return .failure(error) }
    }

    /// The size of a picture: from its listing, otherwise by a request to the image host.
    private func askHost(
        _ location: PictureLocation, _ urgency: Urgency? = nil, for picture: PictureID? = nil,
        in listing: ListingKey? = nil
    ) async throws(Failure) -> Int64 {
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
        case .failed(let error): throw error
        }
    }

    private func location(of entry: ListingEntry) throws(Failure) -> PictureLocation {
        let picture = entry.picture
        guard !entry.isWithheld,
            let location = context.source.location(
                of: picture.work, picture: entry.reference, page: picture.page, rendition: picture.rendition)
        else { throw .sizeNotTold }
        return location
    }
}

// MARK: - Shared sizes

/// Sizes of pictures that other machines have requested.
///
/// ## Concurrency
///
/// Any task may call.
package protocol SharedSizes: Sendable {
    /// The sizes that are known without a request for any of them.
    ///
    /// - Parameters:
    ///   - pictures: The pictures.
    ///   - listing: The listing that shows them.
    /// - Returns: Bytes in the order of the pictures, 0 for sizes that no machine has requested.
    func known(of pictures: [PictureID], in listing: ListingKey) async -> [Int64]

    /// Stores a size: one that a download has found where another one was told, or one whose document was removed.
    func offer(_ size: Int64, of picture: PictureID, in listing: ListingKey) async

    /// A size that a machine has requested, this one if no other has.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - listing: The listing that shows it.
    ///   - ask: Sends the request to the image host.
    /// - Returns: The answer of the image host.
    func size(
        of picture: PictureID, in listing: ListingKey, ask: @Sendable () async -> PictureSize
    ) async -> PictureSize
}
