/// Tells a program that walks over the tree from one that shows a directory: it opens the next listing that nobody knew soon
/// after it has closed the last one.
///
/// What `tree`, `find` and indexers ask the service for waits behind what a person opens meanwhile. Nothing is refused to
/// anybody: a wrong guess only changes the order.
///
/// A pure state machine: it knows neither clock nor processes.
struct Excursions: Sendable {
    /// The longest time from one to the next: `tree` stats all entries of one first, five seconds' worth of sizes.
    ///
    /// A person who goes on faster does so in a file manager, which is told by its watching, or with a program for each step.
    static let pause: Duration = .seconds(10)
    /// Programs remembered; when there are more, those who pause are forgotten, then all.
    static let most = 1000

    /// When each program opened or closed its last listing that was unknown.
    private var last: [Int32: ContinuousClock.Instant] = [:]

    var remembered: Int { last.count }

    /// A program opens a listing of which nothing is known.
    ///
    /// - Parameters:
    ///   - process: The program's process number.
    ///   - now: When.
    /// - Returns: Whether it walks.
    mutating func opened(by process: Int32, now: ContinuousClock.Instant) -> Bool {
        let isWalk = last[process].map { $0.duration(to: now) < Self.pause } ?? false
        if last[process] == nil, last.count >= Self.most {
            last = last.filter { $0.value.duration(to: now) < Self.pause }
            if last.count >= Self.most { last = [:] }
        }
        last[process] = now
        return isWalk
    }

    /// A program closes such a listing.
    mutating func closed(by process: Int32, now: ContinuousClock.Instant) {
        if last[process] != nil { last[process] = now }
    }
}
