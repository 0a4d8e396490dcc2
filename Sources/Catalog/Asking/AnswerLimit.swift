import HTTP

/// How long an answer may take, and by which clock.
struct AnswerLimit: Sendable {
    let duration: Duration
    private let time: TimeSource

    init(_ duration: Duration, _ time: TimeSource) {
        self.duration = duration
        self.time = time
    }

    /// When to give up what is asked now.
    var deadline: ContinuousClock.Instant { time.now() + duration }
}
