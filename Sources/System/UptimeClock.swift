/// The clock of deadlines and waits, which stands still while the machine is suspended (CLOCK_MONOTONIC of clock_gettime(2)): a reader
/// that sleeps with the machine has the rest of its time when it wakes.
///
/// Its instants are those of the continuous clock, less the time suspended since the process first read it; the age of things outside
/// the machine, such as connections and addresses, is measured with `ContinuousClock` itself.
package struct UptimeClock: Clock {
    private static let start = (continuous: ContinuousClock.now, suspending: SuspendingClock.now)

    /// The present instant.
    package static var now: ContinuousClock.Instant { start.continuous + (SuspendingClock.now - start.suspending) }

    package init() {}

    package var now: ContinuousClock.Instant { Self.now }

    package var minimumResolution: Duration { SuspendingClock().minimumResolution }

    package func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await SuspendingClock().sleep(until: SuspendingClock.now + (deadline - now), tolerance: tolerance)
    }
}
