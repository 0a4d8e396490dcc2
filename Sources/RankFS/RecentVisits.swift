/// Tells who reads a picture through its link in `recent/`: looking through what was read is not reading it again, and would
/// move the names while they are looked through.
///
/// The kernel follows a link for the program that opens it, which so reads the link just before it opens the picture.
///
/// A pure state machine: it knows neither clock nor processes.
struct RecentVisits: Sendable {
    /// How long after the link was read an open belongs to it: viewers that resolve a name first open it within that time.
    static let period: Duration = .seconds(60)
    /// Visits remembered; when there are more, those that are over are forgotten, then all.
    static let most = 1000

    private struct Visit: Hashable {
        let process: Int32
        let path: String
    }

    private var visits: [Visit: ContinuousClock.Instant] = [:]

    var isEmpty: Bool { visits.isEmpty }
    var remembered: Int { visits.count }

    /// A program read the link that leads to a picture's path.
    mutating func followed(to path: String, by process: Int32, now: ContinuousClock.Instant) {
        if visits.count >= Self.most { visits = visits.filter { !Self.isOver($0.value, now) } }
        if visits.count >= Self.most { visits = [:] }
        visits[Visit(process: process, path: path)] = now
    }

    /// Whether a program opens a picture because of the link.
    func leads(to path: String, _ process: Int32, now: ContinuousClock.Instant) -> Bool {
        visits[Visit(process: process, path: path)].map { !Self.isOver($0, now) } ?? false
    }

    private static func isOver(_ time: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> Bool {
        time.duration(to: now) >= period
    }
}
