import HTTP
import Sourcing
import Rankings
internal import Synchronization

/// The facts found while showing originals: the works without an available original, and the number of requests.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class Originals: Sendable {
    private struct State {
        /// Works reported to have no original.
        var missing: Set<WorkID> = []
        var questions = (host: 0, service: 0)
    }

    /// The most works without originals that are remembered; beyond this number a work is reported again.
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

    /// The requests for originals since the start: to the image host, and to the service.
    var questions: (host: Int, service: Int) {
        state.withLock { $0.questions }
    }

    /// The resolver of originals, connected to this state.
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
