import Rankings

/// Tells a walk over a directory from a single `stat`, so that sizes are asked a directory at a time or one by one.
///
/// `ls -l` reads the directory and stats entries while it is open; programs that were given names stat one after the
/// other. Either is a walk: every further size will be wanted too.
struct WalkRecognition: Sendable {
    /// Who reads a directory.
    enum Reader: Hashable, Sendable {
        case person
        /// A program on its way over the tree.
        case walker
        /// A file manager that counts or previews: what it asks for is worth no more than it costs.
        case glance
    }

    /// Open directory handles that were read from, by what they show and by whom.
    private var readers: [ListingKey: [Reader: Int]] = [:]
    /// The directory of the last size that had to be asked.
    private var last: ListingKey?

    /// A directory handle is read from for the first time.
    mutating func beganReading(_ directory: ListingKey, by reader: Reader = .person) {
        readers[directory, default: [:]][reader, default: 0] += 1
    }

    /// A directory handle that was read from is closed.
    mutating func endedReading(_ directory: ListingKey, by reader: Reader = .person) {
        guard let count = readers[directory]?[reader] else { return }
        readers[directory]?[reader] = count > 1 ? count - 1 : nil
        if readers[directory]?.isEmpty == true { readers[directory] = nil }
    }

    /// A size in this directory must be asked: whether all of them should be.
    mutating func askedSize(in directory: ListingKey) -> Bool {
        defer { last = directory }
        guard let readers = readers[directory] else { return last == directory }
        return readers[.person] != nil || readers[.walker] != nil
    }

    /// For whom a size in a directory is asked: for a person, unless only programs read it.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - isGlance: Whether who asks was seen to count or preview it: any other program is not among those that do.
    /// - Returns: For whom.
    func asker(in directory: ListingKey, isGlance: Bool) -> Reader {
        guard let readers = readers[directory], readers[.person] == nil else { return .person }
        return readers[.walker] != nil ? .walker : isGlance ? .glance : .person
    }
}

// MARK: - Excursions

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

// MARK: - Dated ways

/// The days that somebody reached through `by-date/` lately: file managers know the pictures by that path then, and look for
/// thumbnails under it.
///
/// A pure state machine: it knows no clock.
struct DatedWays: Sendable {
    private struct Way: Hashable {
        let mode: RankingMode
        let day: Day
    }

    /// How long a way is remembered after the last step on it: each path that a program opens behind a link is one.
    static let memory: Duration = .seconds(600)
    /// Ways remembered; a program that reads all links of a month (`ls -l`) takes them all.
    static let most = 64

    private var steps: [Way: ContinuousClock.Instant] = [:]

    var remembered: Int { steps.count }

    /// Somebody read the link to a day.
    mutating func note(_ mode: RankingMode, _ day: Day, now: ContinuousClock.Instant) {
        let way = Way(mode: mode, day: day)
        if steps[way] == nil, steps.count >= Self.most, let oldest = steps.min(by: { $0.value < $1.value }) {
            steps[oldest.key] = nil
        }
        steps[way] = now
    }

    /// Whether somebody goes to a day that way.
    func holds(_ mode: RankingMode, _ day: Day, now: ContinuousClock.Instant) -> Bool {
        steps[Way(mode: mode, day: day)].map { $0.duration(to: now) < Self.memory } ?? false
    }
}
