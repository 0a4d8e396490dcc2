import Synchronization

/// The limit of the popular listings: 50 at once, then one a minute; whoever goes on asking waits longer (reference, 3.1).
///
/// ## Concurrency
/// Called from any thread; the points are behind a lock.
final class PopularLimit: Sendable {
    private let state = Mutex<(points: Double, at: Int64)?>(nil)

    /// Takes a point at a moment in Unix seconds; answers how many are left, or nil when there was none.
    func take(now: Int64) -> Double? {
        state.withLock { state in
            var points = Self.burst
            if let state { points = min(Self.burst, state.points + Double(max(0, now - state.at)) / Self.refill) }
            let isAllowed = points >= 1
            points = max(Self.least, points - 1)
            state = (points, now)
            return isAllowed ? points : nil
        }
    }

    private static let burst = 50.0
    /// Seconds for a point.
    private static let refill = 60.0
    private static let least = -30.0
}
