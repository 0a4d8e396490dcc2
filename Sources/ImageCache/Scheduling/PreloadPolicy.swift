internal import HTTP

/// Decides which pictures to download ahead of readers: the next two, in the direction of the walk, more for a bulk walk.
///
/// A pure state machine over what readers did; it knows neither files nor network. Each directory is a walk of its own.
///
/// A walk goes by name until a step tells otherwise: one that leads far by name, and by time to the very next picture, makes it a
/// walk by time; one that leads to the very next by name, and not so by time, makes it a walk by name again. The first step
/// tells; until then the very next by time is planned behind the next two by name. Places are places by name whatever the order.
struct PreloadPolicy: Sendable {
    /// A reader who opens the next picture this soon after the last byte of the previous one did not look at it.
    static let pauseOfABulkWalk: Duration = .milliseconds(150)
    /// So long after its last picture a program that copies has come to its end: it opens the next one at once.
    static let pauseOfACopy: Duration = .milliseconds(50)
    /// Quick steps in a row that make a bulk walk even where every picture was there already.
    static let stepsOfABulkWalk = 2
    /// Directories remembered; a walk is some 100 bytes, and its order 8 a picture, shared with the listing.
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
        /// The order that it goes by; nil is by name.
        var order: PictureOrder?
        /// The order that it may go by as well; nil once a step has told.
        var other: PictureOrder?
        var step = 1
        /// Where it goes after a jump: by time the direction in which it began, since many go newest first.
        var forward = 1
        var width: Int
        var quickSteps = 0
        /// Whether its reader is known to look at nothing.
        var isBulk = false
        /// When the last byte of `last` was read.
        var finished: ContinuousClock.Instant?
        /// The newest event, to forget the oldest walk.
        var used: UInt64
        /// Whether the plan after `last` has been made.
        var isPlanned = false

        /// The place that lies some steps after `last` in the walk's order and direction; nil outside the directory.
        func place(ahead count: Int) -> Int? {
            guard let order else { return last + step * count }
            return order.place(of: last).flatMap { order.index(at: $0 + step * count) }
        }

        /// What to download after `last`, in this order.
        var plan: [Int] {
            var places = (1...width).compactMap { place(ahead: $0) }
            if let other, let next = other.place(of: last).flatMap({ other.index(at: $0 + 1) }), !places.contains(next)
            {
                places.append(next)
            }
            return places
        }
    }

    /// Pictures ahead of an ordinary reader; 0 is off.
    let ordinary: Int
    /// The window that a bulk walk comes to at once: a picture for each slot that preloads may use.
    let wide: Int
    /// The largest window: while a large picture holds up the reader, the slots that are done with the next ones find work.
    let widest: Int
    private var walks: [UInt64: Walk] = [:]
    /// Pictures of which only the first bytes had been read when they were closed, the last one of each directory.
    private var looks: [UInt64: Int] = [:]
    private var events: UInt64 = 0

    init(ordinary: Int, slots: TransferSlots) {
        wide = slots.ahead
        widest = 2 * wide
        self.ordinary = min(max(0, ordinary), widest)
    }

    /// How many pictures of a directory are preloaded now.
    func width(of directory: UInt64) -> Int {
        walks[directory]?.width ?? ordinary
    }

    /// A reader has read more than the first bytes of a picture.
    ///
    /// - Parameters:
    ///   - index: The picture's place.
    ///   - directory: Which walk it belongs to.
    ///   - byTime: The directory's pictures by time, as it is now.
    ///   - opened: When it was opened.
    ///   - wasThere: Whether it was stored when it was opened, so that the reader did not wait.
    ///   - isComplete: Whether all of it is there now.
    ///   - isBulk: Whether the reader is known to look at nothing, which others have to show by their pace.
    ///   - isSmall: Whether it is so small that the kernel may have read on to its end behind a look.
    /// - Returns: What to download ahead.
    mutating func passed(
        _ index: Int, in directory: UInt64, byTime: PictureOrder? = nil, opened: ContinuousClock.Instant,
        wasThere: Bool, isComplete: Bool, isBulk: Bool = false, isSmall: Bool = false
    ) -> Decision {
        guard ordinary > 0 else { return .nothing }
        // Behind a look at another one it is one more look; the next such one is read. Viewers look at the picture that they read.
        if let look = looks.removeValue(forKey: directory), look != index, isSmall, !isBulk { return .nothing }
        events += 1
        guard var walk = walks[directory] else {
            forgetOldest()
            walks[directory] = Walk(last: index, other: isBulk ? nil : byTime, width: ordinary, used: events)
            return isComplete || isBulk ? plan(directory) : .nothing
        }
        walk.used = events
        guard index != walk.last else {
            walks[directory] = walk
            return isComplete ? plan(directory) : .nothing
        }
        let reach = max(walk.width, ordinary)
        let (move, isTurn) = step(to: index, byTime: byTime, reach: reach, &walk)
        let isNear = abs(move) <= reach
        if isNear, !isTurn, abs(move) == 1 || move.signum() == walk.step {
            pace(&walk, move: move, opened: opened, wasThere: wasThere, isBulk: isBulk)
        } else {
            walk.width = ordinary
            walk.quickSteps = 0
        }
        if isNear { walk.other = nil }
        walk.step = isNear ? move.signum() : walk.forward
        walk.last = index
        walk.isBulk = isBulk
        walk.finished = nil
        walk.isPlanned = false
        walks[directory] = walk
        // A bulk walk plans at once, so that every connection has work; others wait for the picture itself.
        if isComplete || walk.width > ordinary { return plan(directory) }
        return isNear && !isTurn ? .nothing : .drop
    }

    /// Recognises the order in which a reader goes on, and measures the step in it.
    ///
    /// - Returns: The distance, and whether the walk has changed its order.
    private func step(
        to index: Int, byTime: PictureOrder?, reach: Int, _ walk: inout Walk
    ) -> (move: Int, isTurn: Bool) {
        let byName = index - walk.last
        let wasByTime = walk.order != nil
        walk.order = nil
        if let byTime, let place = byTime.place(of: index), let last = byTime.place(of: walk.last) {
            let move = place - last
            let isByTime =
                if wasByTime {
                    // Chance seldom makes two pictures neighbours by name, and a walk by name makes nothing else.
                    abs(move) == 1 || abs(byName) != 1
                } else {
                    abs(move) == 1 && abs(byName) > reach
                }
            if isByTime {
                walk.order = byTime
                if !wasByTime { walk.forward = move }
                return (move, !wasByTime)
            }
        }
        walk.forward = 1
        return (byName, wasByTime)
    }

    /// Widens the window for a reader who makes no pause, and closes it again after one.
    private func pace(
        _ walk: inout Walk, move: Int, opened: ContinuousClock.Instant, wasThere: Bool, isBulk: Bool
    ) {
        guard let finished = walk.finished, opened - finished <= Self.pauseOfABulkWalk, move.signum() == walk.step
        else {
            walk.quickSteps = 0
            walk.width = ordinary
            return
        }
        walk.quickSteps += 1
        if isBulk { walk.width = max(walk.width, wide) }
        // Catching up with the preloads proves that they are too few; otherwise it takes a second quick step.
        if isBulk || !wasThere || walk.quickSteps >= Self.stepsOfABulkWalk {
            // Beyond that never more ahead than were read in a row, for nobody tells how long the walk is.
            walk.width = min(walk.width * 2, max(wide, walk.quickSteps), widest)
        }
    }

    /// All bytes of a picture are there.
    mutating func completed(_ index: Int, in directory: UInt64) -> Decision {
        guard let walk = walks[directory], walk.last == index, !walk.isPlanned else { return .nothing }
        return plan(directory)
    }

    /// A reader closes a picture of which it has read the first bytes only.
    mutating func looked(at index: Int, in directory: UInt64) {
        if looks.count >= Self.mostWalks { looks = [:] }
        looks[directory] = index
    }

    /// A reader took the last byte of a picture.
    mutating func finished(_ index: Int, in directory: UInt64, now: ContinuousClock.Instant) {
        guard walks[directory]?.last == index else { return }
        walks[directory]?.finished = now
    }

    /// The directories whose bulk walk nobody goes on with: no more than the ordinary number of pictures is wanted there.
    mutating func rested(now: ContinuousClock.Instant) -> [UInt64] {
        let over = walks.filter { _, walk in
            let pause = walk.isBulk ? Self.pauseOfACopy : Self.pauseOfABulkWalk
            return walk.width > ordinary && walk.finished.map { now - $0 > pause } ?? false
        }
        for directory in over.keys {
            walks[directory]?.width = ordinary
            walks[directory]?.quickSteps = 0
        }
        return over.keys.sorted()
    }

    private mutating func plan(_ directory: UInt64) -> Decision {
        guard let walk = walks[directory], !walk.isPlanned else { return .nothing }
        walks[directory]?.isPlanned = true
        return .plan(walk.plan)
    }

    private mutating func forgetOldest() {
        guard walks.count >= Self.mostWalks, let oldest = walks.min(by: { $0.value.used < $1.value.used }) else {
            return
        }
        walks[oldest.key] = nil
    }
}
