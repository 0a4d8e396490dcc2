import HTTP
import ImageHost
import Rankings
internal import Synchronization

/// What was learnt while showing originals: which works have none that can be had, and what asking cost.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class Originals: Sendable {
    private struct State {
        /// Works that were told to have no original.
        var missing: Set<WorkID> = []
        var questions = (host: 0, service: 0)
    }

    /// Works without originals remembered at most; beyond, one is told of again.
    static let missingBound = 4096

    private let context: CatalogContext
    private let host: ImageHost
    private let sizes: Sizes
    private let state = Mutex(State())

    init(_ context: CatalogContext, host: ImageHost, sizes: Sizes) {
        self.context = context
        self.host = host
        self.sizes = sizes
    }

    /// Questions that they cost since the start: to the image host, to the service.
    var questions: (host: Int, service: Int) {
        state.withLock { $0.questions }
    }

    /// Finds them.
    var resolver: OriginalResolver {
        OriginalResolver(
            source: context.source, host: host, timeout: context.timeout,
            stored: { [sizes] in await sizes.stored(of: $0) },
            learnt: { [sizes] in sizes.told($0, of: $1) },
            missing: { [self] in noteMissing($0) },
            count: { [self] host, service in
                state.withLock { state in
                    state.questions.host += host
                    state.questions.service += service
                }
            })
    }

    private func noteMissing(_ work: WorkID) {
        let isFirst = state.withLock { state in
            if state.missing.count >= Self.missingBound { state.missing = [] }
            return state.missing.insert(work).inserted
        }
        if isFirst { context.report(.originalMissing(work)) }
    }
}
