/// The monotonic clock as deadlines use it, replaceable in tests.
///
/// ## Concurrency
///
/// A value of sendable closures; any thread may call.
package struct TimeSource: Sendable {
    /// The present instant.
    package let now: @Sendable () -> ContinuousClock.Instant
    /// Waits so long; throws if the task is cancelled.
    package let sleep: @Sendable (Duration) async throws -> Void

    /// The system's clock.
    package static let system = TimeSource(ContinuousClock())

    /// A clock whose instants are comparable with deadlines.
    package init<C: Clock>(_ clock: C) where C.Instant == ContinuousClock.Instant {
        now = { clock.now }
        sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
    }
}
