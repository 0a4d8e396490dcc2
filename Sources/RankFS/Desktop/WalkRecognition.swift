import Rankings

/// Distinguishes a walk over a directory from a single `stat`, so that sizes are requested for a whole directory or one by one.
///
/// `ls -l` reads the directory and stats entries while it is open; programs that were given names stat one after the other. Both
/// are walks: every further size will be needed too.
struct WalkRecognition: Sendable {
    /// The kind of reader of a directory.
    enum Reader: Hashable, Sendable {
        case person
        /// A program that traverses the tree.
        case walker
        /// A file manager that counts or previews: its requests are not worth more than they cost.
        case glance
    }

    /// The open directory handles that were read from, by listing and kind of reader.
    private var readers: [ListingKey: [Reader: Int]] = [:]
    /// The directory of the last size that had to be requested.
    private var last: ListingKey?

    /// Records the first read of a directory handle.
    mutating func beganReading(_ directory: ListingKey, by reader: Reader = .person) {
        readers[directory, default: [:]][reader, default: 0] += 1
    }

    /// Records the close of a directory handle that was read from.
    mutating func endedReading(_ directory: ListingKey, by reader: Reader = .person) {
        guard let count = readers[directory]?[reader] else { return }
        readers[directory]?[reader] = count > 1 ? count - 1 : nil
        if readers[directory]?.isEmpty == true { readers[directory] = nil }
    }

    /// Records the request of a size in this directory, and returns whether all sizes should be requested.
    mutating func askedSize(in directory: ListingKey) -> Bool {
        defer { last = directory }
        guard let readers = readers[directory] else { return last == directory }
        return readers[.person] != nil || readers[.walker] != nil
    }

    /// Returns the reader for which a size in a directory is requested: a person, unless only programs read the directory.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - isGlance: Whether the caller was seen to count or preview the directory: other programs never count as a glance.
    /// - Returns: The kind of reader.
    func asker(in directory: ListingKey, isGlance: Bool) -> Reader {
        guard let readers = readers[directory], readers[.person] == nil else { return .person }
        return readers[.walker] != nil ? .walker : isGlance ? .glance : .person
    }
}

// MARK: - Excursions

/// Distinguishes a walk from a program that shows a directory.
///
/// A walk opens the next unknown listing soon after it has closed the last one.
///
/// The requests that `tree`, `find` and indexers cause wait until the directories that a person opens meanwhile are served. No
/// request is refused: a wrong guess only changes the order.
///
/// A pure state machine without clock or access to processes.
struct Excursions: Sendable {
    /// The longest time from one listing to the next: `tree` stats all entries of one first, five seconds' worth of sizes.
    ///
    /// A person that proceeds faster uses a file manager, which is recognised by its watches, or one program for each step.
    static let pause: Duration = .seconds(10)
    /// The maximum number of remembered programs; beyond it the pausing ones are forgotten, then all.
    static let most = 1000

    /// The time at which each program last opened or closed an unknown listing.
    private var last: [Int32: ContinuousClock.Instant] = [:]

    var remembered: Int { last.count }

    /// Records that a program opens an unknown listing, and returns whether it is a walk.
    ///
    /// - Parameters:
    ///   - process: The program's process number.
    ///   - now: The present time.
    /// - Returns: Whether the program is a walk.
    mutating func opened(by process: Int32, now: ContinuousClock.Instant) -> Bool {
        let isWalk = last[process].map { $0.duration(to: now) < Self.pause } ?? false
        if last[process] == nil, last.count >= Self.most {
            last = last.filter { $0.value.duration(to: now) < Self.pause }
            if last.count >= Self.most { last = [:] }
        }
        last[process] = now
        return isWalk
    }

    /// Records that a program closes such a listing.
    mutating func closed(by process: Int32, now: ContinuousClock.Instant) {
        if last[process] != nil { last[process] = now }
    }
}

// MARK: - Dated ways

/// The days that were reached through `by-date/` recently.
///
/// File managers then know the pictures by that path, and search for thumbnails under it. A pure state machine without a clock.
struct DatedWays: Sendable {
    private struct Way: Hashable {
        let mode: RankingMode
        let day: Day
    }

    /// How long a way is remembered after its last step: each path that a program opens through a link is a step.
    static let memory: Duration = .seconds(600)
    /// The maximum number of remembered ways; a program that reads all links of a month (`ls -l`) takes them all.
    static let most = 64

    private var steps: [Way: ContinuousClock.Instant] = [:]

    var remembered: Int { steps.count }

    /// Records that the link to a day was read.
    mutating func note(_ mode: RankingMode, _ day: Day, now: ContinuousClock.Instant) {
        let way = Way(mode: mode, day: day)
        if steps[way] == nil, steps.count >= Self.most, let oldest = steps.min(by: { $0.value < $1.value }) {
            steps[oldest.key] = nil
        }
        steps[way] = now
    }

    /// Whether a day was reached that way recently.
    func holds(_ mode: RankingMode, _ day: Day, now: ContinuousClock.Instant) -> Bool {
        steps[Way(mode: mode, day: day)].map { $0.duration(to: now) < Self.memory } ?? false
    }
}
