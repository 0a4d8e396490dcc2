import Rankings

/// The picture that `random.jpg` is for each program.
///
/// It is chosen at the program's first lookup, and kept for the program and for those that it starts.
///
/// A program makes several lookups of the same file: `cp` compares the attributes with those of the opened file, and viewers query
/// the type first. Each program must see one picture; the next program, as in a loop of a shell, sees another one.
///
/// A pure state machine without clock or access to processes.
struct RandomChoices: Sendable {
    /// A picture, and a listing that shows it.
    struct Choice: Hashable, Sendable {
        var picture: PictureID
        var listing: ListingKey
    }

    /// A longer pause between two lookups ends a choice.
    static let pause: Duration = .seconds(3)
    /// A program with repeated lookups, such as a wallpaper program, sees another picture after this time.
    static let longest: Duration = .seconds(10)
    /// The maximum number of remembered programs.
    static let most = 1000

    private typealias Held = (choice: Choice, chosen: ContinuousClock.Instant, looked: ContinuousClock.Instant)

    private var held = RecentTable<Int32, Held>(most: most)
    /// The last chosen picture, for any program.
    private(set) var last: PictureID?

    /// Returns the choice that holds for a program; nil if a new one is needed.
    ///
    /// - Parameters:
    ///   - processes: The program's process number and those of the programs that started it, the nearest first.
    ///   - now: The present time.
    /// - Returns: The choice, or nil.
    mutating func choice(for processes: [Int32], now: ContinuousClock.Instant) -> Choice? {
        let process = processes.first { process in
            guard let (_, chosen, looked) = held[process] else { return false }
            return looked.duration(to: now) <= Self.pause && chosen.duration(to: now) <= Self.longest
        }
        guard let process else { return nil }
        held[process]?.looked = now
        return held[process]?.choice
    }

    /// Holds a choice for a program.
    mutating func hold(_ choice: Choice, for process: Int32, now: ContinuousClock.Instant) {
        held[process] = (choice, now, now)
        last = choice.picture
    }
}
