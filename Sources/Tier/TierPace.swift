import Synchronization

/// The least pace of all downloads from the object store together.
///
/// A slow disk reads faster, and below this pace the image host is the better source, unless it is slow itself: half of its pace, and
/// twice its time to a first byte, are enough. A single download must keep to its share: the bytes that the line delivers, divided
/// by the number of downloads at each moment.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class TierPace: Sendable {
    /// The least bytes a second, measured from the first byte on.
    static let slowest: Int64 = 512 << 10
    /// The time at the start of a download in which the pace is not checked, and the interval of later checks.
    static let grace = Duration.seconds(1)
    /// The interval at which a download with a reader is compared with one from the image host.
    static let interval = Duration.milliseconds(250)
    /// The least time by which the pace is judged when a reader joins a download.
    static let glance = Duration.milliseconds(50)
    /// The longest wait of a reader, for a picture of any size.
    static let longestPatience = Duration.seconds(8)
    /// The assumed bytes a second of a picture that another machine or an unknown host brings.
    static let assumed: Double = 2_097_152
    /// The least bytes of an answer by which a pace is measured.
    private static let measurable: Int64 = 64 << 10
    /// The usual time to a first block up to which a store is near enough for readers, however near the image host is: what they wait
    /// spares the service a request of each machine.
    static let near = Duration.milliseconds(250)
    /// The time after which a usual time to a first block counts no longer: only downloads show that a store is quick again.
    static let remembers = Duration.seconds(30)
    /// The time after a download given up without a block in which no other one is tried.
    static let shuns = Duration.seconds(15)

    /// The required pace of a download: the time of its first byte, and the credit then.
    typealias Share = (began: ContinuousClock.Instant, credit: Double)

    private struct State {
        var running = 0
        /// The bytes that a download present from the beginning on must have received.
        var credit: Double = 0
        var at: ContinuousClock.Instant?
        /// The time to the first byte of the image host's answers, and the bytes a second of each after it, as averages.
        var hostFirst = UsualAnswer()
        var hostPace: Double?
        /// The time to the first block of the store's pictures, or to the answer that there is none, and the time of the last one.
        var first = UsualAnswer()
        var firstAt: ContinuousClock.Instant?
        /// The time of the last download, if it was given up without a block and the store is usually that late.
        var givenUpAt: ContinuousClock.Instant?

        /// Whether the store usually takes longer to a first block than the image host to as many bytes.
        var isFar: Bool {
            guard let usual = first.usual else { return false }
            let block = Double(BlockDigests.smallest) / (hostPace ?? TierPace.assumed)
            return usual > max((hostFirst.expected + .seconds(block)) * 1.2, TierPace.near)
        }

        /// The seconds that the image host needs for a whole picture.
        func hostTime(_ length: Int64) -> Double {
            hostFirst.expected / .seconds(1) + Double(length) / (hostPace ?? TierPace.assumed)
        }

        mutating func pass(_ now: ContinuousClock.Instant) {
            defer { at = now }
            guard let at, running > 0 else { return }
            let share = Double(TierPace.slowest) / Double(running)
            credit += max(0, (now - at) / Duration.seconds(1)) * min(share, hostPace.map { $0 / 2 } ?? share)
        }
    }

    private let state = Mutex(State())

    /// The longest wait for the answer that there is no picture, or for the permission to bring it.
    var firstByte: Duration { state.withLock { $0.hostFirst.late } }

    /// Returns the longest wait for the first block of a download of so many bytes (nil: an unknown number), before which no reader gets
    /// any of it.
    func firstBlock(of length: Int64?) -> Duration {
        state.withLock { state in
            let pace = state.hostPace.map { $0 / 2 } ?? Double(Self.slowest)
            let block = Double(BlockDigests.size(forLength: length ?? 0)) / pace * Double(max(1, state.running))
            return min(state.hostFirst.late + .seconds(block), UsualAnswer.limits.most)
        }
    }

    /// Takes note of the time to the first block of a picture, or to the answer that there is none, or until that was given up.
    func came(after duration: Duration, isGivenUp: Bool = false, now: ContinuousClock.Instant) {
        state.withLock { state in
            state.first.learn(duration)
            state.firstAt = now
            // A single one is no sign of a store that is slow.
            state.givenUpAt = isGivenUp && state.isFar ? now : nil
        }
    }

    /// Returns whether readers had better ask the image host at once, which usually takes less time to as many bytes.
    func isFar(now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in state.isFar && state.firstAt.map { now - $0 < Self.remembers } ?? false }
    }

    /// Returns whether the last download was given up a moment ago without a block from a store that is usually so late, so that
    /// preloads, which are soon read, had better come from the image host, too.
    func isShunned(now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in state.givenUpAt.map { now - $0 < Self.shuns } ?? false }
    }

    /// Returns whether the rest of a download takes longer at its present pace than the whole picture from the image host.
    ///
    /// - Parameters:
    ///   - left: The bytes to come.
    ///   - length: The bytes of the picture.
    ///   - pace: The bytes a second at present.
    /// - Returns: Whether it does.
    func isBehind(_ left: Int64, of length: Int64, at pace: Double) -> Bool {
        state.withLock { state in
            Double(left) > pace * state.hostTime(length)
        }
    }

    /// Returns whether a whole picture came about as soon as from the image host; a slow one is no sign of a quick store.
    func isQuick(_ length: Int64, in duration: Duration) -> Bool {
        state.withLock { state in
            duration <= max(.seconds(state.hostTime(length) * 1.2), Self.near)
        }
    }

    /// Takes note of an answer of the image host.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of its body.
    ///   - firstAfter: The time from the request to the answer's head.
    ///   - duration: The time from there to the end.
    func learn(_ bytes: Int64, firstAfter: Duration, in duration: Duration) {
        state.withLock { state in
            state.hostFirst.learn(firstAfter)
            guard bytes >= Self.measurable, duration > .zero else { return }
            let pace = Double(bytes) / (duration / .seconds(1))
            state.hostPace = state.hostPace.map { ($0 * 3 + pace) / 4 } ?? pace
        }
    }

    /// Begins a download at its first byte.
    func begin(now: ContinuousClock.Instant) -> Share {
        state.withLock { state in
            state.pass(now)
            state.running += 1
            return (now, state.credit)
        }
    }

    /// Ends a download that has begun.
    func end(now: ContinuousClock.Instant) {
        state.withLock { state in
            state.pass(now)
            state.running = max(0, state.running - 1)
        }
    }

    /// Returns the bytes that must have arrived by now.
    func due(_ share: Share, now: ContinuousClock.Instant) -> Int64 {
        let passed = now - share.began
        guard passed > Self.grace else { return 0 }
        let credit = state.withLock { state in
            state.pass(now)
            return state.credit - share.credit
        }
        return Int64(min(credit * ((passed - Self.grace) / passed), Double(Int32.max) * 1024))
    }
}
