package import Rankings
internal import Synchronization

extension Catalog {
    /// The newest published day of a mode: from memory, or asked once after each day is due; offline the newest stored.
    package func newestDay(of mode: RankingMode) async throws(CatalogError) -> Day {
        if let remembered = rememberedNewestDay(of: mode), remembered.isCurrent { return remembered.day }
        let now = now
        return try await newestFlights.value(for: mode) { [self] in
            do throws(SourceError) {
                return .success(try await askNewestDay(of: mode))
            } catch {
                if let day = newestKnownDay(of: mode, failedAt: now) { return .success(day) }
                return .failure(CatalogError(listing: error))
            }
        }
    }

    /// The newest published day of a mode as far as memory tells; nil if nobody has asked since the last one was due.
    ///
    /// Never waits, never asks.
    package func rememberedNewestDay(of mode: RankingMode) -> RememberedDay? {
        let now = now
        let days = days(of: mode)
        let isThere = isStored(.ranking(mode, days.newest(at: now)))
        return RememberedDay(known.withLock { $0.newest[mode] }, days, calendarsIsThere: isThere, now: now)
    }

    /// The newest day that a mode can have: the calendar's, or a later one that the service named.
    ///
    /// Never waits, never asks.
    package func newestPossible(of mode: RankingMode) -> Day {
        let days = days(of: mode)
        return known.withLock { [now] in $0.newestPossible(of: mode, days, now: now) }
    }

    /// The days of a ranking by the source's calendar.
    package func days(of mode: RankingMode) -> RankingDays { source.description.days(of: mode) }

    /// The days that a mode's directory shows, oldest first: the recent ones and the stored ones.
    ///
    /// Never waits, never asks.
    package func listedDays(of mode: RankingMode) -> [Day] {
        let now = now
        let days = days(of: mode)
        return known.withLock { known in
            let stored = known.storedDays(of: mode)
            let end = known.newest[mode]?.listedEnd(days, now: now) ?? days.newest(at: now)
            return ListedDays.days(days, end: end, recent: configuration.days, stored: stored)
        }
    }

    /// The days of a mode that are stored, oldest first.
    ///
    /// Never waits, never asks.
    package func storedDays(of mode: RankingMode) -> [Day] {
        storedListings.compactMap { key in
            guard case .ranking(mode, let day) = key else { return nil }
            return day
        }.sorted()
    }

    /// The newest published day, asked now whatever is known.
    package func refreshNewestDay(of mode: RankingMode) async throws(CatalogError) -> Day {
        do throws(SourceError) {
            return try await askNewestDay(of: mode)
        } catch { throw CatalogError(listing: error) }
    }

    private func askNewestDay(of mode: RankingMode) async throws(SourceError) -> Day {
        guard source.has(mode) else { throw source.description.needsSignIn(mode) ? .needsSignIn : .notFound }
        let isKnown = known.withLock { $0.newest[mode] != nil || !$0.storedDays(of: mode).isEmpty }
        let patience = isKnown ? min(configuration.timeout, Self.refreshPatience) : configuration.timeout
        let page = try await source.rankingPage(mode, day: nil, page: 1, deadline: limit(patience).deadline)
        let newest = NewestDay(day: page.day, asked: now)
        known.withLock { $0.newest[mode] = newest }
        outbox.add([.newest(mode, newest)])
        adopt(page, as: .ranking(mode, page.day))
        return page.day
    }

    /// Keeps the page that came with the newest day as that day's first, so that it is not asked for again.
    private func adopt(_ page: RankingPage, as key: ListingKey) {
        let isThere = known.withLock { known in
            known.refused[key] = nil
            return known.stored.contains(key)
        }
        guard case .ranking(let mode, let day) = key, !isThere, loaded[key] == nil else { return }
        // Originals are asked for one by one: not for a directory that nobody opened.
        guard view.rendition != .original else { return }
        let pages = RankingPages(
            mode: mode, day: day, top: view.top, source: source, timeout: limit(configuration.timeout))
        guard let content = try? pages.content(of: page, number: 1) else { return }
        _ = begin(key, pages, first: content, last: nil)
    }

    /// The newest day named by the service before, or stored; remembers that asking failed.
    private func newestKnownDay(of mode: RankingMode, failedAt now: Int64) -> Day? {
        known.withLock { known in
            var newest = known.newest[mode] ?? known.storedDays(of: mode).max().map { NewestDay(day: $0, asked: 0) }
            newest?.failed = now
            known.newest[mode] = newest
            return newest?.day
        }
    }
}
