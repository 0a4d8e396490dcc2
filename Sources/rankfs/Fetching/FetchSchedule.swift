/// Which work is next, and how long to leave the service alone after failures: pure, told the time in Unix seconds.
///
/// Listings ask the service, files the image host: each kind has a gate of its own. While a gate is closed nothing of its kind
/// begins; when its time has come a single piece of work goes as a probe, and only its success lets the others go.
struct FetchSchedule<Work: Sendable>: Sendable {
    /// Who is asked.
    enum Kind: Int, CaseIterable, Sendable {
        case listing, file
    }

    /// A piece of work with its number.
    struct Piece: Sendable {
        let id: Int
        let kind: Kind
        let work: Work
        /// The place in the order of all: that of the listing it was found in, and the number there.
        fileprivate let order: [Int]
        fileprivate var attempts = 0
        fileprivate var notBefore: Int64 = 0
        /// The closings of its gate before it began.
        fileprivate var closings = 0
    }

    enum Decision: Sendable {
        case begin(Piece)
        /// Ask again at this time, or when something has ended if there is none.
        case wait(until: Int64?)
        case finished
    }

    /// What comes of a failure.
    enum Verdict: Hashable, Sendable {
        /// It is tried again later.
        case again
        case givenUp
    }

    /// Attempts at one piece of work without a cool-down in between.
    static var attempts: Int { 8 }
    /// The longest pause between two attempts, in seconds.
    static var longestPause: Int64 { 60 }
    /// Failures in a row that show that it is not the picture's fault.
    static var failuresOfAll: Int { 3 }
    /// Works given up in a row that show that the rest would fail too.
    static var outage: Int { 3 }
    /// Files that wait before another directory is listed.
    static var mostFiles: Int { 2000 }

    private struct Gate {
        /// Nil while it is open.
        var closedUntil: Int64?
        var isCoolDown = false
        var probe: Int?
        /// Trouble in a row, for the length of pauses.
        var step = 0
        var failures = 0
        var closings = 0
    }

    private var pending: [Piece] = []
    private var running: [Int: Piece] = [:]
    private var gates = [Gate(), Gate()]
    private var nextID = 0
    private var waitingFiles = 0
    /// One at a time: they come in order, and a service that begins to refuse is asked once.
    private var isListing = false
    private var givenUpInARow = 0

    /// Works that have neither succeeded nor been given up.
    var left: Int { pending.count + running.count }

    /// Whether so much failed that the rest is not worth trying.
    var isOutage: Bool { givenUpInARow >= Self.outage }

    /// The end of the cool-down that keeps work waiting; nil if there is none.
    var coolDown: Int64? {
        gates.filter(\.isCoolDown).compactMap(\.closedUntil).max()
    }

    /// Adds work: what a listing has, in the listing's place, or what comes behind everything else.
    mutating func add(_ works: [(kind: Kind, work: Work)], in listing: Piece?) {
        let pieces = works.map { kind, work in
            nextID += 1
            return Piece(id: nextID, kind: kind, work: work, order: (listing?.order ?? []) + [nextID])
        }
        guard let first = pieces.first else { return }
        waitingFiles += pieces.count { $0.kind == .file }
        pending.insert(contentsOf: pieces, at: place(of: first))
    }

    private func place(of piece: Piece) -> Int {
        pending.firstIndex { piece.order.lexicographicallyPrecedes($0.order) } ?? pending.endIndex
    }

    /// The next work in order that may begin now.
    mutating func next(now: Int64) -> Decision {
        guard left > 0 else { return .finished }
        var earliest: Int64?
        for (index, piece) in pending.enumerated() {
            if piece.kind == .listing, isListing || waitingFiles >= Self.mostFiles { continue }
            let gate = gates[piece.kind.rawValue]
            if gate.probe != nil { continue }
            let time = max(piece.notBefore, gate.closedUntil ?? 0)
            guard time <= now else {
                earliest = min(earliest ?? time, time)
                continue
            }
            return .begin(begin(at: index))
        }
        return .wait(until: earliest)
    }

    private mutating func begin(at index: Int) -> Piece {
        var piece = pending.remove(at: index)
        let gate = piece.kind.rawValue
        piece.closings = gates[gate].closings
        if gates[gate].closedUntil != nil { gates[gate].probe = piece.id }
        if piece.kind == .file { waitingFiles -= 1 } else { isListing = true }
        running[piece.id] = piece
        return piece
    }

    /// Takes in that work has ended in a way that trying again would not change.
    mutating func succeeded(_ id: Int) {
        guard let piece = running.removeValue(forKey: id) else { return }
        if piece.kind == .listing { isListing = false }
        let gate = piece.kind.rawValue
        givenUpInARow = 0
        if gates[gate].probe == id { gates[gate].probe = nil }
        // What began before the gate closed tells nothing of the time after it.
        guard gates[gate].closings == piece.closings else { return }
        gates[gate] = Gate(closings: gates[gate].closings)
    }

    /// Takes in a failure that may pass.
    ///
    /// - Parameters:
    ///   - id: The work that failed.
    ///   - unreachable: Whether nobody was reached at all, so that others would not be either.
    ///   - closedUntil: The end of a cool-down that the service asked for.
    ///   - now: Unix seconds.
    /// - Returns: Whether it is tried again.
    mutating func failed(_ id: Int, unreachable: Bool, closedUntil: Int64?, now: Int64) -> Verdict {
        guard var piece = running.removeValue(forKey: id) else { return .givenUp }
        if piece.kind == .listing { isListing = false }
        let gate = piece.kind.rawValue
        let isRecent = gates[gate].closings == piece.closings
        let wasProbe = gates[gate].probe == id
        if wasProbe { gates[gate].probe = nil }
        if let closedUntil, closedUntil >= now {
            piece.attempts = 0
            // A second more: the mount counts whole seconds too, and must be the one that is ready first.
            close(gate, until: closedUntil + 1, isCoolDown: true)
            return putBack(piece)
        }
        guard isRecent else { return putBack(piece) }
        piece.attempts += 1
        gates[gate].failures += 1
        if unreachable || wasProbe || gates[gate].failures >= Self.failuresOfAll {
            gates[gate].step += 1
            close(gate, until: now + Self.pause(gates[gate].step), isCoolDown: false)
        }
        guard piece.attempts < Self.attempts else {
            givenUpInARow += 1
            return .givenUp
        }
        piece.notBefore = now + Self.pause(piece.attempts)
        return putBack(piece)
    }

    /// Takes away all that waits; what runs may still end.
    ///
    /// - Returns: What was not tried to its end.
    mutating func abandon() -> [Piece] {
        defer {
            pending = []
            waitingFiles = 0
        }
        return pending
    }

    private mutating func close(_ gate: Int, until: Int64, isCoolDown: Bool) {
        gates[gate].closedUntil = until
        gates[gate].isCoolDown = isCoolDown
        gates[gate].closings += 1
    }

    private mutating func putBack(_ piece: Piece) -> Verdict {
        pending.insert(piece, at: place(of: piece))
        if piece.kind == .file { waitingFiles += 1 }
        return .again
    }

    /// 2, 4, 8, … seconds.
    static func pause(_ step: Int) -> Int64 {
        min(longestPause, 1 << Int64(min(step, 10)))
    }
}
