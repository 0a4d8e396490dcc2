/// Bytes a second over the last seconds, from a counter that is looked at now and then: pure.
struct RateMeter: Sendable {
    /// Seconds over which the rate is taken: long enough to be read, short enough to be of now.
    private static let window = 3.0
    /// Bytes a second that are shown at most, however short the time between two looks.
    private static let highestRate = 1e15
    /// Looks kept at most, whatever the clock does.
    private static let mostLooks = 64

    private var looks: [(time: Double, count: Int64)] = []

    /// Takes in what the counter says.
    ///
    /// - Parameters:
    ///   - count: The counter; a smaller one than before is another counter.
    ///   - time: Seconds of a monotonic clock, of the one who counts.
    mutating func look(_ count: Int64, at time: Double) {
        if let last = looks.last, count < last.count || time < last.time { looks = [] }
        if looks.last?.time == time { looks.removeLast() }
        looks.append((time, count))
        // One from before the window stays: the rate is of the whole window.
        while looks.count > 2, looks[1].time <= time - Self.window || looks.count > Self.mostLooks {
            looks.removeFirst()
        }
    }

    /// The rate; nil before the second look.
    var perSecond: Int64? {
        guard let first = looks.first, let last = looks.last, last.time > first.time else { return nil }
        let rate = Double(last.count - first.count) / (last.time - first.time)
        return Int64(min(rate, Self.highestRate))
    }
}
