/// Tells a program that walks over the tree from one that shows a directory, by how many listings nobody knew it opens.
///
/// `tree`, `cp -r` and indexers go from one directory to the next; what they ask the service for waits behind what a person
/// opens meanwhile. Nothing is refused to anybody: a wrong guess only changes the order.
///
/// A pure state machine: it knows neither clock nor processes.
struct Excursions: Sendable {
    /// Listings that a program may open in one period before it is taken for a walk.
    ///
    /// One of 500 costs a quarter of the burst; a person's second one is not slower for it, as long as that is not spent.
    static let few = 1
    /// How long an opening counts.
    static let period: Duration = .seconds(60)
    /// Programs remembered; when there are more, those who opened nothing for a period are forgotten, then all.
    static let most = 1000

    /// When each program opened its last listings, the newest last, at most `few`.
    private var openings: [Int32: [ContinuousClock.Instant]] = [:]

    var remembered: Int { openings.count }

    /// A program opens a listing of which nothing is known.
    ///
    /// - Parameters:
    ///   - process: The program's process number.
    ///   - now: When.
    /// - Returns: Whether it walks.
    mutating func opened(by process: Int32, now: ContinuousClock.Instant) -> Bool {
        if openings[process] == nil, openings.count >= Self.most {
            openings = openings.filter { !Self.isOver($0.value.last, now) }
            if openings.count >= Self.most { openings = [:] }
        }
        var last = openings[process, default: []].filter { !Self.isOver($0, now) }
        let isWalk = last.count >= Self.few
        last.append(now)
        openings[process] = last.suffix(Self.few)
        return isWalk
    }

    private static func isOver(_ opening: ContinuousClock.Instant?, _ now: ContinuousClock.Instant) -> Bool {
        opening.map { $0.duration(to: now) >= period } ?? true
    }
}
