import ImageCache
import Rankings

/// Which picture `random.jpg` is for whom: the choice is made when a program first looks, and stays for it and for those that
/// it starts.
///
/// A program looks more than once at what it opens: `cp` compares what it saw with what it opened, and viewers look for the
/// type first. Each must see one picture; the next program, as in a loop of a shell, sees another one.
///
/// A pure state machine: it knows neither clock nor processes.
struct RandomChoices: Sendable {
    /// A picture, and a listing that shows it.
    struct Choice: Hashable, Sendable {
        var picture: PictureID
        var listing: ListingKey
    }

    /// A longer pause between two looks ends a choice.
    static let pause: Duration = .seconds(3)
    /// A program that looks again and again, as wallpapers do, sees another picture after this time.
    static let longest: Duration = .seconds(10)
    /// Programs remembered; when there are more, those whose time is over are forgotten, then all.
    static let most = 1000

    private struct Held {
        var choice: Choice
        let chosen: ContinuousClock.Instant
        var looked: ContinuousClock.Instant

        func isOver(_ now: ContinuousClock.Instant) -> Bool {
            looked.duration(to: now) > RandomChoices.pause || chosen.duration(to: now) > RandomChoices.longest
        }
    }

    private var held: [Int32: Held] = [:]
    /// The picture that was chosen last, by whomever.
    private(set) var last: PictureID?

    var remembered: Int { held.count }

    /// The choice that holds for a program.
    ///
    /// - Parameters:
    ///   - processes: The program's process number and those of who started it, the nearest first.
    ///   - now: When.
    /// - Returns: Nil if one is to be made.
    mutating func choice(for processes: [Int32], now: ContinuousClock.Instant) -> Choice? {
        guard let process = processes.first(where: { held[$0]?.isOver(now) == false }) else { return nil }
        held[process]?.looked = now
        return held[process]?.choice
    }

    /// Holds a choice for a program.
    mutating func hold(_ choice: Choice, for process: Int32, now: ContinuousClock.Instant) {
        if held.count >= Self.most { held = held.filter { !$0.value.isOver(now) } }
        if held.count >= Self.most { held = [:] }
        held[process] = Held(choice: choice, chosen: now, looked: now)
        last = choice.picture
    }
}
