/// A bound on bytes: a burst, then a steady rate.
struct BytePace: Sendable {
    /// Bytes that may go at once: the previews of two whole days of 500 pictures.
    ///
    /// A preview has a tenth of the bytes of the picture that some file managers read without it.
    static let burst = 64.0 * 1_048_576
    /// Bytes a second afterwards: eighty previews, more than KDE's worker reads pictures.
    static let perSecond = 4.0 * 1_048_576

    /// Bytes that may go now; negative after too many.
    private var allowed = BytePace.burst
    private var last: ContinuousClock.Instant

    init(now: ContinuousClock.Instant) {
        last = now
    }

    /// So many bytes were received.
    mutating func took(_ bytes: Int, now: ContinuousClock.Instant) {
        refill(now)
        allowed -= Double(bytes)
    }

    /// How long the next request has to wait; nil if it need not.
    mutating func wait(now: ContinuousClock.Instant) -> Duration? {
        refill(now)
        return allowed >= 0 ? nil : .seconds(-allowed / Self.perSecond)
    }

    private mutating func refill(_ now: ContinuousClock.Instant) {
        let seconds = max(0, last.duration(to: now) / .seconds(1))
        allowed = min(Self.burst, allowed + seconds * Self.perSecond)
        last = now
    }
}
