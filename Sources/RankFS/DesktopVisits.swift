/// Which file managers show a directory now, so that what they learn of its entries may come no faster than the thumbnails.
///
/// A file manager looks for a picture's thumbnail once, when it learns of the picture. One that is not there yet it makes
/// itself, of the picture.
///
/// A pure state machine: it knows neither clock nor processes.
struct DesktopVisits: Sendable {
    /// How long a visit may hold up what is told of entries: a day of 500 takes five seconds on a usual network, and on a bad one
    /// names without thumbnails are better than none.
    static let longest: Duration = .seconds(20)
    /// Visits remembered; when there are more, those that are over are forgotten, then all.
    static let most = 1000

    private struct Visit: Hashable {
        let process: Int32
        let path: String
    }

    /// When each began.
    private var visits: [Visit: ContinuousClock.Instant] = [:]

    var isEmpty: Bool { visits.isEmpty }
    var remembered: Int { visits.count }

    /// A file manager shows a directory.
    mutating func began(at path: String, by process: Int32, now: ContinuousClock.Instant) {
        let visit = Visit(process: process, path: path)
        if let start = visits[visit], !Self.isOver(start, now) { return }
        if visits.count >= Self.most { visits = visits.filter { !Self.isOver($0.value, now) } }
        if visits.count >= Self.most { visits = [:] }
        visits[visit] = now
    }

    /// Whether a program shows a directory, and did not begin to long ago.
    func isVisiting(_ path: String, _ process: Int32, now: ContinuousClock.Instant) -> Bool {
        visits[Visit(process: process, path: path)].map { !Self.isOver($0, now) } ?? false
    }

    private static func isOver(_ start: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> Bool {
        start.duration(to: now) >= longest
    }
}
