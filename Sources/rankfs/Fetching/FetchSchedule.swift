/// The order of the works of a fetch, and the pauses after failures; pure, takes the time in Unix seconds as a parameter.
///
/// Listings are requests to the service, files to the image host: each kind has a gate of its own. While a gate is closed, no
/// work of its kind begins; when its time has come, a single piece of work goes as a probe, and only its success opens the gate.
struct FetchSchedule<Work: Sendable>: Sendable {
    /// The kind of a work, which determines the host.
    enum Kind: Int, CaseIterable, Sendable {
        case listing, file
    }

    /// A numbered piece of work.
    struct Piece: Sendable {
        let id: Int
        let kind: Kind
        let work: Work
        /// The position among all works: that of the listing that contains the work, followed by the number of the work.
        fileprivate let order: [Int]
        fileprivate var attempts = 0
        fileprivate var notBefore: Int64 = 0
        /// The number of closings of its gate before it began.
        fileprivate var closings = 0
    }

    enum Decision: Sendable {
        case begin(Piece)
        /// Nothing may begin before this time in Unix seconds; if nil, before a running work has ended.
        case wait(until: Int64?)
        case finished
    }

    /// The consequence of a failure.
    enum Verdict: Hashable, Sendable {
        /// The work is tried again later.
        case again
        case givenUp
    }

    /// Attempts at one piece of work without a cool-down in between.
    static var attempts: Int { 8 }
    /// The longest pause between two attempts, in seconds.
    static var longestPause: Int64 { 60 }
    /// Failures in a row that show that a single picture is not the cause.
    static var failuresOfAll: Int { 3 }
    /// Works given up in a row that show that the rest would fail too.
    static var outage: Int { 3 }
    /// Waiting files from which no further directory is listed.
    static var mostFiles: Int { 2000 }

    private struct Gate {
        /// Unix seconds; nil while the gate is open.
        var closedUntil: Int64?
        var isCoolDown = false
        var probe: Int?
        /// Closings in a row without a success between them, for the length of pauses.
        var step = 0
        var failures = 0
        var closings = 0
    }

    private var pending: [Piece] = []
    private var running: [Int: Piece] = [:]
    private var gates = [Gate(), Gate()]
    private var nextID = 0
    private var waitingFiles = 0
    /// Whether a listing is running: one at a time, as they come in order, and a refusing service then gets a single request.
    private var isListing = false
    private var givenUpInARow = 0

    /// Works that have neither succeeded nor been given up.
    var left: Int { pending.count + running.count }

    /// Whether so many works failed that the rest is not worth a try.
    var isOutage: Bool { givenUpInARow >= Self.outage }

    /// The end of the cool-down that keeps work waiting; nil if there is none.
    var coolDown: Int64? {
        gates.filter(\.isCoolDown).compactMap(\.closedUntil).max()
    }

    /// Adds works: those of a listing in the listing's place, others at the end.
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

    /// Records that a work has ended in a way that another try would not change.
    mutating func succeeded(_ id: Int) {
        guard let piece = running.removeValue(forKey: id) else { return }
        if piece.kind == .listing { isListing = false }
        let gate = piece.kind.rawValue
        givenUpInARow = 0
        if gates[gate].probe == id { gates[gate].probe = nil }
        // A work that began before the gate closed proves nothing about the time after it.
        guard gates[gate].closings == piece.closings else { return }
        gates[gate] = Gate(closings: gates[gate].closings)
    }

    /// Records a failure that may pass.
    ///
    /// - Parameters:
    ///   - id: The work that failed.
    ///   - unreachable: Whether no host was reached at all, so that other works would fail too.
    ///   - closedUntil: The end of a cool-down that the service requested, in Unix seconds.
    ///   - now: The time, in Unix seconds.
    /// - Returns: Whether the work is tried again.
    mutating func failed(_ id: Int, unreachable: Bool, closedUntil: Int64?, now: Int64) -> Verdict {
        guard var piece = running.removeValue(forKey: id) else { return .givenUp }
        if piece.kind == .listing { isListing = false }
        let gate = piece.kind.rawValue
        let isRecent = gates[gate].closings == piece.closings
        let wasProbe = gates[gate].probe == id
        if wasProbe { gates[gate].probe = nil }
        if let closedUntil, closedUntil >= now {
            piece.attempts = 0
            // One second more: the mount counts whole seconds too, and must be ready first.
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

    /// Removes all waiting works; running works may still end.
    ///
    /// - Returns: The removed works.
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

    /// The pause after a number of failures: 2, 4, 8, … seconds.
    static func pause(_ step: Int) -> Int64 {
        min(longestPause, 1 << Int64(min(step, 10)))
    }
}
