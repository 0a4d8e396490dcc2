package import Rankings
internal import Synchronization

/// The existing days of a ranking: by the calendar, as the service names them, and as they are stored.
///
/// ## Concurrency
///
/// Any thread may call. Methods that are not `async` never wait and never send a request.
package final class Days: Sendable {
    private let context: CatalogContext
    private let told: ToldDays
    private let listings: Listings
    /// The requests under way.
    let flights = SharedTasks<RankingMode, Day>()

    init(_ context: CatalogContext, told: ToldDays, listings: Listings) {
        self.context = context
        self.told = told
        self.listings = listings
    }

    /// The days of a ranking by the source's calendar.
    package func calendar(of mode: RankingMode) -> RankingDays { told.days(of: mode) }

    /// The newest day that a mode can have: the calendar's, or a later day that the service named.
    package func newestPossible(of mode: RankingMode) -> Day { told.newestPossible(of: mode) }

    /// The newest published day of a mode: from memory, or requested once after each day is due; offline, the newest stored day.
    package func newest(of mode: RankingMode) async throws(Failure) -> Day {
        if let remembered = rememberedNewest(of: mode), remembered.isCurrent { return remembered.day }
        let now = context.now
        return try await flights.value(for: mode) { [self] in
            do throws(Failure) {
                return .success(try await ask(mode))
            } catch {
                // A request that its last waiter gave up shows nothing about the service.
                if error != .cancelled, let day = told.failed(mode, at: now, stored: stored(of: mode).last) {
                    return .success(day)
                }
                return .failure(error.ofListing)
            }
        }
    }

    /// The newest published day of a mode from memory; nil without a request since the last day was due.
    package func rememberedNewest(of mode: RankingMode) -> RememberedDay? {
        let now = context.now
        let days = calendar(of: mode)
        let isThere = listings.isStored(.ranking(mode, days.newest(at: now)))
        return RememberedDay(told[mode], days, calendarsIsThere: isThere, now: now)
    }

    /// The newest published day, requested now, independent of the known days.
    package func refreshNewest(of mode: RankingMode) async throws(Failure) -> Day {
        do throws(Failure) {
            return try await ask(mode)
        } catch { throw error.ofListing }
    }

    /// The newest day that directories of a mode show: of the calendar, unless the service has named an older one since that day was
    /// due and that day is not stored.
    package func newestListed(of mode: RankingMode) -> Day {
        let expected = calendar(of: mode).newest(at: context.now)
        guard let told = told[mode], !listings.isStored(.ranking(mode, expected)) else { return expected }
        return told.listedEnd(calendar(of: mode), now: context.now)
    }

    /// The days that a mode's directory shows, oldest first: the recent days without one that the service did not have a moment ago,
    /// the stored ones, and those that are being opened.
    package func listed(of mode: RankingMode) -> [Day] {
        let signIn = context.source.signIn
        return calendar(of: mode).listed(
            to: newestListed(of: mode), recent: context.configuration.days,
            stored: Self.days(of: mode, in: listings.opened)
        ).filter { !listings.isKnownAbsent(.ranking(mode, $0), for: signIn) }
    }

    /// The days of a mode that are stored or loaded, oldest first.
    package func stored(of mode: RankingMode) -> [Day] {
        Self.days(of: mode, in: listings.keys)
    }

    private static func days(of mode: RankingMode, in keys: Set<ListingKey>) -> [Day] {
        keys.compactMap { key in
            key.ranking.flatMap { $0.mode == mode ? $0.day : nil }
        }.sorted()
    }

    private func ask(_ mode: RankingMode) async throws(Failure) -> Day {
        let source = context.source
        guard source.has(mode) else { throw source.description.needsSignIn(mode) ? .needsSignIn : .notFound }
        let isKnown = told[mode] != nil || !stored(of: mode).isEmpty
        let page = try await source.page(
            of: .ranking(mode, nil), 1, deadline: context.deadline(isComparison: isKnown))
        guard let day = page.day else { throw .unreadable("the newest ranking has no day") }
        told.told(day, of: mode)
        await listings.adopt(page, of: mode, day)
        return day
    }
}

// MARK: - Told days

/// The newest day of each ranking that the service has named.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class ToldDays: Sendable {
    private let newest: Mutex<[RankingMode: NewestDay]>
    private let context: CatalogContext

    /// - Parameters:
    ///   - newest: The stored days.
    ///   - context: The shared parts of the catalog.
    init(_ newest: [RankingMode: NewestDay], _ context: CatalogContext) {
        self.newest = Mutex(newest)
        self.context = context
    }

    /// The day that the service named last; nil before the first request.
    subscript(mode: RankingMode) -> NewestDay? {
        newest.withLock { $0[mode] }
    }

    /// The days of a ranking by the source's calendar.
    func days(of mode: RankingMode) -> RankingDays { context.source.description.days(of: mode) }

    /// The newest day that a mode can have: the calendar's, or the day that the service named if the clock is slow.
    func newestPossible(of mode: RankingMode) -> Day {
        let expected = days(of: mode).newest(at: context.now)
        return self[mode].map { max($0.day, expected) } ?? expected
    }

    /// Keeps the day that the service named just now.
    func told(_ day: Day, of mode: RankingMode) {
        let told = NewestDay(day: day, asked: context.now)
        newest.withLock { $0[mode] = told }
        context.outbox.add([.newest(mode, told)])
    }

    /// Records that a request failed.
    ///
    /// - Parameters:
    ///   - mode: The requested ranking.
    ///   - moment: The moment at which the request began, in Unix seconds.
    ///   - stored: The newest stored day.
    /// - Returns: The newest day named before, or else the stored day.
    func failed(_ mode: RankingMode, at moment: Int64, stored: Day?) -> Day? {
        newest.withLock { newest in
            var known = newest[mode] ?? stored.map { NewestDay(day: $0, asked: 0) }
            known?.failed = moment
            newest[mode] = known
            return known?.day
        }
    }
}
