internal import HTTP
internal import Synchronization

/// What time it is for a store, from the dates of its answers, so that nobody else's clock matters.
///
/// It goes on by a clock that nobody sets, so that it is right also if this machine's is put right meanwhile.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class StoreClock: Sendable {
    /// By how many seconds a clock may be wrong before it matters: stores refuse at fifteen minutes (Amazon S3, `RequestTimeTooSkewed`).
    static let tolerance: Int64 = 300
    /// A date further away than this, in seconds, is believed for ages and not for signatures: who can name any date on a line that
    /// is not protected must not collect signatures for next year.
    static let furthest: Int64 = 86_400

    private let told = Mutex<(seconds: Int64, at: ContinuousClock.Instant)?>(nil)
    private let time: TimeSource
    private let wallClock: @Sendable () -> Int64

    init(time: TimeSource, wallClock: @escaping @Sendable () -> Int64) {
        self.time = time
        self.wallClock = wallClock
    }

    /// Takes the date of an answer, whatever else the answer says.
    func heard(_ head: HTTPAnswer) {
        guard let answered = head.sent else { return }
        let now = time.now()
        told.withLock { $0 = (answered, now) }
    }

    /// Unix seconds; nil before the store has told.
    var now: Int64? {
        guard let told = told.withLock({ $0 }) else { return nil }
        let (now, overflows) = told.seconds.addingReportingOverflow(told.at.duration(to: time.now()).components.seconds)
        return overflows ? nil : now
    }

    /// The time that a signature is to name: this machine's where it is right enough, otherwise the store's.
    var signing: (seconds: Int64, isOwn: Bool) {
        let own = wallClock()
        guard let now, now > own - Self.furthest, now < own + Self.furthest, !Self.agree(now, own) else {
            return (own, true)
        }
        return (now, false)
    }

    /// Whether a store takes one of these times for the other.
    static func agree(_ one: Int64, _ other: Int64) -> Bool {
        let (apart, overflows) = one.subtractingReportingOverflow(other)
        return !overflows && apart.magnitude <= UInt64(tolerance)
    }
}
