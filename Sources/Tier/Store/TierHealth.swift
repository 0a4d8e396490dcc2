internal import ObjectStore

/// Whether the store is worth asking: a failure makes it rest, for longer each time, and one request then tries it out.
///
/// Reading that fails ends writing as well; writing that fails ends writing alone, for a store may be full, or its way slow in one
/// direction.
///
/// Pure: it is told what happened and when.
struct TierHealth: Sendable {
    /// What can be asked of a store.
    enum Use: Sendable {
        case read
        case write
    }

    /// What there is to tell people when it changes.
    enum State: Hashable, Sendable {
        case works
        /// Nothing is asked of it for a while.
        case rests(reason: String)
        /// It is read, and nothing is written to it for a while.
        case readOnly(reason: String)
    }

    /// How long a first failure keeps it from being asked; twice as long after each further one.
    static let firstRest = Duration.seconds(30)
    /// A store that has been away for a day costs a try in so long.
    static let longestRest = Duration.seconds(300)
    /// Wrong bytes in a row after which it is taken for broken: one object may be damaged, three are no accident.
    static let mostLies = 3

    /// When it may be asked again, and whether somebody is trying it.
    private struct Rest: Sendable {
        var until: ContinuousClock.Instant
        var length: Duration
        var reason: String
        var isTried = false

        func mayTry(_ now: ContinuousClock.Instant) -> Bool { now >= until && !isTried }
    }

    private var rest: Rest?
    private var writeRest: Rest?
    private var lies = 0

    var state: State {
        if let rest { return .rests(reason: rest.reason) }
        if let writeRest { return .readOnly(reason: writeRest.reason) }
        return .works
    }

    /// When it will be asked again at the earliest; nil if it may be now.
    func restEnds(_ use: Use, now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        [rest, use == .write ? writeRest : nil].compactMap { $0?.until }.filter { $0 > now }.max()
    }

    /// Whether a request may be sent; the first one after a rest is alone until it has ended.
    mutating func mayAsk(_ use: Use, now: ContinuousClock.Instant) -> Bool {
        guard rest?.mayTry(now) ?? true, use == .read || writeRest?.mayTry(now) ?? true else { return false }
        rest?.isTried = true
        if use == .write { writeRest?.isTried = true }
        return true
    }

    /// It answered as it should.
    mutating func worked(_ use: Use) {
        rest = nil
        if use == .write { writeRest = nil }
    }

    /// The bytes of an object were right.
    mutating func toldTheTruth() { lies = 0 }

    /// The bytes of an object were wrong.
    mutating func lied(now: ContinuousClock.Instant) {
        lies += 1
        guard lies >= Self.mostLies else { return }
        lies = 0
        Self.begin(&rest, "its objects are damaged", now)
    }

    /// It did not do what was asked.
    mutating func failed(_ use: Use, _ error: StoreError, now: ContinuousClock.Instant) {
        switch (use, error) {
        // Nobody wanted it any more, or the store has something against what was to be written; whoever comes next may try it.
        case (_, .cancelled), (.write, .notTaken):
            rest?.isTried = false
            writeRest?.isTried = false
        // What may be read goes on being read; whether it may be, who reads next finds out.
        case (.write, _):
            if case .full = error { rest = nil } else if case .refused = error { rest = nil }
            rest?.isTried = false
            Self.begin(&writeRest, error.text, now)
        case (.read, _): Self.begin(&rest, error.text, now)
        }
    }

    private static func begin(_ rest: inout Rest?, _ reason: String, _ now: ContinuousClock.Instant) {
        // Several fail at the same moment: that is one failure.
        if let rest, rest.until > now { return }
        let length = rest.map { min($0.length * 2, longestRest) } ?? firstRest
        rest = Rest(until: now + length, length: length, reason: reason)
    }
}
