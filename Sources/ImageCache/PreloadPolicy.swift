/// Decides which pictures to download ahead of readers: the next two, in the direction of the walk, more for a bulk walk.
///
/// A pure state machine over what readers did; it knows neither files nor network. Each directory is a walk of its own.
struct PreloadPolicy: Sendable {
    /// A reader who opens the next picture this soon after the last byte of the previous one did not look at it.
    static let pauseOfABulkWalk: Duration = .milliseconds(150)
    /// The window that a bulk walk comes to at once: as many as there are connections.
    static let wide = 8
    /// The largest window: while a large picture holds up the reader, the connections that are done with the next ones find work.
    static let widest = 24
    /// Quick steps in a row that make a bulk walk even where every picture was there already.
    static let stepsOfABulkWalk = 2
    /// Directories remembered; a walk is 80 bytes.
    static let mostWalks = 64

    /// What to do with a directory's plans.
    enum Decision: Equatable, Sendable {
        case nothing
        /// Download these places in this order; they replace what was planned before.
        case plan([Int])
        /// Forget what was planned and not begun.
        case drop
    }

    private struct Walk {
        var last: Int
        var step = 1
        var width: Int
        var quickSteps = 0
        /// When the last byte of `last` was read.
        var finished: ContinuousClock.Instant?
        /// The newest event, to forget the oldest walk.
        var used: UInt64
        /// Whether the plan after `last` has been made.
        var isPlanned = false
    }

    /// Pictures ahead of an ordinary reader; 0 is off.
    let ordinary: Int
    private var walks: [UInt64: Walk] = [:]
    private var events: UInt64 = 0

    init(ordinary: Int) {
        self.ordinary = min(max(0, ordinary), Self.widest)
    }

    /// How many preloads of a directory may be under way.
    func width(of directory: UInt64) -> Int {
        walks[directory]?.width ?? ordinary
    }

    /// A reader has read more than the first bytes of a picture.
    ///
    /// - Parameters:
    ///   - index: The picture's place.
    ///   - directory: Which walk it belongs to.
    ///   - opened: When it was opened.
    ///   - wasThere: Whether it was stored when it was opened, so that the reader did not wait.
    ///   - isComplete: Whether all of it is there now.
    /// - Returns: What to download ahead.
    mutating func passed(
        _ index: Int, in directory: UInt64, opened: ContinuousClock.Instant, wasThere: Bool, isComplete: Bool
    ) -> Decision {
        guard ordinary > 0 else { return .nothing }
        events += 1
        guard var walk = walks[directory] else {
            forgetOldest()
            walks[directory] = Walk(last: index, width: ordinary, used: events)
            return isComplete ? plan(directory) : .nothing
        }
        walk.used = events
        guard index != walk.last else {
            walks[directory] = walk
            return isComplete ? plan(directory) : .nothing
        }
        let move = index - walk.last
        let isNear = abs(move) <= max(walk.width, ordinary)
        if isNear, abs(move) == 1 || move.signum() == walk.step {
            pace(&walk, move: move, opened: opened, wasThere: wasThere)
        } else {
            walk.width = ordinary
            walk.quickSteps = 0
        }
        walk.step = isNear ? move.signum() : 1
        walk.last = index
        walk.finished = nil
        walk.isPlanned = false
        walks[directory] = walk
        // A bulk walk plans at once, so that every connection has work; others wait for the picture itself.
        if isComplete || walk.width > ordinary { return plan(directory) }
        return isNear ? .nothing : .drop
    }

    /// Widens the window for a reader who makes no pause, and closes it again after one.
    private func pace(_ walk: inout Walk, move: Int, opened: ContinuousClock.Instant, wasThere: Bool) {
        guard let finished = walk.finished, opened - finished <= Self.pauseOfABulkWalk, move.signum() == walk.step
        else {
            walk.quickSteps = 0
            walk.width = ordinary
            return
        }
        walk.quickSteps += 1
        // Catching up with the preloads proves that they are too few; otherwise it takes a second quick step.
        if !wasThere || walk.quickSteps >= Self.stepsOfABulkWalk {
            // Beyond that never more ahead than were read in a row, for nobody tells how long the walk is.
            walk.width = min(walk.width * 2, max(Self.wide, walk.quickSteps), Self.widest)
        }
    }

    /// All bytes of a picture are there.
    mutating func completed(_ index: Int, in directory: UInt64) -> Decision {
        guard let walk = walks[directory], walk.last == index, !walk.isPlanned else { return .nothing }
        return plan(directory)
    }

    /// A reader took the last byte of a picture.
    mutating func finished(_ index: Int, in directory: UInt64, now: ContinuousClock.Instant) {
        guard walks[directory]?.last == index else { return }
        walks[directory]?.finished = now
    }

    private mutating func plan(_ directory: UInt64) -> Decision {
        guard let walk = walks[directory], !walk.isPlanned else { return .nothing }
        walks[directory]?.isPlanned = true
        return .plan((1...walk.width).map { walk.last + walk.step * $0 })
    }

    private mutating func forgetOldest() {
        guard walks.count >= Self.mostWalks, let oldest = walks.min(by: { $0.value.used < $1.value.used }) else {
            return
        }
        walks[oldest.key] = nil
    }
}
