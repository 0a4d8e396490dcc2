import CLinux
import Glibc
import HTTP

/// The monotonic clock, which is never set.
enum MonotonicClock {
    /// The present instant, of the clock that deadlines use.
    static var now: ContinuousClock.Instant { TimeSource.system.now() }

    /// Seconds since some fixed moment, to the millisecond.
    static func seconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec / 1_000_000) / 1000
    }
}

/// The wall clock.
enum WallClock {
    /// Unix seconds.
    @Sendable static func now() -> Int64 { Int64(time(nil)) }
}
