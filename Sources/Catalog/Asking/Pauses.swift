internal import Synchronization

/// What is not asked for again for a while, because the service refused it or did not answer.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class Pauses<Key: Hashable & Sendable>: Sendable {
    /// Pauses remembered at most; a program that tries names by the thousand only asks again sooner.
    static var bound: Int { 4096 }

    /// How long each lasts.
    private let seconds: Int64
    /// When each began, in Unix seconds.
    private let begun = Mutex<[Key: Int64]>([:])

    init(seconds: Int64) {
        self.seconds = seconds
    }

    /// How many are remembered, also of those that are over.
    var count: Int { begun.withLock { $0.count } }

    /// Whether a key is not to be asked for now.
    ///
    /// - Parameters:
    ///   - key: What would be asked for.
    ///   - now: Unix seconds.
    /// - Returns: False once its pause is over, and whenever the clock says that it has not begun.
    func holds(_ key: Key, now: Int64) -> Bool {
        guard let moment = begun.withLock({ $0[key] }) else { return false }
        return Freshness.holds(since: moment, seconds: seconds, now: now)
    }

    /// Begins a pause, in Unix seconds; one that was under way begins anew.
    func begin(_ key: Key, now: Int64) {
        begun.withLock { begun in
            if begun.count >= Self.bound {
                begun = begun.filter { Freshness.holds(since: $0.value, seconds: seconds, now: now) }
                if begun.count >= Self.bound { begun = [:] }
            }
            begun[key] = now
        }
    }

    /// Ends a pause: the next one who asks is heard.
    func end(_ key: Key) {
        begun.withLock { $0[key] = nil }
    }
}
