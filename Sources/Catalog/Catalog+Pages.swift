import HTTP
import Rankings
internal import Synchronization

extension Catalog {
    /// Where the pages of a listing come from.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - works: An author's works that are still to be asked for.
    ///   - patience: How long a page may take; nil for the usual time.
    /// - Returns: Pages whose pictures are those that the mount shows.
    func pages(of key: ListingKey, works: [WorkID], patience: Duration? = nil) -> any ListingPages {
        let timeout = limit(patience ?? configuration.timeout)
        let pages: any ListingPages =
            switch key {
            case .ranking(let mode, let day):
                RankingPages(
                    mode: mode, day: day, top: view.top, source: source, timeout: timeout,
                    onOpening: { [warm] in warm?.make() })
            case .author(let author): AuthorPages(author: author, works: works, source: source, timeout: timeout)
            case .search(let words): SearchPages(words: words, source: source, timeout: timeout)
            case .following(let user): FollowingPages(user: user, source: source, timeout: timeout)
            case .bookmarks(let user): BookmarkPages(user: user, source: source, timeout: timeout)
            // What was listed of a work may be out of date itself: a comparison asks for the record anew.
            case .work(let work): workPages(work, timeout: timeout, usesStored: patience == nil)
            }
        guard view.rendition == .original, !key.isSameInEveryView else { return pages }
        return OriginalPages(base: pages, resolver: resolver)
    }

    private var resolver: OriginalResolver {
        OriginalResolver(
            source: source, host: host, timeout: limit(configuration.timeout),
            stored: { [self] in await storedSize(of: $0) },
            learnt: { [outbox] in outbox.add([.toldSize($0, $1)]) },
            missing: { [self] work in
                let isFirst = known.withLock { known in
                    if known.missing.count >= Self.missingBound { known.missing = [] }
                    return known.missing.insert(work).inserted
                }
                if isFirst { report(.originalMissing(work)) }
            },
            count: { [known] host, service in
                known.withLock { known in
                    known.originalQuestions.host += host
                    known.originalQuestions.service += service
                }
            })
    }

    private func workPages(_ work: WorkID, timeout: AnswerLimit, usesStored: Bool) -> WorkPages {
        WorkPages(
            work: work, resolver: resolver, source: source, timeout: timeout,
            summary: { [self] in usesStored ? await storedWork(work) : nil },
            learntAnimation: { [self] animation in keep(animation, of: work) })
    }
}
