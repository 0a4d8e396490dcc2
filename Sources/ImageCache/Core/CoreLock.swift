internal import Synchronization

/// The one lock that the cache's decisions are made under.
///
/// ## Concurrency
///
/// Any thread may call; nothing that is called under it may take it again, wait, or call what is outside the cache.
final class CoreLock: Sendable {
    private let core: Mutex<Core>
    #if DEBUG
    /// How often it was taken, for tests: whoever reads waits for everybody who decides something.
    let taken = Atomic(0)
    #endif

    init(_ core: consuming sending Core) {
        self.core = Mutex(core)
    }

    /// Decides something.
    func withLock<Result: Sendable>(_ decide: (inout Core) -> Result) -> Result {
        #if DEBUG
        taken.add(1, ordering: .relaxed)
        #endif
        return core.withLock { decide(&$0) }
    }
}
