/// What the requests to one host may do now: its cool-downs, the allowance of a burst, and its slots; told the time, never
/// reading a clock.
///
/// A request waits for the end of a cool-down if it can still be answered before its deadline, readers first; the others are
/// refused at once. A burst of requests begins with a few, and each good answer lets two more be under way: a host that wants
/// none says so to those few. Of what is allowed, bodies and small answers go as far as each has slots.
struct HostState {
    /// What the caller has to do, in order.
    enum Action: Equatable {
        case send(Int)
        /// The cool-down lasts longer than the request may, by so many seconds from now.
        case refuse(Int, seconds: Int64)
        /// What stands in front of the host turns programs away for longer than the request may wait.
        case turnAway(Int)
        /// The deadline came while the request waited.
        case late(Int)
    }

    /// A request as its host sees it.
    struct Entry {
        var priority: TransferPriority
        var transferClass: TransferClass
        var deadline: ContinuousClock.Instant
        /// Whether it is paced elsewhere: then it waits for a slot and for a front, and for nothing else.
        var isExempt = false

        fileprivate var lane: Int { isExempt ? 0 : transferClass == .metadata ? 1 : 2 }

        /// Exempt ones go first, for the others follow from what they bring; of what is ahead of readers, bodies go before small
        /// answers: they are few, while the sizes of a whole listing come by the hundred.
        fileprivate var rank: Int {
            if isExempt { return 0 }
            return 1 + (priority == .preload && transferClass == .bulk ? TransferPriority.shown : priority).rank
        }
    }

    /// Waiting requests that are blocked by the same things: exempt ones, small answers, or bodies.
    private struct Lane {
        /// By rank; ids grow with each request.
        var places = WaitingLine<Int>()
        var deadlines = WaitingLine<ContinuousClock.Instant>()
    }

    private struct Running {
        var entry: Entry
        /// Nil once the outcome was taken in.
        var ticket: GateTicket?
        /// Whether it went without leave, so that its outcome says nothing of others.
        let isExempt: Bool
    }

    /// Slots that are taken, and those of them by requests without a reader.
    private struct Taken {
        var all = 0
        var ahead = 0
    }

    /// The family of addresses by which a host is asked that turned the other one away.
    struct Way: Equatable {
        let family: AddressFamily
        var isProven = false
    }

    /// Requests under way at the beginning of a burst: enough for the first pictures, few enough to be refused.
    static let few = 4
    /// How many more may be under way after each good answer; with the one that has ended, three times as many a round trip.
    static let growth = 2
    /// How long a request without an answer counts: what hangs holds up no other.
    static let patience = Duration.seconds(1)
    /// How long good answers count, from one burst of requests to the next.
    static let welcomeFor = Duration.seconds(5)
    /// More than there will ever be slots for.
    static let most = 1024
    /// The least time of an answer, after the end of a cool-down.
    static let answerTime = Duration.milliseconds(500)

    private let limits: HostLimits
    private let isSecure: Bool
    private let burst: Int
    private var coolDown: CoolDown
    private var lanes = Array(repeating: Lane(), count: 3)
    private var waiting: [Int: Entry] = [:]
    private var running: [Int: Running] = [:]
    private var small = Taken()
    private var bodies = Taken()
    /// Those under way that count against the allowance, by when they no longer do.
    private var counted = WaitingLine<ContinuousClock.Instant>()
    /// How many may be under way, by the good answers of this burst.
    private var allowance: Int
    /// The last good answer.
    private var welcomed: ContinuousClock.Instant?
    /// Whether small answers share connections; nil before one has come.
    private var isMultiplexed: Bool?
    var way: Way?

    /// - Parameters:
    ///   - limits: The slots.
    ///   - isSecure: Whether it speaks TLS.
    ///   - burst: Requests under way at the beginning of a burst.
    ///   - pause: What is left over from earlier.
    init(_ limits: HostLimits, isSecure: Bool = true, burst: Int = few, pause: HostPause? = nil) {
        self.limits = limits
        self.isSecure = isSecure
        self.burst = burst
        allowance = burst
        coolDown = CoolDown(until: pause?.end, front: pause?.front)
    }

    // MARK: - What is known

    /// What is to be kept over restarts: a cool-down, and a front that no request was seen to pass, however long ago.
    func pause(wall: Int64) -> HostPause? {
        if let front = coolDown.front {
            return HostPause(end: closedUntil(wall: wall) ?? min(coolDown.until ?? wall, wall), front: front)
        }
        return closedUntil(wall: wall).map { HostPause(end: $0) }
    }

    /// The front in the way.
    var front: FrontStop? { coolDown.front }

    /// The end of the present cool-down, in Unix seconds.
    func closedUntil(wall: Int64) -> Int64? {
        let left = coolDown.secondsLeft(wall)
        return left > 0 ? wall + left : nil
    }

    /// Whether nothing would be lost with it but how it shares connections.
    var isIdle: Bool { waiting.isEmpty && running.isEmpty && coolDown.trust == .everybody && way == nil }

    /// Requests that have a slot, and those that wait.
    var counts: (active: Int, queued: Int) { (running.count, waiting.count) }

    // MARK: - What owners do

    /// Lets a request wait for its turn, by its id among its equals.
    mutating func join(_ id: Int, _ entry: Entry) {
        waiting[id] = entry
        lanes[entry.lane].places.insert(id, entry.rank)
        lanes[entry.lane].deadlines.insert(id, entry.deadline)
    }

    /// Changes the priority of a request that waits or is under way.
    mutating func setPriority(_ id: Int, _ priority: TransferPriority) {
        if var entry = waiting[id] {
            entry.priority = priority
            join(id, entry)
        } else if let entry = running[id]?.entry {
            occupy(entry, by: -1)
            running[id]?.entry.priority = priority
            if let entry = running[id]?.entry { occupy(entry, by: 1) }
        }
    }

    /// Takes one out that waits; false if it does not.
    @discardableResult
    mutating func leave(_ id: Int) -> Bool {
        guard let entry = waiting.removeValue(forKey: id) else { return false }
        lanes[entry.lane].places.remove(id)
        lanes[entry.lane].deadlines.remove(id)
        return true
    }

    // MARK: - What answers do

    /// Takes in whether small answers share connections.
    mutating func learn(isMultiplexed: Bool) { self.isMultiplexed = isMultiplexed }

    /// Takes in the outcome of a request under way; a second time is without effect.
    ///
    /// - Returns: The end of a cool-down that this began or made longer, in Unix seconds.
    mutating func settle(_ id: Int, _ verdict: GateVerdict, now: ContinuousClock.Instant, wall: Int64) -> Int64? {
        guard let (ticket, isExempt) = takeTicket(id), !isExempt else { return nil }
        switch verdict {
        case .fine:
            allowance = min(allowance(now) + Self.growth, Self.most)
            welcomed = now
        case .limited: allowance = burst
        case .unknown, .unsent: break
        }
        return coolDown.settle(ticket, verdict, wall: wall)
    }

    /// Takes in that a request under way was turned away by what stands in front; a second time is without effect.
    ///
    /// - Returns: The end of the pause that this began, in Unix seconds.
    mutating func turnAway(
        _ id: Int, _ refusal: FrontRefusal, mark: String, hasOtherWay: Bool, wall: Int64
    ) -> Int64? {
        guard let (ticket, _) = takeTicket(id) else { return nil }
        allowance = burst
        return coolDown.turnAway(ticket, refusal, mark: mark, hasOtherWay: hasOtherWay, wall: wall)
    }

    private mutating func takeTicket(_ id: Int) -> (GateTicket, isExempt: Bool)? {
        guard let request = running[id], let ticket = request.ticket else { return nil }
        running[id]?.ticket = nil
        counted.remove(id)
        return (ticket, request.isExempt)
    }

    /// Frees the slot of a request that has ended.
    mutating func end(_ id: Int, now: ContinuousClock.Instant, wall: Int64) {
        _ = settle(id, .unknown, now: now, wall: wall)
        if let request = running.removeValue(forKey: id) { occupy(request.entry, by: -1) }
    }

    /// Ends the pause of a front at once, with one probe.
    mutating func probeAgain() { coolDown.probeAgain() }

    // MARK: - What follows

    /// What may go, or must end, now.
    mutating func next(now: ContinuousClock.Instant, wall: Int64) -> [Action] {
        let left = coolDown.secondsLeft(wall)
        var actions = expire(now, left)
        while let place = counted.first(), place.key <= now { counted.remove(place.id) }
        while let id = first(now, isOpen: left == 0) {
            guard let entry = waiting[id] else { break }
            leave(id)
            let isExempt = entry.isExempt && coolDown.front == nil
            running[id] = Running(
                entry: entry, ticket: isExempt ? coolDown.ticket(id) : coolDown.letGo(id), isExempt: isExempt)
            if !isExempt { counted.insert(id, now + Self.patience) }
            occupy(entry, by: 1)
            actions.append(.send(id))
        }
        return actions
    }

    /// Ends what cannot be answered in time, by deadlines up to the first that is late enough.
    private mutating func expire(_ now: ContinuousClock.Instant, _ left: Int64) -> [Action] {
        var actions: [Action] = []
        for lane in lanes.indices {
            // Exempt ones wait for the pause of a front only.
            let left = lane == 0 && coolDown.front == nil ? 0 : left
            while let (id, deadline) = lanes[lane].deadlines.first().map({ ($0.id, $0.key) }) {
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

    /// The next request that may go.
    private mutating func first(_ now: ContinuousClock.Instant, isOpen: Bool) -> Int? {
        let hasLeave: Bool =
            switch coolDown.trust {
            case .probing: false
            case .nobodyYet: isOpen
            case .everybody: isOpen && counted.count < allowance(now)
            }
        var best: WaitingLine<Int>.Place?
        for lane in lanes.indices where hasLeave || (lane == 0 && coolDown.front == nil) {
            guard let place = lanes[lane].places.first(), waiting[place.id].map(hasSlot) == true else { continue }
            best = min(best ?? place, place)
        }
        return best?.id
    }

    /// Whether there is a slot for a request: small answers without a reader leave one to readers; which bodies are requested
    /// is decided by their owner.
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
        guard let welcomed, now - welcomed <= Self.welcomeFor else { return burst }
        return allowance
    }

    /// When to call `next` again if nothing else happens; nil if nothing waits.
    mutating func wake(now: ContinuousClock.Instant, wall: Int64) -> ContinuousClock.Instant? {
        guard let earliest = lanes.indices.compactMap({ lanes[$0].deadlines.first()?.key }).min() else { return nil }
        let left = coolDown.secondsLeft(wall)
        if left > 0 { return min(earliest, now + .seconds(left)) }
        // What waits for leave has it as soon as one of those under way no longer counts.
        return min(earliest, counted.first()?.key ?? earliest)
    }
}

// MARK: - Cool-downs

/// The cool-downs of one service: until when it wants to be left alone, and who may ask then; told the time, never asking it.
///
/// After a cool-down one request goes as a probe, and the others wait for what comes of it: however many want to ask, a service
/// that still says no is asked once per cool-down.
struct CoolDown {
    /// Whether everybody may go.
    enum Trust: Equatable {
        case everybody
        /// The next to go is the probe.
        case nobodyYet
        /// The probe with this ticket is under way.
        case probing(Int)
    }

    /// The longest, in seconds: a larger one is more often a mistake than a wish.
    static let longest = RetryAfter.longest
    /// Twelve doublings of a second are more than the longest.
    private static let mostDoublings = 12

    private(set) var until: Int64?
    private(set) var trust: Trust {
        didSet { if trust != oldValue { changes += 1 } }
    }
    /// Goes up when those who wait should ask again at once.
    private(set) var changes = 0
    /// Cool-downs that have begun.
    private var closings = 0
    /// Those in a row after which the service still said no, and the ones of them for which it named no time.
    private var refusals = 0
    private var untoldRefusals = 0

    /// Set while what stands in front of the service was not seen to let anybody in again.
    private(set) var front: FrontStop?

    /// - Parameters:
    ///   - until: The end of one left over from earlier, in Unix seconds.
    ///   - front: Why it began, if it was not the service itself that asked for it.
    init(until: Int64?, front: FrontStop? = nil) {
        self.until = until
        self.front = front
        trust = until == nil ? .everybody : .nobodyYet
    }

    /// Seconds until the end of the present one; a clock set back must not make it longer than any lasts.
    func secondsLeft(_ wall: Int64) -> Int64 {
        // Both numbers come from outside: from a file and from a clock that anybody may set.
        guard let until, until > wall else { return 0 }
        let (left, overflows) = until.subtractingReportingOverflow(wall)
        let longest = front == nil ? Self.longest : FrontStop.longest
        return overflows ? longest : min(left, longest)
    }

    /// Lets a request go: as the probe, if one is due.
    mutating func letGo(_ id: Int) -> GateTicket {
        if trust == .nobodyYet { trust = .probing(id) }
        return ticket(id)
    }

    /// The ticket of a request that goes whoever is trusted, and is no probe.
    func ticket(_ id: Int) -> GateTicket { GateTicket(id: id, closings: closings) }

    /// Ends the pause of a front: one request goes as a probe, by other means than before.
    mutating func probeAgain() {
        guard front != nil else { return }
        until = nil
        closings += 1
        changes += 1
        trust = .nobodyYet
    }

    /// Stops everybody for what stands in front of the service: for its pause, or until another way was tried.
    ///
    /// - Parameters:
    ///   - ticket: Of the request that was turned away.
    ///   - refusal: How.
    ///   - mark: Of what it was asked with.
    ///   - hasOtherWay: Whether the next one goes another way, at once.
    ///   - wall: Unix seconds.
    /// - Returns: The end of the pause, in Unix seconds; nil if the ticket is from before the last one.
    mutating func turnAway(
        _ ticket: GateTicket, _ refusal: FrontRefusal, mark: String, hasOtherWay: Bool, wall: Int64
    ) -> Int64? {
        // Many requests that were under way together are turned away together.
        guard ticket.closings == closings else { return nil }
        let step = front.map { $0.step + 1 } ?? 0
        front = FrontStop(refusal: refusal, step: hasOtherWay ? step - 1 : step, mark: mark)
        guard !hasOtherWay, let stop = front else {
            probeAgain()
            return wall
        }
        let end = wall.addingReportingOverflow(stop.seconds)
        until = end.overflow ? .max : end.partialValue
        closings += 1
        changes += 1
        trust = .nobodyYet
        return until
    }

    /// Takes in what came of a request.
    ///
    /// - Returns: The end of a cool-down that this began or made longer, in Unix seconds.
    mutating func settle(_ ticket: GateTicket, _ verdict: GateVerdict, wall: Int64) -> Int64? {
        // A request from before the last cool-down tells nothing of the time after it.
        let isRecent = ticket.closings == closings
        switch verdict {
        case .fine:
            guard isRecent else { return nil }
            trust = .everybody
            front = nil
            (refusals, untoldRefusals) = (0, 0)
        case .unknown, .unsent:
            if trust == .probing(ticket.id) { trust = .nobodyYet }
        case .limited(let seconds, told: true):
            // A service that names too short a time again and again is asked more and more seldom.
            let least = Int64(1) << Int64(min(refusals, Self.mostDoublings))
            if isRecent {
                refusals += 1
                front = nil
            }
            return close(forSeconds: seconds > 0 ? max(seconds, least) : 0, wall: wall)
        case .limited(let seconds, told: false):
            // Many requests that were under way together are refused together: that is one refusal.
            guard isRecent else { return nil }
            let factor = Int64(1) << Int64(min(untoldRefusals, Self.mostDoublings))
            untoldRefusals += 1
            front = nil
            return close(forSeconds: min(max(0, seconds), Self.longest) * factor, wall: wall)
        }
        return nil
    }

    /// Closes until so many seconds from now, never for less than what is left; returns the new end, nil if nothing changed.
    private mutating func close(forSeconds seconds: Int64, wall: Int64) -> Int64? {
        let pause = min(seconds, Self.longest)
        let (end, overflows) = wall.addingReportingOverflow(pause)
        guard pause > 0, !overflows, pause > secondsLeft(wall) else { return nil }
        until = end
        closings += 1
        changes += 1
        trust = .nobodyYet
        return end
    }
}

/// The right to one request.
package struct GateTicket: Hashable, Sendable {
    let id: Int
    /// How many cool-downs had begun when it was given.
    let closings: Int

    package init(id: Int, closings: Int) {
        self.id = id
        self.closings = closings
    }
}

/// What a request's end tells the gate.
package enum GateVerdict: Hashable, Sendable {
    /// The service answered as it does to anybody who is welcome.
    case fine
    /// The service wants to be left alone for so many seconds.
    ///
    /// - Parameter told: Whether the service named the time; a usual one doubles each time that it was not long enough.
    case limited(seconds: Int64, told: Bool)
    /// The request was not sent after all.
    case unsent
    /// No answer that tells: cancelled, timed out, unreachable, a server in trouble.
    case unknown

    /// The verdict on an answer that asks for a pause.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - usual: Seconds of the pause if it names none that can be understood.
    ///   - now: Wall clock in Unix seconds, for a date in an answer without one.
    /// - Returns: A pause of a second at least.
    package static func limited(by answer: HTTPAnswer, usual: Int64, now: Int64) -> GateVerdict {
        let pause = answer.pause(now: now).map { max($0, 1) }
        return .limited(seconds: pause ?? usual, told: pause != nil)
    }
}

// MARK: - Lines

/// Ids in the order of their keys, and among equal keys in that of the ids; one that leaves, from wherever, is not searched for.
///
/// A binary heap with the places that were left since, which are dropped as they come to the top: each change costs the
/// logarithm of the length at most.
struct WaitingLine<Key: Comparable> {
    struct Place: Comparable {
        let id: Int
        let key: Key

        static func < (left: Place, right: Place) -> Bool {
            left.key == right.key ? left.id < right.id : left.key < right.key
        }
    }

    /// Left places that are kept before the heap is made anew.
    private static var mostLeft: Int { 64 }

    private var keys: [Int: Key] = [:]
    private var heap: [Place] = []

    var count: Int { keys.count }

    /// Puts an id in its place; one that is there already moves.
    mutating func insert(_ id: Int, _ key: Key) {
        if heap.count > 2 * keys.count + Self.mostLeft {
            // Sorted is a heap.
            heap = keys.map { Place(id: $0.key, key: $0.value) }.sorted()
        }
        keys[id] = key
        heap.append(Place(id: id, key: key))
        var child = heap.count - 1
        while child > 0, heap[child] < heap[(child - 1) / 2] {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes an id out; false if it is not there.
    @discardableResult
    mutating func remove(_ id: Int) -> Bool { keys.removeValue(forKey: id) != nil }

    /// The first place; nil if there is none.
    mutating func first() -> Place? {
        while let top = heap.first {
            if keys[top.id] == top.key { return top }
            dropTop()
        }
        return nil
    }

    private mutating func dropTop() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var child = 2 * parent + 1
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard child < heap.count, heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
