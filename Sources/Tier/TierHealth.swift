import HTTP
import Rankings

/// The state of the store that is reported to the user when it changes.
package enum TierState: Hashable, Sendable {
    case works
    /// For a while no request is sent to the store; requests go to the service in its place.
    case rests(reason: String)
    /// For a while no picture is requested: pictures come from the image host.
    case picturesRest(reason: String)
    /// For a while the store is read, and takes no uploads.
    case readOnly(reason: String)
}

/// The availability of the store: a failure makes it rest, for longer each time, and one request then probes it.
///
/// A failed read ends writing as well. A failed write ends writing alone, since a store may be full, or its line slow in one
/// direction; writes that are only late do so after some in a row. A late lease ends leases alone, since other writes have more time.
/// Pictures that come too slowly end those alone: a document is small, and saves many requests to the service.
///
/// A store with too many requests does not rest: its machines would all turn to the service. They ask it less often, and it rests only
/// if nothing succeeds for longer than a reader waits.
///
/// A pure value: it takes the events and their times as parameters.
struct TierHealth: Sendable {
    /// The uses of a store; without reading there is none.
    enum Use: Sendable {
        /// A document or a lease is read.
        case read
        case picture
        case write
        /// A lease is written: readers wait for it, so that it has less time than other writes.
        case lease

        /// The uses that must work for this one.
        var needed: Set<Use> { self == .lease ? [.read, .write, .lease] : [.read, self] }
        /// Whether the store changes.
        var isWrite: Bool { self == .write || self == .lease }
        /// The use that ends if there are too many requests for this one.
        var kind: Use { isWrite ? .write : self }
    }

    /// The rest after a first failure; it doubles with each further one.
    static let firstRest = Duration.seconds(30)
    /// The longest rest: a store that has been away for a day costs one probe in this time.
    static let longestRest = Duration.seconds(300)
    /// The same of a store that refuses connections or answers with an error at once: a probe of it delays no reader, and until one
    /// succeeds all machines request the same pictures from the service.
    static let closedRests = (first: Duration.seconds(2), longest: Duration.seconds(5))
    /// The same of a store that does not take a lease in time: machines work without leases meanwhile.
    static let leaseRests = (first: Duration.seconds(5), longest: longestRest)
    /// The number of consecutive damaged objects, slow pictures or late writes that make a store rest: one may be an accident, three
    /// are not.
    static let mostAccidents = 3

    /// The pauses after answers that there are too many requests: the first one, and the longest that it doubles to.
    static let pauses = (least: Duration.milliseconds(100), most: Duration.seconds(3))
    /// The time without a success after which a store with too many requests rests.
    static let busyPatience = Duration.seconds(8)
    /// The time for which a store counts as busy after the last such answer.
    static let busyFor = Duration.seconds(3)

    /// A rest: its end, and whether a probe is in progress.
    private struct Rest: Sendable {
        var until: ContinuousClock.Instant
        var length: Duration
        var reason: String
        /// Whether the store was away for all uses: reading again shows that it is back.
        var isAway: Bool
        /// Whether several accidents in a row began it, of which requests that were under way say nothing.
        var isCounted: Bool
        var isTried = false

        func mayTry(_ now: ContinuousClock.Instant) -> Bool { now >= until && !isTried }
    }

    /// The rests; that of reading is one of all uses.
    private var rests: [Use: Rest] = [:]
    /// The damaged objects, the slow pictures and the late writes in a row, by the use that they end.
    private var accidents: [Use: Int] = [:]
    /// The first answers that there are too many requests since the last success (of writes: since the last write).
    private var busySince: [Use: ContinuousClock.Instant] = [:]
    /// The last such answer.
    private var lastBusy: ContinuousClock.Instant?
    private var pause = Self.pauses.least

    var state: TierState {
        if let rest = rests[.read] { return .rests(reason: rest.reason) }
        if let rest = rests[.picture] { return .picturesRest(reason: rest.reason) }
        if let rest = rests[.write] { return .readOnly(reason: rest.reason) }
        return .works
    }

    /// Returns the earliest time of the next request; nil if it may be sent now.
    func restEnds(_ use: Use, now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        use.needed.compactMap { rests[$0]?.until }.filter { $0 > now }.max()
    }

    /// Returns whether a request may be sent; the first one after a rest is the only one until it has ended.
    mutating func mayAsk(_ use: Use, now: ContinuousClock.Instant) -> Bool {
        guard use.needed.allSatisfy({ rests[$0]?.mayTry(now) ?? true }) else { return false }
        for use in use.needed { rests[use]?.isTried = true }
        return true
    }

    /// Records a successful request.
    mutating func worked(_ use: Use) {
        if rests[.read] != nil, rests[.write]?.isAway == true { rests[.write] = nil }
        if let rest = rests[.read], !rest.isCounted || rest.isTried {
            if rest.isCounted { accidents[.read] = Self.mostAccidents - 1 }
            rests[.read] = nil
        }
        // A store that takes a document gives documents out as well; the reverse is not true of a full one, nor of its pictures.
        busySince[.read] = nil
        pause = max(pause / 2, Self.pauses.least)
        switch use {
        case .read: break
        // A picture that is not there was told in time; the next one shows whether those that are there come in time too.
        case .picture:
            busySince[.picture] = nil
            if rests.removeValue(forKey: .picture) != nil { accidents[.picture] = Self.mostAccidents - 1 }
        case .write: (rests[.write], accidents[.write], busySince[.write]) = (nil, nil, nil)
        // A small one in time says nothing of large ones.
        case .lease: (rests[.write], rests[.lease], busySince[.write]) = (nil, nil, nil)
        }
    }

    /// Records an answer that there are too many requests, and returns the pause before the next one.
    mutating func wasBusy(_ use: Use, now: ContinuousClock.Instant) -> Duration {
        busySince[use.kind] = busySince[use.kind] ?? now
        lastBusy = now
        defer { pause = min(pause * 2, Self.pauses.most) }
        return pause
    }

    /// Returns whether the store answered a moment ago that there are too many requests.
    func isBusy(now: ContinuousClock.Instant) -> Bool { lastBusy.map { now - $0 < Self.busyFor } ?? false }

    /// Records an object with the right bytes.
    mutating func toldTheTruth() { accidents[.read] = nil }

    /// Records an object with wrong bytes.
    mutating func lied(now: ContinuousClock.Instant) {
        count(.read, "its objects are damaged", now)
    }

    /// Records a picture that came as quickly as it should.
    mutating func wasQuick() {
        (accidents[.picture], rests[.picture]) = (nil, nil)
    }

    /// Records a picture that would have come sooner from the image host.
    mutating func wasSlow(now: ContinuousClock.Instant) {
        rests[.read] = nil
        rests[.picture]?.isTried = false
        // The trial after a rest is proof enough.
        if rests[.picture] != nil { accidents[.picture] = Self.mostAccidents }
        count(.picture, "its pictures come more slowly than the service's", now)
    }

    /// Counts an accident, and begins a rest at the last of several in a row.
    private mutating func count(_ use: Use, _ reason: String, _ now: ContinuousClock.Instant) {
        accidents[use, default: 0] += 1
        guard accidents[use, default: 0] >= Self.mostAccidents else { return }
        accidents[use] = nil
        begin(use, reason, now, isCounted: true)
    }

    /// Records a failed request.
    mutating func failed(_ use: Use, _ error: Failure, now: ContinuousClock.Instant) {
        switch (use, error) {
        // The request was cancelled, or the failure concerns this object alone; the next request may probe the store.
        case (_, .cancelled), (.write, .notTaken), (.lease, .notTaken), (_, .tooLarge), (_, .gone):
            letTry()
        case _ where error.isTooMany:
            letTry()
            // None has succeeded for long enough, or the probe after a rest has not.
            let (kind, since) = (use.kind, busySince[use.kind])
            guard rests[kind] != nil || since.map({ now - $0 >= Self.busyPatience }) ?? false else { return }
            begin(kind, error.cause, now)
        case (.lease, .timedOut):
            letTry()
            begin(.lease, error.cause, now)
        case (.write, .timedOut) where rests[.write] == nil:
            rests[.read]?.isTried = false
            count(.write, error.cause, now)
        // Objects that may be read are still read; the next read determines whether they may.
        case (.write, _), (.lease, _):
            if case .full = error { rests[.read] = nil } else if case .refused = error { rests[.read] = nil }
            for use in [Use.read, .lease] { rests[use]?.isTried = false }
            begin(.write, error.cause, now, isAway: Self.isAway(error))
        case (.read, _), (.picture, _):
            rests[.picture]?.isTried = false
            begin(.read, error.cause, now, isAway: Self.isAway(error))
        }
    }

    /// Returns whether a failure came at once from a store that does not run, or starts or ends.
    private static func isAway(_ error: Failure) -> Bool {
        switch error {
        case .unreachable, .answered: true
        default: false
        }
    }

    /// Lets the next request probe the store.
    private mutating func letTry() {
        for use in rests.keys { rests[use]?.isTried = false }
    }

    private mutating func begin(
        _ use: Use, _ reason: String, _ now: ContinuousClock.Instant, isAway: Bool = false, isCounted: Bool = false
    ) {
        // Several failures at the same moment count as one.
        if let rest = rests[use], rest.until > now { return }
        let ordinary = isAway ? Self.closedRests : (first: Self.firstRest, longest: Self.longestRest)
        let lengths = use == .lease ? Self.leaseRests : ordinary
        let length = max(lengths.first, rests[use].map { min($0.length * 2, lengths.longest) } ?? lengths.first)
        // Some causes are sentences.
        let reason = reason.hasSuffix(".") ? String(reason.dropLast()) : reason
        rests[use] = Rest(until: now + length, length: length, reason: reason, isAway: isAway, isCounted: isCounted)
    }
}
