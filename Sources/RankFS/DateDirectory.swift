import Rankings

/// A directory of `by-date/`, by which any day is reached with a mouse: how much of a day it tells.
///
/// It stands beside `ranking/` so that a copy of a ranking does not take thousands of links along.
enum DateDirectory: Hashable, Sendable {
    case all
    case mode(RankingMode)
    case year(RankingMode, Int)
    /// A year and a month of it, 1 to 12.
    case month(RankingMode, Int, Int)

    static let name = "by-date"

    /// The directory that holds the link to a day.
    init(of mode: RankingMode, _ day: Day) {
        let (year, month, _) = day.civil
        self = .month(mode, year, month)
    }

    var mode: RankingMode? {
        switch self {
        case .all: nil
        case .mode(let mode), .year(let mode, _), .month(let mode, _, _): mode
        }
    }

    /// The path below the mount point.
    var path: String {
        switch self {
        case .all: Self.name
        case .mode(let mode): "\(Self.name)/\(mode.rawValue)"
        case .year(let mode, let year): "\(Self.mode(mode).path)/\(Self.text(year, digits: 4))"
        case .month(let mode, let year, let month): "\(Self.year(mode, year).path)/\(Self.text(month, digits: 2))"
        }
    }

    var parent: Node {
        switch self {
        case .all: .root
        case .mode: .dates(.all)
        case .year(let mode, _): .dates(.mode(mode))
        case .month(let mode, let year, _): .dates(.year(mode, year))
        }
    }

    /// A year or a month as its directory's name.
    static func text(_ number: Int, digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    /// The number that a directory name of so many digits means; nil for any other name.
    static func number(_ name: [UInt8], digits: Int) -> Int? {
        guard name.count == digits, name.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return Int(String(decoding: name, as: UTF8.self))
    }
}

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
