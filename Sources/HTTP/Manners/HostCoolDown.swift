/// Who may ask one host now: nobody during a cool-down, one after it, few while the host is a stranger; told the time, never
/// asking it.
///
/// A request waits for the end of a cool-down if it can still be answered before its deadline, readers first; the others are
/// refused at once. A burst of requests begins with a few, and each good answer lets two more be under way: a host that wants
/// none says so to those few.
struct HostCoolDown {
    /// What the caller has to do, in order.
    enum Action: Equatable {
        case send(Int)
        /// The cool-down lasts longer than the request may, by so many seconds from now.
        case refuse(Int, seconds: Int64)
        /// What stands in front of the host turns programs away for longer than the request may wait.
        case turnAway(Int)
        /// The deadline came while others were asked.
        case late(Int)
    }

    private struct Item {
        var priority: TransferPriority
        var transferClass: TransferClass
        var deadline: ContinuousClock.Instant

        /// Who goes first: by priority, and of what nobody waits for bodies before small answers.
        var rank: Int { priority == .preload && transferClass == .bulk ? TransferPriority.shown.rank : priority.rank }
    }

    /// Requests under way at the beginning of a burst: enough for the first pictures, few enough to be refused.
    static let few = 4
    /// How many more may be under way after each good answer; with the one that has ended, three times as many a round trip.
    static let growth = 2
    /// How long a request without an answer counts: what hangs holds nobody else up.
    static let patience = Duration.seconds(1)
    /// How long good answers count, from one burst of requests to the next.
    static let welcomeFor = Duration.seconds(5)
    /// More than the transport will ever have under way.
    private static let most = 1024
    /// What an answer takes at least, after the end of a cool-down.
    static let answerTime = Duration.milliseconds(500)

    private var coolDown: CoolDown
    private var line = WaitingLine(ranks: 3)
    private var waiting: [Int: Item] = [:]
    private var arrivals = 0
    /// The same by their deadlines, as nanoseconds after that of the first who ever came.
    private var deadlines = WaitingLine(ranks: 1)
    private var firstDeadline: ContinuousClock.Instant?
    private var earliest: ContinuousClock.Instant?
    private var underWay: [Int: GateTicket] = [:]
    /// Those that have a gate of their own: they wait for nothing but a front, and go with the `next` after they came.
    private var passing: [Int] = []
    private var passed: Set<Int> = []
    /// When those under way that count were sent, and all that did, in order.
    private var counted: [Int: ContinuousClock.Instant] = [:]
    private var sent: [(id: Int, time: ContinuousClock.Instant)] = []
    /// Where the first one of these is that may still count.
    private var firstSent = 0
    /// How many may be under way, by the good answers of this burst.
    private var allowance = few
    /// The last good answer.
    private var welcomed: ContinuousClock.Instant?

    /// - Parameter pause: What is left over from earlier.
    init(_ pause: HostPause? = nil) {
        coolDown = CoolDown(until: pause?.end, front: pause?.front)
    }

    /// What is to be kept over restarts: a cool-down, and a front that nobody was seen to pass, however long ago.
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

    /// Whether nothing would be lost with it.
    func isIdle(wall: Int64) -> Bool {
        waiting.isEmpty && underWay.isEmpty && coolDown.trust == .everybody
    }

    /// Puts a request in its place.
    ///
    /// Of what nobody waits for, bodies go first: they are few, asked for ahead of somebody who reads, while the sizes of a whole
    /// listing come by the hundred.
    ///
    /// What has a gate of its own passes by, unless a front is in the way of everybody.
    mutating func join(
        _ id: Int, priority: TransferPriority, transferClass: TransferClass = .metadata,
        deadline: ContinuousClock.Instant, hasGate: Bool = false
    ) {
        if hasGate, coolDown.front == nil { return passing.append(id) }
        let item = Item(priority: priority, transferClass: transferClass, deadline: deadline)
        waiting[id] = item
        arrivals += 1
        line.insert(id, rank: item.rank, number: arrivals)
        let first = firstDeadline ?? deadline
        firstDeadline = first
        deadlines.insert(id, rank: 0, number: Self.nanoseconds(deadline - first))
        earliest = deadlines.first().flatMap { waiting[$0]?.deadline }
    }

    private static func nanoseconds(_ duration: Duration) -> Int {
        Int(max(-1e18, min(1e18, duration / .nanoseconds(1))))
    }

    /// Changes the priority of one that waits.
    mutating func setPriority(_ id: Int, _ priority: TransferPriority) {
        guard let item = waiting[id], item.priority != priority else { return }
        join(id, priority: priority, transferClass: item.transferClass, deadline: item.deadline)
    }

    /// Takes one out that waits; false if it does not.
    @discardableResult
    mutating func leave(_ id: Int) -> Bool {
        line.remove(id)
        deadlines.remove(id)
        earliest = deadlines.first().flatMap { waiting[$0]?.deadline }
        return waiting.removeValue(forKey: id) != nil
    }

    /// Takes in what came of a request under way; a second time is without effect.
    ///
    /// - Returns: The end of a cool-down that this began or made longer, in Unix seconds.
    mutating func settle(_ id: Int, _ verdict: GateVerdict, now: ContinuousClock.Instant, wall: Int64) -> Int64? {
        guard let ticket = underWay.removeValue(forKey: id) else { return nil }
        counted[id] = nil
        // Of how many pictures the host likes, the service's interface says nothing.
        guard passed.remove(id) == nil else { return nil }
        switch verdict {
        case .fine:
            allowance = min(allowance(now) + Self.growth, Self.most)
            welcomed = now
        case .limited: allowance = Self.few
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
        guard let ticket = underWay.removeValue(forKey: id) else { return nil }
        counted[id] = nil
        passed.remove(id)
        allowance = Self.few
        return coolDown.turnAway(ticket, refusal, mark: mark, hasOtherWay: hasOtherWay, wall: wall)
    }

    /// Ends the pause of a front at once, with one probe.
    mutating func probeAgain() { coolDown.probeAgain() }

    /// What may go, or must end, now.
    mutating func next(now: ContinuousClock.Instant, wall: Int64) -> [Action] {
        let left = coolDown.secondsLeft(wall)
        var actions = expire(now, left)
        forgetPatient(now)
        for id in passing {
            underWay[id] = coolDown.ticket(id)
            passed.insert(id)
            actions.append(.send(id))
        }
        passing = []
        guard left == 0, !waiting.isEmpty else { return actions }
        for _ in 0..<free(now) {
            guard let id = line.first() else { break }
            leave(id)
            underWay[id] = coolDown.letGo(id)
            counted[id] = now
            sent.append((id, now))
            actions.append(.send(id))
        }
        return actions
    }

    /// Ends what cannot be answered in time; who has time is not looked at.
    private mutating func expire(_ now: ContinuousClock.Instant, _ left: Int64) -> [Action] {
        var actions: [Action] = []
        while let earliest, let id = deadlines.first() {
            if earliest <= now {
                actions.append(coolDown.front == nil ? .late(id) : .turnAway(id))
            } else if left > 0, earliest < now + .seconds(left) + Self.answerTime {
                actions.append(coolDown.front == nil ? .refuse(id, seconds: left) : .turnAway(id))
            } else {
                break
            }
            leave(id)
        }
        return actions
    }

    /// How many may go now.
    private func free(_ now: ContinuousClock.Instant) -> Int {
        switch coolDown.trust {
        case .probing: 0
        case .nobodyYet: 1
        case .everybody: max(0, allowance(now) - counted.count)
        }
    }

    /// What was sent too long ago counts no more; each is looked at once.
    private mutating func forgetPatient(_ now: ContinuousClock.Instant) {
        while firstSent < sent.count {
            let (id, time) = sent[firstSent]
            if counted[id] == time {
                guard now - time >= Self.patience else { break }
                counted[id] = nil
            }
            firstSent += 1
        }
        if firstSent == sent.count || firstSent > Self.most {
            sent.removeFirst(firstSent)
            firstSent = 0
        }
    }

    private func allowance(_ now: ContinuousClock.Instant) -> Int {
        guard let welcomed, now - welcomed <= Self.welcomeFor else { return Self.few }
        return allowance
    }

    /// When to ask `next` again if nothing else happens; nil if nobody waits.
    func wake(now: ContinuousClock.Instant, wall: Int64) -> ContinuousClock.Instant? {
        guard let earliest else { return nil }
        let left = coolDown.secondsLeft(wall)
        if left > 0 { return min(earliest, now + .seconds(left)) }
        // Who waits for a place has it as soon as one of those under way does not count any more.
        let place = sent[firstSent...].first { counted[$0.id] == $0.time && $0.time + Self.patience > now }
        return min(earliest, place.map { $0.time + Self.patience } ?? earliest)
    }
}
