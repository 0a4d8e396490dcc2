import Glibc

/// Waits on a connection's own thread, in slices short enough to notice that the origin stops.
enum Pace {
    /// The longest sleep: 20 ms keeps a limited rate smooth and stopping prompt.
    static let slice: Int64 = 20

    /// Milliseconds of the monotonic clock.
    static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Sleeps until the time has passed or `isOver` is true; returns whether the whole time has passed.
    static func wait(milliseconds: Int64, isOver: () -> Bool) -> Bool {
        let end = now + milliseconds
        while true {
            let rest = end - now
            if rest <= 0 { return true }
            if isOver() { return false }
            var time = timespec(tv_sec: 0, tv_nsec: Int(min(rest, slice)) * 1_000_000)
            unsafe nanosleep(&time, nil)
        }
    }

    /// Whether the client has closed its connection (poll(2), POLLRDHUP).
    static func isClosed(_ socket: Int32) -> Bool {
        let closedForReading: Int16 = 0x2000  // POLLRDHUP, a GNU extension that Glibc's module hides
        let hangUp = closedForReading | Int16(POLLHUP) | Int16(POLLERR)
        var entry = pollfd(fd: socket, events: closedForReading, revents: 0)
        return unsafe poll(&entry, 1, 0) > 0 && entry.revents & hangUp != 0
    }
}

/// The number of bytes that a rate allows so far.
struct RateLimit {
    private let bytesPerSecond: Int
    private let started = Pace.now
    private var sent = 0

    init(bytesPerSecond: Int) {
        self.bytesPerSecond = max(1, bytesPerSecond)
    }

    /// Bytes that may be sent now: one slice ahead of the clock, so that sending starts at once; at least 1 when any may.
    var allowance: Int {
        let milliseconds = Int(Pace.now - started) + Int(Pace.slice)
        return max(1, bytesPerSecond / 1000 * milliseconds + bytesPerSecond % 1000 * milliseconds / 1000) - sent
    }

    mutating func spend(_ bytes: Int) {
        sent += bytes
    }
}
