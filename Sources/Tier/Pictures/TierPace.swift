internal import Synchronization

/// How fast pictures must come from the store, all that are on their way together: a slow disk brings more, and less is worth asking
/// the image host instead.
///
/// A single one has to keep to its share: what the line brings is divided by how many are on it, at each moment.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class TierPace: Sendable {
    /// Bytes a second that must have come, measured from the first one on.
    static let slowest: Int64 = 512 << 10
    /// How long that is not looked at.
    static let grace = Duration.seconds(1)

    /// What a download has to keep to.
    struct Share: Sendable {
        fileprivate let began: ContinuousClock.Instant
        fileprivate let credit: Double
    }

    private struct State {
        var running = 0
        /// Bytes that a download must have brought that was there from the beginning on.
        var credit: Double = 0
        var at: ContinuousClock.Instant?

        mutating func pass(_ now: ContinuousClock.Instant) {
            defer { at = now }
            guard let at, running > 0 else { return }
            credit += max(0, (now - at) / Duration.seconds(1)) * Double(TierPace.slowest) / Double(running)
        }
    }

    private let state = Mutex(State())

    /// The first byte of a download has come.
    func begin(now: ContinuousClock.Instant) -> Share {
        state.withLock { state in
            state.pass(now)
            state.running += 1
            return Share(began: now, credit: state.credit)
        }
    }

    /// A download that has begun is over.
    func end(now: ContinuousClock.Instant) {
        state.withLock { state in
            state.pass(now)
            state.running = max(0, state.running - 1)
        }
    }

    /// Bytes that must have come by now.
    func due(_ share: Share, now: ContinuousClock.Instant) -> Int64 {
        let passed = now - share.began
        guard passed > Self.grace else { return 0 }
        let credit = state.withLock { state in
            state.pass(now)
            return state.credit - share.credit
        }
        return Int64(min(credit * ((passed - Self.grace) / passed), Double(Int32.max) * 1024))
    }
}
