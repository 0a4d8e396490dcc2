internal import HTTP

/// The limits and places a cache works with.
package struct CacheConfiguration: Sendable {
    /// The cache's own directory, made with mode 0700 and marked so that backups skip it.
    package var directory: String
    /// Byte budget of stored pictures.
    package var budget: Int64
    /// Bytes of free disk that stay free.
    package var freeFloor: Int64
    /// Pictures preloaded ahead of a reader; 0 turns preloading off.
    package var preload: Int
    /// The bound of one waiting read.
    package var timeout: Duration
    /// How long a network that does not answer is given before a read fails.
    package var networkTimeout: Duration
    /// Wall clock in Unix seconds.
    package var now: @Sendable () -> Int64
    /// The monotonic clock that deadlines and pauses are measured by.
    package var monotonicNow: @Sendable () -> ContinuousClock.Instant = TimeSource.system.now
    /// A number below a bound, for choices by chance.
    package var chance: @Sendable (_ bound: Int) -> Int = { Int.random(in: 0..<max(1, $0)) }
    /// Whether pictures may be downloaded that nobody reads yet; asked often, from any thread, so it must not wait.
    package var mayPreload: @Sendable () -> Bool = { true }
    /// Whether the last part of a picture's address is that of something that stands in for one that the service withholds.
    package var isPlaceholder: @Sendable (_ name: Substring) -> Bool = { _ in false }
    /// Where pictures are shared with other machines; nil for nowhere.
    package var tier: (any PictureTier)?
    /// Whether deadlines are looked after by a timer; tests call `tick` themselves.
    package var hasTimer = true

    package init(
        directory: String, budget: Int64, freeFloor: Int64, preload: Int, timeout: Duration,
        networkTimeout: Duration, now: @escaping @Sendable () -> Int64
    ) {
        self.directory = directory
        self.budget = budget
        self.freeFloor = freeFloor
        self.preload = preload
        self.timeout = timeout
        self.networkTimeout = networkTimeout
        self.now = now
    }
}
