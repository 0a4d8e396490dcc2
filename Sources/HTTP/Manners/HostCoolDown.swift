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
        /// The deadline came while others were asked.
        case late(Int)
    }

    private struct Item {
        var id: Int
        var priority: TransferPriority
        var transferClass: TransferClass
        var deadline: ContinuousClock.Instant

        /// Whether it goes before one that comes later.
        func goesBefore(_ later: Item) -> Bool {
            if priority != later.priority { return priority > later.priority }
            return priority == .reader || transferClass == .bulk || later.transferClass == .metadata
        }
    }

    private struct Sent {
        var ticket: GateTicket
        var time: ContinuousClock.Instant
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
    /// By priority, of what nobody waits for bodies before small answers, then by arrival.
    private var waiting: [Item] = []
    private var underWay: [Int: Sent] = [:]
    /// How many may be under way, by the good answers of this burst.
    private var allowance = few
    /// The last good answer.
    private var welcomed: ContinuousClock.Instant?

    /// - Parameter closedUntil: The end of a cool-down left over from earlier, in Unix seconds.
    init(closedUntil: Int64? = nil) {
        coolDown = CoolDown(until: closedUntil)
    }

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
    mutating func join(
        _ id: Int, priority: TransferPriority, transferClass: TransferClass = .metadata,
        deadline: ContinuousClock.Instant
    ) {
        let item = Item(id: id, priority: priority, transferClass: transferClass, deadline: deadline)
        // Nearly always the last place: look from the end.
        let place = waiting.lastIndex { $0.goesBefore(item) }.map { $0 + 1 } ?? 0
        waiting.insert(item, at: place)
    }

    /// Changes the priority of one that waits.
    mutating func setPriority(_ id: Int, _ priority: TransferPriority) {
        guard let place = waiting.firstIndex(where: { $0.id == id }), waiting[place].priority != priority else {
            return
        }
        let item = waiting.remove(at: place)
        join(id, priority: priority, transferClass: item.transferClass, deadline: item.deadline)
    }

    /// Takes one out that waits; false if it does not.
    mutating func leave(_ id: Int) -> Bool {
        guard let place = waiting.firstIndex(where: { $0.id == id }) else { return false }
        waiting.remove(at: place)
        return true
    }

    /// Takes in what came of a request under way; a second time is without effect.
    ///
    /// - Returns: The end of a cool-down that this began or made longer, in Unix seconds.
    mutating func settle(_ id: Int, _ verdict: GateVerdict, now: ContinuousClock.Instant, wall: Int64) -> Int64? {
        guard let sent = underWay.removeValue(forKey: id) else { return nil }
        switch verdict {
        case .fine:
            allowance = min(allowance(now) + Self.growth, Self.most)
            welcomed = now
        case .limited: allowance = Self.few
        case .unknown: break
        }
        return coolDown.settle(sent.ticket, verdict, wall: wall)
    }

    /// What may go, or must end, now.
    mutating func next(now: ContinuousClock.Instant, wall: Int64) -> [Action] {
        var actions: [Action] = []
        let left = coolDown.secondsLeft(wall)
        waiting.removeAll { item in
            if item.deadline <= now {
                actions.append(.late(item.id))
            } else if left > 0, item.deadline < now + .seconds(left) + Self.answerTime {
                actions.append(.refuse(item.id, seconds: left))
            } else {
                return false
            }
            return true
        }
        guard left == 0 else { return actions }
        let free = min(waiting.count, free(now))
        for item in waiting[..<free] {
            underWay[item.id] = Sent(ticket: coolDown.letGo(item.id), time: now)
            actions.append(.send(item.id))
        }
        waiting.removeFirst(free)
        return actions
    }

    /// How many may go now.
    private func free(_ now: ContinuousClock.Instant) -> Int {
        switch coolDown.trust {
        case .probing: 0
        case .nobodyYet: 1
        case .everybody: max(0, allowance(now) - underWay.values.count { now - $0.time < Self.patience })
        }
    }

    private func allowance(_ now: ContinuousClock.Instant) -> Int {
        guard let welcomed, now - welcomed <= Self.welcomeFor else { return Self.few }
        return allowance
    }

    /// When to ask `next` again if nothing else happens; nil if nobody waits.
    func wake(now: ContinuousClock.Instant, wall: Int64) -> ContinuousClock.Instant? {
        guard let earliest = waiting.map(\.deadline).min() else { return nil }
        let left = coolDown.secondsLeft(wall)
        if left > 0 { return min(earliest, now + .seconds(left)) }
        // Who waits for a place has it as soon as one of those under way does not count any more.
        let places = underWay.values.map { $0.time + Self.patience }.filter { $0 > now }
        return min(earliest, places.min() ?? earliest)
    }
}
