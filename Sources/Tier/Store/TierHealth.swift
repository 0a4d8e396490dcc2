internal import ObjectStore

/// Whether the store is worth asking: a failure makes it rest, for longer each time, and one request then tries it out.
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
    func restEnds(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        [rest, writeRest].compactMap { $0?.until }.filter { $0 > now }.max()
    }

    /// Whether a request may be sent; the first one after a rest is alone until it has ended.
    mutating func mayAsk(_ use: Use, now: ContinuousClock.Instant) -> Bool {
        if var rest {
            guard now >= rest.until, !rest.isTried else { return false }
            rest.isTried = true
            self.rest = rest
            return true
        }
        guard use == .write, var rest = writeRest else { return true }
        guard now >= rest.until, !rest.isTried else { return false }
        rest.isTried = true
        writeRest = rest
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
        // Nobody wanted it any more; whoever comes next may try it.
        case (_, .cancelled):
            rest?.isTried = false
            writeRest?.isTried = false
        // What may be read goes on being read.
        case (.write, .full), (.write, .refused):
            if rest != nil { rest = nil }
            Self.begin(&writeRest, error.text, now)
        default: Self.begin(&rest, error.text, now)
        }
    }

    private static func begin(_ rest: inout Rest?, _ reason: String, _ now: ContinuousClock.Instant) {
        // Several fail at the same moment: that is one failure.
        if let rest, rest.until > now { return }
        let length = rest.map { min($0.length * 2, longestRest) } ?? firstRest
        rest = Rest(until: now + length, length: length, reason: reason)
    }
}
