/// A directory of `by-date/`, by which any day is reached with a mouse: how much of a day it tells.
///
/// It stands beside `ranking/` so that a copy of a ranking does not take thousands of links along.
package enum DateFolder: Hashable, Sendable {
    case all
    case mode(RankingMode)
    case year(RankingMode, Int)
    /// A year and a month of it, 1 to 12.
    case month(RankingMode, Int, Int)

    /// The folder that holds the link to a day.
    package init(of mode: RankingMode, _ day: Day) {
        let (year, month, _) = day.civil
        self = .month(mode, year, month)
    }

    /// The ranking whose days it leads to; nil for that of all rankings.
    package var mode: RankingMode? {
        switch self {
        case .all: nil
        case .mode(let mode), .year(let mode, _), .month(let mode, _, _): mode
        }
    }

    /// The last part of its path.
    package var name: String {
        switch self {
        case .all: "by-date"
        case .mode(let mode): mode.rawValue
        case .year(_, let year): Digits.padded(year, to: 4)
        case .month(_, _, let month): Digits.padded(month, to: 2)
        }
    }

    /// The folder that holds this one; nil for the outermost.
    package var parent: DateFolder? {
        switch self {
        case .all: nil
        case .mode: .all
        case .year(let mode, _): .mode(mode)
        case .month(let mode, let year, _): .year(mode, year)
        }
    }

    /// The folder that a name in this one means by its form; nil for any other name, and in a month.
    package func folder(named name: String) -> DateFolder? {
        switch self {
        case .all: RankingMode(rawValue: name).map { .mode($0) }
        case .mode(let mode): Self.number(name, digits: 4).map { .year(mode, $0) }
        case .year(let mode, let year): Self.number(name, digits: 2).map { .month(mode, year, $0) }
        case .month: nil
        }
    }

    /// The day that a name in this folder means by its form; nil for any other name, and outside a month.
    package func day(named name: String) -> Day? {
        guard case .month(let mode, _, _) = self, let day = Day(name), DateFolder(of: mode, day) == self else {
            return nil
        }
        return day
    }

    private static func number(_ name: String, digits: Int) -> Int? {
        guard name.utf8.count == digits, name.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return nil
        }
        return Int(name)
    }
}
