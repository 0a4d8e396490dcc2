internal import HTTP
internal import Rankings

/// Turns waiting readers, downloads, wishes to preload and free slots into requests; nothing else decides which
/// pictures are asked for next, how much of one a request brings, and whose request gives its slot to another.
///
/// In this order, over and over until nothing is left to do:
///
/// 1. A read that waits for bytes which nothing under way brings gets a request. If no slot is free, what was begun last of all
///    that nobody reads is given up for it, at the price of a connection; if there is none, the request waits in the transport.
/// 2. Of what else readers want, each picture gets one request, then the free slots are theirs: first the pictures that somebody
///    waits for, then those with the fewest requests, then those that lack most. Until its first answer a picture has a quarter
///    of what others leave, for those who come at the same moment. One request brings so much that it ends when all would end
///    if what readers want were spread evenly over all slots.
/// 3. Those that may be used ahead of readers fetch the pictures begun before, in parts: what is there in part is worth more to
///    who comes than the beginning of what lies behind it. Then the next wish is begun.
///
/// Pure: it keeps the wishes, is told what there is and returns one order at a time, which the caller carries out before it asks again.
struct DownloadScheduler: Sendable {
    /// What it is told of a download.
    struct Demand: Sendable {
        let key: FileKey
        /// Grows with each download: their order.
        var number: UInt64 = 0
        /// What each request that is under way or waits for a slot still has to bring, in bytes; what it takes before its first
        /// byte is counted as `latency`.
        var requests: [Int64] = []
        /// The number of the request that was begun last.
        var newest: UInt64 = 0
        /// Whether a reader has it open or waits.
        var isRead = false
        /// Whether somebody waits for bytes or for the length.
        var isAwaited = false
        /// Whether the source has told anything.
        var hasAnswer = false
        /// Bytes that a waiting read needs and nothing under way brings soon.
        var awaited: Piece?
        /// The next bytes that are wanted besides.
        var wanted: Piece?
        /// The end of what one request was to bring alone.
        var spare: Piece?
        /// The picture's length; nil if nobody told.
        var total: Int64?
    }

    /// What to do next.
    enum Order: Equatable, Sendable {
        /// Ask for all of this piece.
        case request(FileKey, Piece)
        /// End this request of a download that nobody reads: a reader needs its slot.
        case giveUp(FileKey, UInt64)
        /// Begin a download for the first wish.
        case begin
    }

    /// What a connection could bring while a request waits for its first byte: 60 ms at 4 MiB/s.
    static let latency: Int64 = 250 << 10
    /// The smallest share of a picture that is read: at 4 MiB/s it takes 31 ms, half of what a request does before its first byte.
    static let smallestRead: Int64 = 128 << 10
    /// Who lacks less, and has asked for nothing yet, gets it at once: a second request would cost the host more than it saves.
    static let leastDivided: Int64 = 3 * smallestRead
    /// Shares are multiples of this.
    private static let grain: Int64 = 16 << 10
    /// The part of the free slots that a picture may take before anything is heard of it.
    private static let strangersPart = 4

    /// What the transport carries at once.
    let slots: TransferSlots
    /// Pictures to download ahead of readers, the next one first.
    var wishes: [Wish] = []
    /// Until when none of them is begun, because the network failed.
    var restsUntil: ContinuousClock.Instant?

    init(slots: TransferSlots) {
        self.slots = slots
    }

    /// Says what to do next.
    ///
    /// - Parameters:
    ///   - downloads: All of them, in any order.
    ///   - wishes: Pictures that wait to be preloaded.
    /// - Returns: Nil while everything is under way that should be.
    func next(_ downloads: [Demand], wishes: Int) -> Order? {
        let order = downloads.sorted { ($0.isAwaited ? 0 : 1, $0.number) < ($1.isAwaited ? 0 : 1, $1.number) }
        let free = slots.all - downloads.reduce(0) { $0 + $1.requests.count }
        lazy var level = self.level(downloads, free: free)
        // Readers' requests wait in the transport; what nobody reads any more may have a slot meanwhile.
        if free < 0, order.first?.isAwaited == true, let way = way(downloads) { return way }
        for download in order {
            guard let piece = download.awaited ?? (download.isLeftWaiting ? download.wanted : nil) else { continue }
            if free <= 0, let way = way(downloads) { return way }
            return .request(download.key, share(of: piece, for: download, level))
        }
        guard free > 0 else { return nil }
        for download in order where download.isRead && download.requests.isEmpty {
            guard let piece = download.wanted else { continue }
            return .request(download.key, share(of: piece, for: download, level))
        }
        let read = order.filter { $0.isRead && allowance(of: $0, free: free) > 0 && $0.useful != nil }
        if let download = read.min(by: needsMore), let piece = download.useful {
            return .request(download.key, share(of: piece, for: download, level))
        }
        return ahead(order, wishes: wishes, free: free)
    }

    /// What to do in the slots that may be used for what nobody waits for.
    private func ahead(_ order: [Demand], wishes: Int, free: Int) -> Order? {
        let unread = order.reduce(0) { $0 + ($1.isRead ? 0 : $1.requests.count) }
        let idle = min(free, slots.ahead - unread)
        guard idle > 0 else { return nil }
        for download in order where !download.isRead {
            guard let piece = download.wanted ?? (idle > wishes ? download.spare : nil) else { continue }
            return .request(download.key, part(of: piece, in: download))
        }
        return wishes > 0 ? .begin : nil
    }

    /// Makes room for a reader: ends what was begun last of all that nobody waits for; nil if there is nothing of the kind.
    private func way(_ downloads: [Demand]) -> Order? {
        let preload = downloads.filter { !$0.isRead && !$0.requests.isEmpty }.max { $0.newest < $1.newest }
        return preload.map { .giveUp($0.key, $0.newest) }
    }

    /// How many requests more a picture that is read may have.
    private func allowance(of download: Demand, free: Int) -> Int {
        guard !download.hasAnswer else { return free }
        let left = max(0, free) + download.requests.count
        return (left + Self.strangersPart - 1) / Self.strangersPart - download.requests.count
    }

    /// Whether a picture that is read is in greater need of one more request than another.
    private func needsMore(_ one: Demand, _ other: Demand) -> Bool {
        func rank(_ download: Demand) -> (Int, Int, Int64) {
            (download.isAwaited ? 0 : 1, download.requests.count, -(download.useful?.length ?? 0))
        }
        return rank(one) < rank(other)
    }

    /// What each slot would have to bring if all that readers want were spread so that all slots end at once.
    ///
    /// In bytes, latencies included: what is under way counts as well, and slots that are busy for longer get nothing.
    private func level(_ downloads: [Demand], free: Int) -> Int64 {
        var sum = downloads.reduce(0) { $0 + ($1.isRead ? $1.useful?.length ?? 0 : 0) }
        let idle = Array(repeating: Int64(0), count: max(1, free))
        var level = Int64.max
        for (count, load) in (idle + downloads.flatMap(\.requests).sorted()).enumerated() {
            if level <= load + Self.latency { break }
            sum += load + Self.latency
            level = sum / Int64(count + 1)
        }
        return level
    }

    /// So much of what a reader wants that it ends with the others; what is left comes in equal shares.
    private func share(of piece: Piece, for download: Demand, _ level: Int64) -> Piece {
        guard piece.isDivisible, piece.length >= Self.leastDivided || !download.requests.isEmpty else { return piece }
        let share = min(max(level - Self.latency, Self.smallestRead), DownloadLimits.largestRead)
        // What exceeds a share by a quarter of one is divided: a slot that is free later takes the rest.
        let count = max(
            (piece.length * 4 + share * 3) / (share * 4), (piece.length - 1) / DownloadLimits.largestRead + 1)
        return piece.prefix(max(Self.smallestRead, Self.part(of: piece.length, count)))
    }

    /// The next part of what nobody reads yet.
    private func part(of piece: Piece, in download: Demand) -> Piece {
        guard piece.isDivisible, download.total ?? .max > DownloadLimits.longestUnread else { return piece }
        return piece.prefix(
            Self.part(of: piece.length, (piece.length + DownloadLimits.unreadPart / 2) / DownloadLimits.unreadPart))
    }

    private static func part(of length: Int64, _ count: Int64) -> Int64 {
        guard count > 1 else { return length }
        return min(length, (length / count + grain - 1) / grain * grain)
    }
}

extension DownloadScheduler.Demand {
    /// What one more request of a picture that is read would bring.
    fileprivate var useful: Piece? { wanted ?? spare }

    /// Whether somebody waits for it, and nothing of it is under way.
    fileprivate var isLeftWaiting: Bool { isAwaited && requests.isEmpty }
}

extension DownloadScheduler {
    /// A picture to download ahead of somebody's walk.
    struct Wish: Sendable {
        let directory: UInt64
        let picture: PictureRequest
    }

    /// How many wishes may be begun now.
    func ready(now: ContinuousClock.Instant) -> Int {
        restsUntil.map { $0 > now } ?? false ? 0 : wishes.count
    }

    /// Takes wishes, the first one next, in place of what was wished for that directory.
    mutating func wish(_ pictures: [PictureRequest], directory: UInt64) {
        dropWishes(of: directory)
        wishes += pictures.map { Wish(directory: directory, picture: $0) }
    }

    /// Takes the first wish out.
    mutating func takeWish() -> Wish? { wishes.isEmpty ? nil : wishes.removeFirst() }

    /// Forgets all wishes.
    mutating func dropWishes() { wishes = [] }

    /// Forgets a directory's wishes.
    mutating func dropWishes(of directory: UInt64) { wishes.removeAll { $0.directory == directory } }

    /// Forgets the wishes that are void.
    mutating func dropWishes(where isVoid: (Wish) -> Bool) { wishes.removeAll(where: isVoid) }

    /// The network failed: forgets all wishes and begins no new ones for a while.
    mutating func rest(until end: ContinuousClock.Instant) {
        restsUntil = end
        dropWishes()
    }

    /// The network works again.
    mutating func goOn() { restsUntil = nil }
}

extension Downloads {
    /// What the scheduler is told of them.
    var demands: [DownloadScheduler.Demand] {
        entries.map { $0.value.download.demand($0.key, number: $0.value.number) }
    }
}

extension Download {
    /// What the scheduler is told of it.
    func demand(_ key: FileKey, number: UInt64) -> DownloadScheduler.Demand {
        DownloadScheduler.Demand(
            key: key, number: number, requests: segments.values.map(load),
            newest: segments.keys.max() ?? 0, isRead: isRead, isAwaited: !waiters.isEmpty, hasAnswer: hasAnswer,
            awaited: awaitedPiece, wanted: wantedPiece, spare: sparePiece, total: total)
    }

    /// What a request still has to bring, as the scheduler counts it.
    private func load(_ segment: Segment) -> Int64 {
        let end = min(segment.end, total ?? segment.next + DownloadLimits.assumedLength)
        return max(0, end - segment.next) + (segment.hasAnswer ? 0 : DownloadScheduler.latency)
    }
}

// MARK: - Walks

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
