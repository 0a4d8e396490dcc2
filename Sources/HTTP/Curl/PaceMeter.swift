/// Tells a transfer that crawls from one that lives.
///
/// libcurl's own low-speed limit was measured to fire up to six seconds late, so the bytes are counted here: over the last
/// `window`, looked at eight times a window, a transfer must bring `bytesPerSecond`. A stall is noticed after one to one and an
/// eighth windows.
struct PaceMeter {
    /// Slower than this is not alive: the slowest useful line is a hundred times faster.
    static let bytesPerSecond = 1024.0
    /// Looks per window: enough that the end of a window hardly matters.
    private static let looks = 8

    private let step: Duration
    private let least: Double
    private var buckets: [Int] = []
    private var current = 0
    /// When to look next.
    private(set) var nextLook: ContinuousClock.Instant

    init(window: Duration, now: ContinuousClock.Instant) {
        step = max(window, .milliseconds(4)) / Self.looks
        least = Self.bytesPerSecond * (window / .seconds(1))
        nextLook = now.advanced(by: step)
    }

    /// Counts bytes as they come, headers included.
    mutating func received(_ count: Int) {
        current += count
    }

    /// Looks, if it is time; true if the transfer has crawled for a whole window.
    mutating func crawls(at now: ContinuousClock.Instant) -> Bool {
        guard now >= nextLook else { return false }
        buckets.append(current)
        current = 0
        if buckets.count > Self.looks { buckets.removeFirst() }
        nextLook = now.advanced(by: step)
        return buckets.count == Self.looks && Double(buckets.reduce(0, +)) < least
    }
}
