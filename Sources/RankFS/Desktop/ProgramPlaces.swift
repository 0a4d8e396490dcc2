/// Which programs were at which paths lately.
///
/// Every open and lookup asks: what most of them meet, a path at which no program was, is told by one look into a dictionary.
///
/// A pure state machine: it knows neither clock nor processes.
struct ProgramPlaces: Sendable {
    /// Paths remembered, and programs at each; when there are more, those whose time is over are forgotten, then all.
    static let most = 1000

    /// How long a program is remembered at a path.
    private let lifetime: Duration
    /// When each program came, by path.
    private var places: [String: [Int32: ContinuousClock.Instant]] = [:]

    init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    var isEmpty: Bool { places.isEmpty }
    var remembered: Int { places.values.reduce(0) { $0 + $1.count } }

    /// A program comes to a path.
    ///
    /// - Parameters:
    ///   - path: Where.
    ///   - process: The program's process number.
    ///   - now: When.
    ///   - prolongs: Whether its time begins anew if it is there already.
    mutating func note(_ path: String, _ process: Int32, now: ContinuousClock.Instant, prolongs: Bool) {
        if !prolongs, holds(path, process, now: now) { return }
        if places.count >= Self.most || (places[path]?.count ?? 0) >= Self.most { forgetOld(now) }
        places[path, default: [:]][process] = now
    }

    /// Whether any program is at a path; forgets the path if none is any more.
    mutating func isAnybody(at path: String, now: ContinuousClock.Instant) -> Bool {
        guard let programs = places[path] else { return false }
        if programs.values.contains(where: { isFresh($0, now) }) { return true }
        places[path] = nil
        return false
    }

    /// Whether a program is at a path.
    func holds(_ path: String, _ process: Int32, now: ContinuousClock.Instant) -> Bool {
        left(path, process, now: now) != nil
    }

    /// How long a program will be remembered at a path; nil if it is not.
    func left(_ path: String, _ process: Int32, now: ContinuousClock.Instant) -> Duration? {
        places[path]?[process].flatMap { isFresh($0, now) ? lifetime - $0.duration(to: now) : nil }
    }

    private func isFresh(_ time: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> Bool {
        time.duration(to: now) < lifetime
    }

    private mutating func forgetOld(_ now: ContinuousClock.Instant) {
        places = places.mapValues { $0.filter { isFresh($0.value, now) } }.filter { !$0.value.isEmpty }
        if places.count >= Self.most || places.values.contains(where: { $0.count >= Self.most }) { places = [:] }
    }
}
