/// A bound on bytes: a burst, then a steady rate.
struct BytePace: Sendable {
    /// Bytes that may go at once: the previews of a whole day of 500 pictures.
    ///
    /// Who scrolls through it finds them. A preview has a tenth of the bytes of the picture that would be read without it.
    static let burst = 32.0 * 1_048_576
    /// Bytes a second afterwards: twenty previews, more than anybody scrolls, less than a slow line has.
    static let perSecond = 1_048_576.0

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
