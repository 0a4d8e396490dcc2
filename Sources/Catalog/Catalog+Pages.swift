import Rankings
internal import Synchronization

extension Catalog {
    /// How long an original that failed with 500 is given before it is asked for a last time.
    private static let originalPause: Duration = .milliseconds(500)

    /// Where the pages of a listing come from.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - works: An author's works that are still to be asked for.
    ///   - patience: How long a page may take; nil for the usual time.
    /// - Returns: Pages whose pictures are those that the mount shows.
    func pages(of key: ListingKey, works: [WorkID], patience: Duration? = nil) -> any ListingPages {
        let timeout = patience ?? configuration.timeout
        let pages: any ListingPages =
            switch key {
            case .ranking(let mode, let day): RankingPages(mode: mode, day: day, source: source, timeout: timeout)
            case .author(let author): AuthorPages(author: author, works: works, source: source, timeout: timeout)
            case .search(let words): SearchPages(words: words, source: source, timeout: timeout)
            case .bookmarks(let user): BookmarkPages(user: user, source: source, timeout: timeout)
            case .work(let work): workPages(work, timeout: timeout)
            }
        guard view.rendition == .original, !key.isWork else { return pages }
        return OriginalPages(base: pages, resolver: resolver)
    }

    private var resolver: OriginalResolver {
        OriginalResolver(
            source: source, probe: probe, timeout: configuration.timeout, pause: Self.originalPause,
            missing: { [report] work in report(.originalMissing(work)) },
            count: { [known] host, service in
                known.withLock { known in
                    known.originalQuestions.host += host
                    known.originalQuestions.service += service
                }
            })
    }

    private func workPages(_ work: WorkID, timeout: Duration) -> WorkPages {
        WorkPages(
            work: work, resolver: resolver, source: source, timeout: timeout,
            summary: { [self] in await storedWork(work) },
            learntAnimation: { [self] animation in keep(animation, of: work) })
    }
}
