internal import HTTP
internal import Rankings

/// Turns waiting readers, downloads, wishes to preload and free slots into requests.
///
/// Nothing else decides which pictures are requested next, how much of a picture one request brings, and which request gives
/// its slot to another.
///
/// In this order, over and over until nothing is left to do:
///
/// 1. A read that waits for bytes which no request under way brings gets a request. If no slot is free, the newest request of a
///    download without readers is given up for it, at the price of a connection; if there is none, the request waits in the
///    transport.
/// 2. Of the other bytes that readers want, each picture gets one request, then the free slots are theirs: first the pictures
///    with waiters, then those with the fewest requests, then those that lack most. Until its first answer a picture has a
///    quarter of the slots that others leave, for readers that come at the same moment. One request brings so much that it ends
///    when all would end if the wanted bytes were spread evenly over all slots. A preload for a program that copies is not spread:
///    the next pictures have a use for the slots.
/// 3. The slots that may be used ahead of readers fetch the pictures begun before, in parts: a partly present picture is worth
///    more to a coming reader than the beginning of the next one. Then the next wish is begun.
///
/// Pure: it keeps the wishes, takes the state of the downloads and returns one order at a time, which the caller carries out
/// before the next call.
struct DownloadScheduler: Sendable {
    /// The scheduler's view of a download.
    struct Demand: Sendable {
        let key: PictureID
        /// A number that grows with each download and gives their order.
        var number: UInt64 = 0
        /// The bytes that each request under way or waiting for a slot still has to bring.
        ///
        /// The time before a request's first byte is counted as `latency`.
        var requests: [Int64] = []
        /// The number of the newest request.
        var newest: UInt64 = 0
        /// Whether a reader has it open or waits.
        var isRead = false
        /// Whether a waiter waits for bytes or for the length.
        var isAwaited = false
        /// Whether it is for a program that copies.
        var isCopied = false
        /// Whether the source has answered.
        var hasAnswer = false
        /// The bytes that a waiting read needs and that no request under way brings soon.
        var awaited: Piece?
        /// The next other bytes that are wanted.
        var wanted: Piece?
        /// The end of the range that one request was to bring alone.
        var spare: Piece?
        /// The picture's length in bytes; nil if unknown.
        var total: Int64?
    }

    /// An order to the caller.
    enum Order: Equatable, Sendable {
        /// Request all of this piece.
        case request(PictureID, Piece)
        /// End this request of a download without readers: a reader needs its slot.
        case giveUp(PictureID, UInt64)
        /// Begin a download for the first wish.
        case begin
    }

    /// The bytes that a connection could bring while a request waits for its first byte: 60 ms at 4 MiB/s.
    static let latency: Int64 = 250 << 10
    /// The smallest share of a picture with readers, in bytes.
    ///
    /// At 4 MiB/s it takes 31 ms, half of the time that a request takes before its first byte.
    static let smallestRead: Int64 = 128 << 10
    /// A picture that lacks less, and has no request yet, gets it at once: a second request would cost the host more than it saves.
    static let leastDivided: Int64 = 3 * smallestRead
    /// Shares are multiples of this, in bytes.
    private static let grain: Int64 = 16 << 10
    /// The free slots divided by this are those that a picture may take before its first answer.
    private static let strangersPart = 4

    /// The slots of the transport.
    let slots: TransferSlots
    /// The pictures to preload, the next one first.
    var wishes: [Wish] = []
    /// The time until which no wish is begun, because the network failed.
    var restsUntil: ContinuousClock.Instant?

    /// Returns the next order.
    ///
    /// - Parameters:
    ///   - downloads: All downloads, in any order.
    ///   - wishes: The number of pictures that wait to be preloaded.
    /// - Returns: Nil while every request is under way that should be.
    func next(_ downloads: [Demand], wishes: Int) -> Order? {
        let order = downloads.sorted { ($0.isAwaited ? 0 : 1, $0.number) < ($1.isAwaited ? 0 : 1, $1.number) }
        let free = slots.all - downloads.reduce(0) { $0 + $1.requests.count }
        lazy var level = self.level(downloads, free: free)
        // Readers' requests wait in the transport; requests without readers may hold slots meanwhile.
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

    /// The order for the slots that may be used ahead of readers.
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

    /// Makes room for a reader by ending the newest request of a download without readers; nil if there is none.
    private func way(_ downloads: [Demand]) -> Order? {
        let preload = downloads.filter { !$0.isRead && !$0.requests.isEmpty }.max { $0.newest < $1.newest }
        return preload.map { .giveUp($0.key, $0.newest) }
    }

    /// The number of further requests that a picture with readers may have.
    private func allowance(of download: Demand, free: Int) -> Int {
        guard !download.hasAnswer else { return free }
        let left = max(0, free) + download.requests.count
        return (left + Self.strangersPart - 1) / Self.strangersPart - download.requests.count
    }

    /// Whether a picture with readers is in greater need of one more request than another.
    private func needsMore(_ one: Demand, _ other: Demand) -> Bool {
        func rank(_ download: Demand) -> (Int, Int, Int64) {
            (download.isAwaited ? 0 : 1, download.requests.count, -(download.useful?.length ?? 0))
        }
        return rank(one) < rank(other)
    }

    /// The bytes that each slot would bring if all that readers want were spread so that all slots end at once.
    ///
    /// In bytes, latencies included: requests under way count as well, and slots that are busy for longer get nothing.
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

    /// The part of a wanted piece that ends together with the others; the rest comes in equal shares.
    private func share(of piece: Piece, for download: Demand, _ level: Int64) -> Piece {
        // A copy has other pictures for the slots that further requests would take.
        guard !download.isCopied else { return part(of: piece, in: download) }
        guard piece.isDivisible, piece.length >= Self.leastDivided || !download.requests.isEmpty else { return piece }
        let share = min(max(level - Self.latency, Self.smallestRead), Download.largestRead)
        // An excess of a quarter of a share is divided: a slot that is free later takes the rest.
        let count = max(
            (piece.length * 4 + share * 3) / (share * 4), (piece.length - 1) / Download.largestRead + 1)
        return piece.prefix(max(Self.smallestRead, Self.part(of: piece.length, count)))
    }

    /// The next part of a picture without readers, or of a picture that is copied.
    private func part(of piece: Piece, in download: Demand) -> Piece {
        guard piece.isDivisible else { return piece }
        if download.isCopied {
            let largest = Download.largestCopied
            // The length comes with the first answer.
            guard download.total != nil else { return piece.prefix(largest) }
            return piece.prefix(Self.part(of: piece.length, (piece.length - 1) / largest + 1))
        }
        guard download.total ?? .max > Download.longestUnread else { return piece }
        return piece.prefix(
            Self.part(of: piece.length, (piece.length + Download.unreadPart / 2) / Download.unreadPart))
    }

    private static func part(of length: Int64, _ count: Int64) -> Int64 {
        guard count > 1 else { return length }
        return min(length, (length / count + grain - 1) / grain * grain)
    }
}

extension DownloadScheduler.Demand {
    /// The bytes that one more request of a picture with readers would bring.
    fileprivate var useful: Piece? { wanted ?? spare }

    /// Whether it has waiters, and no request under way.
    fileprivate var isLeftWaiting: Bool { isAwaited && requests.isEmpty }
}

extension DownloadScheduler {
    /// A picture to download ahead of a walk.
    struct Wish: Sendable {
        let directory: UInt64
        let picture: PictureRequest
        /// Whether the walk is that of a program that copies.
        let isForCopy: Bool
    }

    /// The number of wishes that may be begun now.
    func ready(now: ContinuousClock.Instant) -> Int {
        restsUntil.map { $0 > now } ?? false ? 0 : wishes.count
    }

    /// Takes wishes, the first one next, in place of the directory's earlier ones.
    mutating func wish(_ pictures: [PictureRequest], directory: UInt64, forCopy: Bool = false) {
        dropWishes { $0.directory == directory }
        wishes += pictures.map { Wish(directory: directory, picture: $0, isForCopy: forCopy) }
    }

    /// Removes and returns the first wish.
    mutating func takeWish() -> Wish? { wishes.isEmpty ? nil : wishes.removeFirst() }

    /// Drops the matching wishes; all by default.
    mutating func dropWishes(where isMeant: (Wish) -> Bool = { _ in true }) { wishes.removeAll(where: isMeant) }

    /// Drops all wishes after a failure of the network, and begins no new ones until a given time.
    mutating func rest(until end: ContinuousClock.Instant) {
        restsUntil = end
        dropWishes()
    }

    /// Allows wishes again, after the network works again.
    mutating func goOn() { restsUntil = nil }
}

extension Download {
    /// The scheduler's view of the download.
    func demand(_ key: PictureID, number: UInt64) -> DownloadScheduler.Demand {
        DownloadScheduler.Demand(
            key: key, number: number, requests: segments.values.map(load),
            newest: segments.keys.max() ?? 0, isRead: isRead, isAwaited: !waiters.isEmpty, isCopied: isCopied,
            hasAnswer: hasAnswer, awaited: awaitedPiece, wanted: wantedPiece, spare: sparePiece, total: total)
    }

    /// The bytes that a request still has to bring, as the scheduler counts them.
    private func load(_ segment: Segment) -> Int64 {
        let end = min(segment.end, total ?? segment.next + Download.assumedLength)
        return max(0, end - segment.next) + (segment.hasAnswer ? 0 : DownloadScheduler.latency)
    }
}

// MARK: - Pictures under way

/// A picture that is being downloaded: its download's state, the file with its bytes, and everything else that belongs to it.
struct PictureDownload: Sendable {
    /// A number that grows with each download and gives their order.
    let number: UInt64
    var download: Download
    let picture: PictureRequest
    var file: PartialFile
    var transfers: [UInt64: Transfer] = [:]
    var priority: TransferPriority
    /// The directory of the walk that wished for the picture; nil for a download that a reader began.
    var walk: UInt64?
    /// Bytes written since the partial state was last saved.
    var unnoted: Int64 = 0
    /// The query to the tier; nil once it is answered.
    var question: (task: Task<Void, Never>, urgency: Urgency)?
    /// The number of its bytes that came from the tier.
    var tierBytes: Int64 = 0
    /// Whether other machines may wait for this one to download it.
    var isOurs = false
    /// The continuations to resume when the announced length is confirmed or withdrawn.
    var settlers: [CheckedContinuation<Void, Never>] = []

    /// Saves the state that another process may resume from.
    func note() { file.note(total: download.total, validator: download.validator, present: download.proven) }
}

/// The downloads under way, with ways to find and change them; `Core` decides the consequences of a change.
extension [PictureID: PictureDownload] {
    /// Runs a decision of a download in place; nil while there is no such download.
    @discardableResult
    mutating func decide<Decision>(_ key: PictureID, _ decide: (inout Download) -> Decision) -> Decision? {
        index(forKey: key).map { decide(&values[$0].download) }
    }

    /// The downloads that are not whole, in the order in which they began.
    var running: [PictureDownload] {
        values.filter { $0.download.phase != .complete }.sorted { $0.number < $1.number }
    }

    /// The running downloads that were begun for a walk and have no reader, the oldest first.
    func unread(ofWalk directory: UInt64) -> [PictureID] {
        filter { _, file in
            file.walk == directory && file.download.phase == .running && !file.download.isRead
        }.sorted { $0.value.number < $1.value.number }.map(\.key)
    }
}

// MARK: - Failures

/// Pictures that failed recently, so that they are not requested again at once.
struct Failures: Sendable {
    /// The time for which a picture that the service does not have is not requested again.
    static let goneFor: Duration = .seconds(600)
    /// The time for which a failed preload is not tried again; readers try at once.
    static let preloadFor: Duration = .seconds(60)
    /// The largest number of failures remembered.
    private static let most = 4096

    private var failures: [PictureID: (error: Failure, until: ContinuousClock.Instant)] = [:]

    /// The failure of a picture, if it still counts.
    func failure(of key: PictureID, now: ContinuousClock.Instant) -> Failure? {
        guard let failure = failures[key], failure.until > now else { return nil }
        return failure.error
    }

    /// Remembers a failure for a duration.
    mutating func remember(
        _ error: Failure, of key: PictureID, for duration: Duration, now: ContinuousClock.Instant
    ) {
        if failures.count >= Self.most { failures = failures.filter { $0.value.until > now } }
        // Still full of recent failures: forgetting them costs a request each.
        if failures.count >= Self.most { failures = [:] }
        failures[key] = (error, now + duration)
    }

    /// Forgets the failure of a picture that came after all.
    mutating func forget(_ key: PictureID) { failures[key] = nil }
}

// MARK: - Walks

/// Decides which pictures to preload: the next two, in the direction of the walk, more for a bulk walk.
///
/// A pure state machine over the actions of readers; it knows neither files nor network. Each directory is a walk of its own.
///
/// A walk goes by name until a step shows otherwise: a step that leads far by name, and in another order to the very next picture,
/// makes it a walk in that order; one by time becomes a walk by name again with a step to the very next by name that is none by
/// time. The first step decides; until then the very next picture by time is planned after the next two by name. A walk of a
/// program that copies begins as listed, which is by name in most directories. Places are places as listed whatever the walk's order.
struct PreloadPolicy: Sendable {
    /// The longest pause of a bulk walk.
    ///
    /// A reader that opens the next picture this soon after the last byte of the previous one did not display it.
    static let pauseOfABulkWalk: Duration = .milliseconds(150)
    /// The pause after a picture at which a copying program has come to its end: it opens the next one at once.
    static let pauseOfACopy: Duration = .milliseconds(50)
    /// The quick steps in a row that make a bulk walk even where every picture was present already.
    static let stepsOfABulkWalk = 2
    /// The planned pictures still on their way at a step after a pause that show the ordinary number ahead to be too low: one may be large.
    static let mostLate = 2
    /// The pictures then preloaded beyond the ordinary ones.
    static let further = 2
    /// The largest number of walks remembered.
    ///
    /// A walk takes some 100 bytes, and its order 8 a picture, shared with the listing.
    static let mostWalks = 64

    /// The decision about a directory's plans.
    enum Decision: Equatable, Sendable {
        case nothing
        /// Download these places in this order; they replace the earlier plan.
        case plan([Int])
        /// Drop the planned pictures that are not begun.
        case drop
    }

    private struct Walk {
        var last: Int
        /// The order of the walk.
        var order: PictureOrder
        /// The order that the walk may follow as well; nil once a step has decided.
        var other: PictureOrder?
        var step = 1
        /// The direction after a jump: by time the direction in which it began, since many walks go newest first.
        var forward = 1
        var width: Int
        var quickSteps = 0
        /// The number of planned pictures that were still on their way at a step after a pause.
        var late = 0
        /// Whether its reader is known to display nothing.
        var isBulk = false
        /// The time at which the last byte of `last` was read.
        var finished: ContinuousClock.Instant?
        /// The number of its newest event, to find the oldest walk.
        var used: UInt64
        /// Whether the plan after `last` has been made.
        var isPlanned = false

        /// The place some steps after `last` in the walk's order and direction; nil outside the directory.
        func place(ahead count: Int) -> Int? {
            order.place(of: last).flatMap { order.index(at: $0 + step * count) }
        }

        /// The places to download after `last`, in this order.
        var plan: [Int] {
            var places = (1...width).compactMap { place(ahead: $0) }
            if let other, let next = other.place(of: last).flatMap({ other.index(at: $0 + 1) }), !places.contains(next)
            {
                places.append(next)
            }
            return places
        }
    }

    /// The number of pictures ahead of an ordinary reader; 0 turns preloading off.
    let ordinary: Int
    /// The window that a bulk walk comes to at once: a picture for each slot that preloads may use.
    let wide: Int
    /// The largest window: while a large picture holds up the reader, slots that are done with the next ones fetch more.
    ///
    /// A wider one makes a copy no quicker, and fetches more beyond its end.
    let widest: Int
    private var walks: [UInt64: Walk] = [:]
    /// The last picture of each directory of which only the first bytes had been read when it was closed.
    private var looks: [UInt64: Int] = [:]
    private var events: UInt64 = 0

    init(ordinary: Int, slots: TransferSlots) {
        wide = slots.ahead
        widest = wide + max(1, wide / 3)
        self.ordinary = min(max(0, ordinary), widest)
    }

    /// The number of pictures ahead of a walk whose reader pauses at each.
    private func ordinary(_ walk: Walk) -> Int {
        walk.late < Self.mostLate ? ordinary : min(ordinary + Self.further, widest)
    }

    /// The number of pictures of a directory that are preloaded now.
    func width(of directory: UInt64) -> Int {
        walks[directory]?.width ?? ordinary
    }

    /// Takes note that a reader has read more than the first bytes of a picture.
    ///
    /// - Parameters:
    ///   - index: The picture's place as listed.
    ///   - directory: The directory of the walk.
    ///   - orders: The orders of the directory's pictures but for the listed one, as it is now.
    ///   - opened: The time at which the picture was opened.
    ///   - wasThere: Whether it was stored when it was opened, so that the reader did not wait.
    ///   - isComplete: Whether all of it is present now.
    ///   - isBulk: Whether the reader is known to display nothing; other readers have to show it by their pace.
    ///   - isSmall: Whether it is so small that the kernel may have read ahead to its end after an inspection.
    /// - Returns: The decision about the directory's plans.
    mutating func passed(
        _ index: Int, in directory: UInt64, orders: [PictureOrder] = [], opened: ContinuousClock.Instant,
        wasThere: Bool, isComplete: Bool, isBulk: Bool = false, isSmall: Bool = false
    ) -> Decision {
        guard ordinary > 0 else { return .nothing }
        // After an inspection of another picture this is one more inspection; the next such one is read. Viewers inspect the
        // picture that they read.
        if let look = looks.removeValue(forKey: directory), look != index, isSmall, !isBulk { return .nothing }
        events += 1
        guard var walk = walks[directory] else {
            forgetOldest()
            let byName = orders.first { $0.kind == .byName }
            walks[directory] = Walk(
                last: index, order: isBulk ? .asListed : byName ?? .asListed,
                other: isBulk ? nil : orders.first { $0.kind == .byTime }, width: ordinary, used: events)
            return isComplete || isBulk ? plan(directory) : .nothing
        }
        walk.used = events
        guard index != walk.last else {
            walks[directory] = walk
            return isComplete ? plan(directory) : .nothing
        }
        let reach = max(walk.width, ordinary(walk))
        let (move, isTurn) = step(to: index, [.asListed] + orders, reach: reach, &walk)
        let isNear = abs(move) <= reach
        if isNear, !isTurn, abs(move) == 1 || move.signum() == walk.step {
            pace(&walk, move: move, opened: opened, wasThere: wasThere, isBulk: isBulk)
        } else {
            walk.late = 0
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
        // A bulk walk plans at once, so that every connection has work; other walks wait for the picture itself.
        if isComplete || walk.width > ordinary(walk) { return plan(directory) }
        return isNear && !isTurn ? .nothing : .drop
    }

    /// Determines the order in which a reader goes on, and measures the step in it.
    ///
    /// - Returns: The distance in places, and whether the walk has changed its order.
    private func step(
        to index: Int, _ orders: [PictureOrder], reach: Int, _ walk: inout Walk
    ) -> (move: Int, isTurn: Bool) {
        let before = walk.order.kind
        let moves = orders.compactMap { order -> (order: PictureOrder, move: Int)? in
            guard let place = order.place(of: index), let last = order.place(of: walk.last) else { return nil }
            return (order, place - last)
        }
        let present = moves.first { $0.order.kind == before }
        // A walk by time turns at once: chance seldom makes neighbours in another order, and a walk in that order makes no other steps.
        let mayTurn = present.map { abs($0.move) != 1 && (before == .byTime || abs($0.move) > reach) } ?? true
        let other = mayTurn ? moves.first { $0.order.kind != before && abs($0.move) == 1 } : nil
        let (order, move) = other ?? present ?? (.asListed, index - walk.last)
        walk.order = order
        guard order.kind != before else { return (move, false) }
        walk.forward = order.kind == .byTime ? move : 1
        return (move, true)
    }

    /// Widens the window for a reader without a pause, and narrows it again after a pause, less far if the reader comes too early even so.
    private func pace(
        _ walk: inout Walk, move: Int, opened: ContinuousClock.Instant, wasThere: Bool, isBulk: Bool
    ) {
        guard let finished = walk.finished, opened - finished <= Self.pauseOfABulkWalk, move.signum() == walk.step
        else {
            if walk.isPlanned, !wasThere, move.signum() == walk.step { walk.late += 1 }
            walk.quickSteps = 0
            walk.width = ordinary(walk)
            return
        }
        walk.quickSteps += 1
        if isBulk { walk.width = max(walk.width, wide) }
        // Catching up with the preloads proves that they are too few; otherwise it takes a second quick step.
        if isBulk || !wasThere || walk.quickSteps >= Self.stepsOfABulkWalk {
            // Beyond that never more ahead than were read in a row, since the length of the walk is unknown.
            walk.width = min(walk.width * 2, max(wide, walk.quickSteps), widest)
        }
    }

    /// Takes note that all bytes of a picture are present.
    mutating func completed(_ index: Int, in directory: UInt64) -> Decision {
        guard let walk = walks[directory], walk.last == index, !walk.isPlanned else { return .nothing }
        return plan(directory)
    }

    /// Takes note that a reader closes a picture of which it has read the first bytes only.
    mutating func looked(at index: Int, in directory: UInt64) {
        if looks.count >= Self.mostWalks { looks = [:] }
        looks[directory] = index
    }

    /// Takes note that a reader has read the last byte of a picture.
    mutating func finished(_ index: Int, in directory: UInt64, now: ContinuousClock.Instant) {
        guard walks[directory]?.last == index else { return }
        walks[directory]?.finished = now
    }

    /// The directories of bulk walks that have stopped: only the ordinary number of pictures is wanted there.
    mutating func rested(now: ContinuousClock.Instant) -> [UInt64] {
        let over = walks.filter { _, walk in
            let pause = walk.isBulk ? Self.pauseOfACopy : Self.pauseOfABulkWalk
            return walk.width > ordinary(walk) && walk.finished.map { now - $0 > pause } ?? false
        }
        for (directory, walk) in over {
            let width = ordinary(walk)
            walks[directory]?.width = width
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
