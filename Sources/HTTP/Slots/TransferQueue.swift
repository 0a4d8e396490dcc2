/// Which transfer may go now: slots per host and class, readers before preloads, first come first served among equals.
///
/// The rule, which holds for each lane (one origin, one class) by itself:
///
/// 1. At most `slots.all` transfers are under way.
/// 2. Preloads start only while fewer than `slots.ahead` preloads are under way, and never before a waiting reader.
/// 3. A reader that finds no slot free takes that of the preload that started last, which is *preempted*.
///
/// So a reader waits for readers only, whatever the number of slots; rule 2 makes rule 3 rare, because a preempted transfer
/// throws its HTTP/1.1 connection away.
///
/// Pure: the caller performs the actions. A preempted transfer is out of the queue; enqueue it again to let it go on.
struct TransferQueue {
    /// What shares slots.
    struct Lane: Hashable, Sendable {
        var origin: String
        var transferClass: TransferClass
    }

    /// What the caller has to do, in order.
    enum Action: Equatable {
        case start(Int)
        case preempt(Int)
    }

    /// Slots of a lane by what it carries.
    struct Limits {
        /// Bulk transfers, each on a connection of its own.
        var bulk: TransferSlots
        /// Metadata on connections of their own, as long as the origin has not been seen to speak HTTP/2.
        var metadata = 32
        /// Metadata as streams of one connection: nginx's limit, which the image host has.
        ///
        /// Where a server allows fewer, libcurl 7.88 opens another connection for each one beyond them (measured: 29 of them at
        /// a limit of 100), and keeps using those.
        var multiplexed = 128
    }

    private struct Item {
        var lane: Lane
        var priority: TransferPriority
        var order: Int
        /// When it started, as a count; nil while it waits.
        var started: Int?
    }

    private struct LaneState {
        /// Sorted by priority, then order.
        var waiting: [Int] = []
        var running: Set<Int> = []
    }

    private let limits: Limits
    private var items: [Int: Item] = [:]
    private var lanes: [Lane: LaneState] = [:]
    private var multiplexedOrigins: Set<String> = []
    private var starts = 0

    init(limits: Limits) {
        self.limits = limits
    }

    /// Transfers that were started and not removed.
    var activeCount: Int { lanes.values.reduce(0) { $0 + $1.running.count } }

    /// Transfers that wait.
    var waitingCount: Int { lanes.values.reduce(0) { $0 + $1.waiting.count } }

    /// Adds a waiting transfer; a lower `order` goes first among equal priorities, and one that is there already stays there.
    mutating func enqueue(_ id: Int, lane: Lane, priority: TransferPriority, order: Int) {
        guard items[id] == nil else { return }
        items[id] = Item(lane: lane, priority: priority, order: order, started: nil)
        insertWaiting(id, lane: lane)
    }

    /// Changes the priority of a transfer that waits or is under way; an unknown one is ignored.
    mutating func setPriority(_ id: Int, _ priority: TransferPriority) {
        guard let item = items[id], item.priority != priority else { return }
        items[id]?.priority = priority
        guard item.started == nil else { return }
        lanes[item.lane]?.waiting.removeAll { $0 == id }
        insertWaiting(id, lane: item.lane)
    }

    /// Takes a transfer out, whether it waits or is under way; an unknown one is ignored.
    mutating func remove(_ id: Int) {
        guard let item = items.removeValue(forKey: id) else { return }
        if item.started == nil {
            lanes[item.lane]?.waiting.removeAll { $0 == id }
        } else {
            lanes[item.lane]?.running.remove(id)
        }
        if let state = lanes[item.lane], state.waiting.isEmpty, state.running.isEmpty { lanes[item.lane] = nil }
    }

    /// Notes that this origin speaks HTTP/2, so that its metadata is worth more slots.
    mutating func learnMultiplexing(origin: String) {
        multiplexedOrigins.insert(origin)
    }

    /// Everything that may start now, with the preemptions that make room for it.
    mutating func next() -> [Action] {
        var actions: [Action] = []
        for lane in lanes.keys where lanes[lane]?.waiting.isEmpty == false {
            fill(lane, &actions)
        }
        return actions
    }

    private func slots(of lane: Lane) -> (all: Int, ahead: Int) {
        switch lane.transferClass {
        case .bulk: return (limits.bulk.all, limits.bulk.ahead)
        case .metadata:
            let all = multiplexedOrigins.contains(lane.origin) ? limits.multiplexed : limits.metadata
            return (all, max(1, all - 1))
        }
    }

    private mutating func fill(_ lane: Lane, _ actions: inout [Action]) {
        let slots = slots(of: lane)
        while let id = lanes[lane]?.waiting.first, let item = items[id], let state = lanes[lane] {
            let preloads = state.running.filter { items[$0]?.priority == .preload }
            if state.running.count >= slots.all {
                guard item.priority > .preload, let victim = preloads.max(by: startedEarlier) else { return }
                remove(victim)
                actions.append(.preempt(victim))
            } else if item.priority == .preload, preloads.count >= slots.ahead {
                return
            }
            starts += 1
            items[id]?.started = starts
            lanes[lane]?.waiting.removeFirst()
            lanes[lane]?.running.insert(id)
            actions.append(.start(id))
        }
    }

    private func startedEarlier(_ left: Int, _ right: Int) -> Bool {
        (items[left]?.started ?? 0) < (items[right]?.started ?? 0)
    }

    private mutating func insertWaiting(_ id: Int, lane: Lane) {
        var waiting = lanes[lane, default: LaneState()].waiting
        // Nearly always the last place: look from the end.
        let index = waiting.lastIndex { goesBefore($0, id) }.map { $0 + 1 } ?? 0
        waiting.insert(id, at: index)
        lanes[lane, default: LaneState()].waiting = waiting
    }

    private func goesBefore(_ left: Int, _ right: Int) -> Bool {
        guard let left = items[left], let right = items[right] else { return false }
        return left.priority == right.priority ? left.order < right.order : left.priority > right.priority
    }
}
