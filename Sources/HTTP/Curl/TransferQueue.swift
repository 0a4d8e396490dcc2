/// Which transfer may go now: slots per host and class, by priority, first come first served among equals.
///
/// Each lane (one origin, one class) has slots of its own. Of small answers those that nobody waits for leave one slot free.
/// Which bodies are asked for, and which gives its slot to a reader, is decided by who asks: what is here beyond the slots waits.
///
/// Pure: the caller starts what may go.
struct TransferQueue {
    /// What shares slots.
    struct Lane: Hashable, Sendable {
        var origin: String
        var transferClass: TransferClass
    }

    /// Slots of a lane by what it carries.
    struct Limits {
        /// Bulk transfers, each on a connection of its own.
        var bulk: Int
        /// Metadata on connections of their own.
        var metadata = 32
        /// Metadata as streams of one connection: nginx's limit, which the image host has.
        ///
        /// Where a server allows fewer, libcurl 7.88 opens another connection for each one beyond them (measured: 29 of them at
        /// a limit of 100), and keeps using those.
        var multiplexed = 128
        /// The same of an origin with TLS that has not answered yet: what libcurl takes a server to allow until it hears otherwise
        /// (its DEFAULT_MAX_CONCURRENT_STREAMS), or it opens a connection for each one beyond them.
        ///
        /// They wait for one connection. If it cannot be shared, the bound on connections to one host holds
        /// (`CURLMOPT_MAX_HOST_CONNECTIONS`).
        var unknown: Int { min(100, multiplexed) }
    }

    private struct Item {
        var lane: Lane
        var priority: TransferPriority
        var order: Int
        var isRunning = false
    }

    private struct LaneState {
        var waiting = WaitingLine(ranks: TransferPriority.allCases.count)
        var running = 0
        /// Those of them that nobody waits for.
        var ahead = 0
    }

    private let limits: Limits
    private var items: [Int: Item] = [:]
    private var lanes: [Lane: LaneState] = [:]
    /// Whether an origin that has answered speaks HTTP/2.
    private var multiplexes: [String: Bool] = [:]

    init(limits: Limits) {
        self.limits = limits
    }

    /// Transfers that were started and not removed.
    var activeCount: Int { lanes.values.reduce(0) { $0 + $1.running } }

    /// Transfers that wait.
    var waitingCount: Int { lanes.values.reduce(0) { $0 + $1.waiting.count } }

    /// Adds a waiting transfer; a lower `order` goes first among equal priorities, and one that is there already stays there.
    mutating func enqueue(_ id: Int, lane: Lane, priority: TransferPriority, order: Int) {
        guard items[id] == nil else { return }
        items[id] = Item(lane: lane, priority: priority, order: order)
        lanes[lane, default: LaneState()].waiting.insert(id, rank: priority.rank, number: order)
    }

    /// Changes the priority of a transfer that waits or is under way; an unknown one is ignored.
    mutating func setPriority(_ id: Int, _ priority: TransferPriority) {
        guard let item = items[id], item.priority != priority else { return }
        items[id]?.priority = priority
        if item.isRunning {
            lanes[item.lane]?.ahead += Self.ahead(priority) - Self.ahead(item.priority)
        } else {
            lanes[item.lane]?.waiting.insert(id, rank: priority.rank, number: item.order)
        }
    }

    /// Takes a transfer out, whether it waits or is under way; an unknown one is ignored.
    mutating func remove(_ id: Int) {
        guard let item = items.removeValue(forKey: id) else { return }
        if item.isRunning {
            lanes[item.lane]?.running -= 1
            lanes[item.lane]?.ahead -= Self.ahead(item.priority)
        } else {
            lanes[item.lane]?.waiting.remove(id)
        }
        if let state = lanes[item.lane], state.waiting.isEmpty, state.running == 0 { lanes[item.lane] = nil }
    }

    /// Notes whether this origin speaks HTTP/2, so that its metadata is worth more slots.
    mutating func learn(_ origin: String, multiplexes isMultiplexed: Bool) {
        multiplexes[origin] = isMultiplexed
    }

    /// Those that start now, in order.
    mutating func next() -> [Int] {
        var started: [Int] = []
        for lane in lanes.keys where lanes[lane]?.waiting.isEmpty == false {
            let slots = slots(of: lane)
            while let running = lanes[lane]?.running, running < slots.all, let id = lanes[lane]?.waiting.first() {
                let ahead = items[id].map { Self.ahead($0.priority) } ?? 0
                if ahead > 0, lanes[lane]?.ahead ?? 0 >= slots.ahead { break }
                items[id]?.isRunning = true
                lanes[lane]?.waiting.remove(id)
                lanes[lane]?.running += 1
                lanes[lane]?.ahead += ahead
                started.append(id)
            }
        }
        return started
    }

    private func slots(of lane: Lane) -> (all: Int, ahead: Int) {
        switch lane.transferClass {
        case .bulk: return (limits.bulk, limits.bulk)
        case .metadata:
            let all =
                switch multiplexes[lane.origin] {
                case true?: limits.multiplexed
                case nil where lane.origin.hasPrefix("https:"): limits.unknown
                default: limits.metadata
                }
            return (all, max(1, all - 1))
        }
    }

    /// How many it counts as of those that nobody waits for.
    private static func ahead(_ priority: TransferPriority) -> Int { priority == .reader ? 0 : 1 }
}

/// Those who wait, by rank and then by number; whoever leaves, from wherever, is not searched for.
///
/// Each change costs the same however many wait, but for a number that comes out of turn.
struct WaitingLine {
    private struct Place: Equatable {
        var id: Int
        var rank: Int
        var number: Int
    }

    /// Places of one rank in order, with those that were left since.
    private struct Row {
        var places: [Place] = []
        /// Where the first of them is that was not looked at yet.
        var head = 0
    }

    /// Left places that are borne before a row is tidied up.
    private static let mostLeft = 64

    private var places: [Int: Place] = [:]
    private var rows: [Row]

    /// A line with ranks from 0, which goes first, up to this one, which is not among them.
    init(ranks: Int) {
        rows = Array(repeating: Row(), count: max(1, ranks))
    }

    var count: Int { places.count }
    var isEmpty: Bool { places.isEmpty }

    /// Everybody, in order.
    var ids: [Int] {
        places.values.sorted { ($0.rank, $0.number) < ($1.rank, $1.number) }.map(\.id)
    }

    /// Puts somebody in their place, before those of the same rank that have a greater number; who is there already moves.
    mutating func insert(_ id: Int, rank: Int, number: Int) {
        let rank = min(max(0, rank), rows.count - 1)
        let place = Place(id: id, rank: rank, number: number)
        places[id] = place
        if rows[rank].places.count - rows[rank].head > 2 * places.count + Self.mostLeft {
            rows[rank] = Row(places: rows[rank].places.filter { places[$0.id] == $0 && $0 != place })
        }
        // Nearly always the last place: look from the end.
        var index = rows[rank].places.count
        while index > rows[rank].head, rows[rank].places[index - 1].number > number { index -= 1 }
        rows[rank].places.insert(place, at: index)
    }

    /// Takes somebody out; false if they do not wait.
    @discardableResult
    mutating func remove(_ id: Int) -> Bool {
        places.removeValue(forKey: id) != nil
    }

    /// Who is next; nil if nobody waits.
    mutating func first() -> Int? {
        for rank in rows.indices {
            while rows[rank].head < rows[rank].places.count {
                let place = rows[rank].places[rows[rank].head]
                if places[place.id] == place { return place.id }
                rows[rank].head += 1
            }
            rows[rank] = Row()
        }
        return nil
    }
}
