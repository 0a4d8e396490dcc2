/// The requests to one host: its cool-downs, the allowance of a burst, the rate limit of a service's interface, and the slots.
///
/// All methods take the time as a parameter.
///
/// A request waits for the end of a cool-down if it can still be answered before its deadline, readers first; other requests are
/// refused at once. A burst begins with a few requests, and each good answer permits more under way, so that a host that accepts
/// none refuses only those few. Within the allowance, bodies and small answers are limited by their slots.
///
/// Requests to a service's interface go first, since other requests follow from their answers, and by rules of their own
/// (`ServiceLine`): only a front stops both kinds.
struct HostState {
    /// A step for the caller to take; the order matters.
    enum Action: Equatable {
        case send(Int)
        /// The cool-down, with so many seconds left, lasts longer than the request may wait.
        case refuse(Int, seconds: Int64)
        /// The front turns programs away for longer than the request may wait.
        case turnAway(Int)
        /// The deadline passed while the request waited for an answer or a slot.
        case late(Int)
        /// The deadline passed while the request waited for a token, which there would be after so many seconds.
        case crowded(Int, seconds: Int64)
    }

    /// The properties of a request that matter to its host.
    struct Entry {
        var priority: TransferPriority
        var transferClass: TransferClass
        var deadline: ContinuousClock.Instant
        /// The longest pause for which the request waits while it has a reader; nil for any that its deadline allows.
        var longestPause: Duration?
        /// Whether the request goes to a service's interface.
        var isPaced = false

        fileprivate var lane: Int { transferClass == .metadata ? 0 : 1 }

        /// The rank in the lane.
        ///
        /// Of the preloads, bodies go before small answers: bodies are few, while the sizes of a whole listing come by the hundred.
        fileprivate var rank: Int {
            (priority == .preload && transferClass == .bulk ? TransferPriority.shown : priority).rank
        }
    }

    /// The waiting requests that are blocked by the same limits, small answers or bodies: the ids by rank, and by deadline.
    private typealias Lane = (places: WaitingLine<Int>, deadlines: WaitingLine<ContinuousClock.Instant>)

    private struct Running {
        var entry: Entry
        /// Nil after the outcome was recorded.
        var ticket: CoolDown.Ticket?
        let began: ContinuousClock.Instant
        /// Whether the request bypassed the host's cool-down and allowance, so that its outcome says nothing about other requests.
        let isExempt: Bool
        /// The ticket of the service's interface; nil after the verdict of the answer was recorded.
        var turn: CoolDown.Ticket?
    }

    /// The occupied slots, and those of them that requests without a reader occupy.
    private typealias Taken = (all: Int, ahead: Int)

    /// The requests under way at the beginning of a burst: enough for the first pictures, few enough to be refused.
    static let few = 4
    /// The additional requests under way after each good answer: each round trip triples the number of requests.
    static let growth = 2
    /// Those besides after a small answer of a host that has refused no request: after a round trip sizes fill a connection.
    static let surge = 30
    /// The least and the longest time in which they remain while no answer is due, otherwise as long as the last small answer took.
    ///
    /// A walk requests a few sizes, waits for a page of its listing, and requests the others.
    static let lull = Duration.milliseconds(10)...Duration.milliseconds(200)
    /// The time for which a request without an answer counts, so that a hanging request delays no other.
    static let patience = Duration.seconds(1)
    /// The time for which good answers count, from one burst of requests to the next.
    static let welcomeFor = Duration.seconds(5)
    /// A number larger than any number of slots.
    static let most = 1024
    /// The least time for an answer after the end of a cool-down.
    static let answerTime = Duration.milliseconds(500)

    private let limits: HostLimits
    private let isSecure: Bool
    private let burst: Int
    private let rate: RequestRate
    private var coolDown: CoolDown
    /// The requests to a service's interface; nil before the first one.
    private(set) var service: ServiceLine?
    private var lanes = [Lane](repeating: (WaitingLine(), WaitingLine()), count: 2)
    private var waiting: [Int: Entry] = [:]
    /// The waiting requests of readers that wait for no longer pause, by that.
    private var pauses = WaitingLine<Duration>()
    private var running: [Int: Running] = [:]
    private var small: Taken = (0, 0)
    private var bodies: Taken = (0, 0)
    /// The requests under way that count against the allowance, by the time at which they cease to count.
    private var counted = WaitingLine<ContinuousClock.Instant>()
    /// The allowed requests under way, by the good answers of this burst.
    private var allowance: Int
    /// The requests under way that are allowed besides, by the good small answers of this burst, and the end of the lull before they lapse.
    private var surge: (count: Int, until: ContinuousClock.Instant?) = (0, nil)
    private var hasRefused = false
    /// The time of the last good answer.
    private var welcomed: ContinuousClock.Instant?
    /// Whether small answers share connections; nil before the first answer.
    private var isMultiplexed: Bool?
    /// The family of addresses in use after the host turned the other family away, and whether a request has passed on it.
    var way: (family: AddressFamily, isProven: Bool)?

    /// - Parameters:
    ///   - limits: The slots.
    ///   - isSecure: Whether the host uses TLS.
    ///   - burst: The requests under way at the beginning of a burst.
    ///   - pause: The pause left over from an earlier run.
    ///   - rate: The rate limit of a service's interface, if the host has one.
    init(
        _ limits: HostLimits, isSecure: Bool = true, burst: Int = few, pause: HostPause? = nil,
        rate: RequestRate = RequestRate(burst: most, perSecond: Double(most))
    ) {
        self.limits = limits
        self.isSecure = isSecure
        self.burst = burst
        self.rate = rate
        allowance = burst
        coolDown = CoolDown(until: pause?.end, front: pause?.front)
    }

    // MARK: - State

    /// The pause to keep over restarts: a cool-down, or a front of any age that no request has passed since.
    func pause(wall: Int64) -> HostPause? {
        if let front = coolDown.front {
            return HostPause(end: closedUntil(wall: wall) ?? min(coolDown.until ?? wall, wall), front: front)
        }
        return closedUntil(wall: wall).map { HostPause(end: $0) }
    }

    /// The front that blocks the host; nil if there is none.
    var front: FrontStop? { coolDown.front }

    /// The end of the present cool-down, in Unix seconds.
    func closedUntil(wall: Int64) -> Int64? {
        var coolDown = coolDown
        let left = coolDown.secondsLeft(wall)
        return left > 0 ? wall + left : nil
    }

    /// Whether the only fact that would be lost with this state is how small answers share connections.
    var isIdle: Bool {
        waiting.isEmpty && running.isEmpty && coolDown.trust == .everybody && way == nil && service == nil
    }

    /// The numbers of requests that have a slot and that wait.
    var counts: (active: Int, queued: Int) { (running.count, waiting.count) }

    // MARK: - Changes by owners

    /// Adds a request to the waiting ones, by its id among its equals.
    mutating func join(_ id: Int, _ entry: Entry) {
        waiting[id] = entry
        guard !entry.isPaced else {
            service = service ?? ServiceLine(rate)
            service?.join(id, priority: entry.priority, deadline: entry.deadline)
            return
        }
        lanes[entry.lane].places.insert(id, entry.rank)
        lanes[entry.lane].deadlines.insert(id, entry.deadline)
        if let longest = entry.longestPause, entry.priority == .reader { pauses.insert(id, longest) }
    }

    /// Changes the priority of a request that waits or is under way, and the deadline of one that waits.
    mutating func setPriority(_ id: Int, _ priority: TransferPriority, deadline: ContinuousClock.Instant? = nil) {
        if var entry = waiting[id] {
            let keepsPlace = entry.isPaced && entry.priority == priority
            entry.deadline = deadline ?? entry.deadline
            if keepsPlace {
                waiting[id] = entry
                service?.setDeadline(id, entry.deadline)
            } else {
                leave(id)
                entry.priority = priority
                join(id, entry)
            }
        } else if let entry = running[id]?.entry {
            occupy(entry, by: -1)
            running[id]?.entry.priority = priority
            if let entry = running[id]?.entry { occupy(entry, by: 1) }
        }
    }

    /// Removes a waiting request; false if it does not wait.
    @discardableResult
    mutating func leave(_ id: Int) -> Bool {
        guard let entry = waiting.removeValue(forKey: id) else { return false }
        guard !entry.isPaced else {
            service?.leave(id)
            return true
        }
        lanes[entry.lane].places.remove(id)
        lanes[entry.lane].deadlines.remove(id)
        pauses.remove(id)
        return true
    }

    // MARK: - Answers

    /// Records whether small answers share connections.
    mutating func learn(isMultiplexed: Bool) { self.isMultiplexed = isMultiplexed }

    /// Records the outcome of a request under way; a second call has no effect.
    ///
    /// - Returns: The end of a cool-down that this outcome began or extended, in Unix seconds.
    mutating func settle(_ id: Int, _ verdict: AnswerVerdict, now: ContinuousClock.Instant, wall: Int64) -> Int64? {
        guard let (ticket, isExempt) = takeTicket(id), !isExempt else { return nil }
        switch verdict {
        case .fine:
            allowance = min((isWelcome(now) ? allowance : burst) + Self.growth, Self.most)
            if !hasRefused, let request = running[id], request.entry.transferClass == .metadata {
                let lull = min(max(now - request.began, Self.lull.lowerBound), Self.lull.upperBound)
                surge = (min(surge.count + Self.surge, Self.most), now + lull)
            }
            welcomed = now
        case .limited:
            (allowance, surge, hasRefused) = (burst, (0, nil), true)
        case .unknown: break
        }
        return coolDown.settle(ticket, verdict, wall: wall)
    }

    /// Records the verdict of an answer of a service's interface; a second call has no effect.
    ///
    /// - Returns: The end of a cool-down of the service that this verdict began or extended, in Unix seconds.
    mutating func judge(_ id: Int, _ verdict: AnswerVerdict, wall: Int64) -> Int64? {
        guard let turn = running[id]?.turn.take() else { return nil }
        return service?.coolDown.settle(turn, verdict, wall: wall)
    }

    /// Begins a cool-down that the host, or its interface, requested of another machine.
    mutating func close(_ part: HostPart, forSeconds seconds: Int64, wall: Int64) {
        switch part {
        case .host: _ = coolDown.close(forSeconds: seconds, wall: wall)
        case .interface:
            service = service ?? ServiceLine(rate)
            _ = service?.coolDown.close(forSeconds: seconds, wall: wall)
        }
    }

    /// Records that a request did not reach the service's interface.
    mutating func giveBack(_ id: Int, wall: Int64) {
        guard let turn = running[id]?.turn.take() else { return }
        service?.giveBack(turn, wall: wall)
    }

    /// Records that a front turned away a request under way; a second call has no effect.
    ///
    /// - Returns: The end of the pause that this refusal began, in Unix seconds.
    mutating func turnAway(
        _ id: Int, _ refusal: FrontRefusal, mark: String, hasOtherWay: Bool, wall: Int64
    ) -> Int64? {
        guard let (ticket, _) = takeTicket(id) else { return nil }
        allowance = burst
        return coolDown.turnAway(ticket, refusal, mark: mark, hasOtherWay: hasOtherWay, wall: wall)
    }

    private mutating func takeTicket(_ id: Int) -> (CoolDown.Ticket, isExempt: Bool)? {
        guard let request = running[id], let ticket = running[id]?.ticket.take() else { return nil }
        counted.remove(id)
        return (ticket, request.isExempt)
    }

    /// Frees the slot of an ended request.
    mutating func end(_ id: Int, now: ContinuousClock.Instant, wall: Int64) {
        _ = settle(id, .unknown, now: now, wall: wall)
        _ = judge(id, .unknown, wall: wall)
        if let request = running.removeValue(forKey: id) { occupy(request.entry, by: -1) }
    }

    /// Ends the pause of a front at once, with one probe.
    mutating func probeAgain() { coolDown.probeAgain() }

    // MARK: - Next steps

    /// Returns the requests to send or to end now.
    mutating func next(now: ContinuousClock.Instant, wall: Int64) -> [Action] {
        let left = coolDown.secondsLeft(wall)
        var actions = expire(now, wall, left)
        while let place = counted.first, place.key <= now { counted.remove(place.id) }
        if counted.count == 0, let until = surge.until, until < now { surge = (0, nil) }
        while let id = first(now, wall, isOpen: left == 0) {
            guard let entry = waiting[id] else { break }
            let turn = entry.isPaced ? service?.go(id) : nil
            leave(id)
            let isExempt = entry.isPaced && coolDown.front == nil
            running[id] = Running(
                entry: entry, ticket: isExempt ? coolDown.ticket(id) : coolDown.letGo(id), began: now,
                isExempt: isExempt, turn: turn)
            if !isExempt { counted.insert(id, now + Self.patience) }
            occupy(entry, by: 1)
            actions.append(.send(id))
        }
        return actions
    }

    /// Ends the requests that cannot be answered in time, by deadlines up to the first that is late enough.
    private mutating func expire(_ now: ContinuousClock.Instant, _ wall: Int64, _ left: Int64) -> [Action] {
        // Requests to the interface wait only for the pause of a front.
        let hold = left > 0 && coolDown.front != nil ? .seconds(left) + Self.answerTime : Duration.zero
        let cooling = service?.coolDown.secondsLeft(wall) ?? 0
        var actions = (service?.late(hold: hold, now: now, wall: wall) ?? []).map { id, lacking -> Action in
            let isRefused = waiting[id].map { $0.deadline < now + .seconds(cooling) } ?? false
            leave(id)
            if coolDown.front != nil { return .turnAway(id) }
            if isRefused, cooling > 0 { return .refuse(id, seconds: cooling) }
            return lacking > .zero ? .crowded(id, seconds: lacking.components.seconds + 1) : .late(id)
        }
        while left > 0, let place = pauses.first, place.key < .seconds(left) + Self.answerTime {
            actions.append(coolDown.front == nil ? .refuse(place.id, seconds: left) : .turnAway(place.id))
            leave(place.id)
        }
        for lane in lanes.indices {
            while let (id, deadline) = lanes[lane].deadlines.first.map({ ($0.id, $0.key) }) {
                if deadline <= now {
                    actions.append(coolDown.front == nil ? .late(id) : .turnAway(id))
                } else if left > 0, deadline < now + .seconds(left) + Self.answerTime {
                    actions.append(coolDown.front == nil ? .refuse(id, seconds: left) : .turnAway(id))
                } else {
                    break
                }
                leave(id)
            }
        }
        return actions
    }

    /// The next request that may be sent.
    private mutating func first(_ now: ContinuousClock.Instant, _ wall: Int64, isOpen: Bool) -> Int? {
        let hasLeave: Bool =
            switch coolDown.trust {
            case .probing: false
            case .nobodyYet: isOpen
            case .everybody: isOpen && counted.count < allowance(now)
            }
        if hasLeave || coolDown.front == nil, let id = service?.first(now: now, wall: wall),
            waiting[id].map(hasSlot) == true
        {
            return id
        }
        guard hasLeave else { return nil }
        var best: WaitingLine<Int>.Place?
        for lane in lanes.indices {
            guard let place = lanes[lane].places.first, waiting[place.id].map(hasSlot) == true else { continue }
            best = min(best ?? place, place)
        }
        return best?.id
    }

    /// Whether a slot is free for a request.
    ///
    /// Small answers without a reader leave one slot to readers; the owner of bodies decides which of them are requested.
    private func hasSlot(_ entry: Entry) -> Bool {
        guard entry.transferClass == .metadata else { return bodies.all < limits.bodies.all }
        let all = limits.smallAnswers(multiplexed: isMultiplexed, isSecure: isSecure)
        return small.all < all && (entry.priority == .reader || small.ahead < max(1, all - 1))
    }

    private mutating func occupy(_ entry: Entry, by count: Int) {
        func add(_ taken: inout Taken) {
            taken.all += count
            if entry.priority != .reader { taken.ahead += count }
        }
        if entry.transferClass == .metadata { add(&small) } else { add(&bodies) }
    }

    private func allowance(_ now: ContinuousClock.Instant) -> Int {
        isWelcome(now) ? allowance + surge.count : burst
    }

    /// Whether the last good answer still counts.
    private func isWelcome(_ now: ContinuousClock.Instant) -> Bool {
        welcomed.map { now - $0 <= Self.welcomeFor } ?? false
    }

    /// The time of the next call of `next` if no event comes before; nil if no request waits.
    mutating func wake(now: ContinuousClock.Instant, wall: Int64) -> ContinuousClock.Instant? {
        var moments = lanes.indices.compactMap { lanes[$0].deadlines.first?.key }
        if let moment = service?.wake(now: now, wall: wall) { moments.append(moment) }
        guard let earliest = moments.min() else { return nil }
        let left = coolDown.secondsLeft(wall)
        if left > 0 { return min(earliest, now + .seconds(left)) }
        // A request that waits for the allowance may go as soon as a request under way ceases to count.
        return min(earliest, counted.first?.key ?? earliest)
    }
}

// MARK: - Lines

/// Ids in the order of their keys, and among equal keys in the order of the ids.
///
/// A sorted array: a change moves the places before it, which are some thousand at most, as many as a listing has sizes.
struct WaitingLine<Key: Comparable> {
    struct Place: Comparable {
        let id: Int
        let key: Key

        static func < (left: Place, right: Place) -> Bool {
            left.key == right.key ? left.id < right.id : left.key < right.key
        }
    }

    private var keys: [Int: Key] = [:]
    /// The places, the first one last.
    private var places: [Place] = []

    var count: Int { places.count }

    /// The first place; nil if there is none.
    var first: Place? { places.last }

    /// Inserts an id; an id that is already present moves.
    mutating func insert(_ id: Int, _ key: Key) {
        remove(id)
        keys[id] = key
        let place = Place(id: id, key: key)
        places.insert(place, at: index(of: place))
    }

    /// Removes an id; false if it is not present.
    @discardableResult
    mutating func remove(_ id: Int) -> Bool {
        guard let key = keys.removeValue(forKey: id) else { return false }
        places.remove(at: index(of: Place(id: id, key: key)))
        return true
    }

    /// The index of a place, or the one where it belongs.
    private func index(of place: Place) -> Int {
        var range = places.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = place < places[middle] ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
