import Glibc
import Rankings

/// The calendar of each service: what its posts' numbers, days and hours follow from.
extension Service {
    /// Whether it is an image board, with posts instead of works.
    var isBoard: Bool { self != .pixiv }

    /// The day of its first posts: pixiv's first ranking, 2007-09-13; 2005-05-24; guesses for the others (reference, 3.1 and 4.3).
    var firstDay: Day {
        switch self {
        case .pixiv: Day(ordinal: 13_769)
        case .danbooru: Day(ordinal: 12_927)
        case .yandere: Day(ordinal: 13_361)  // 2006-08-01
        case .konachan: Day(ordinal: 13_891)  // 2008-01-13
        }
    }

    /// Numbers that each day has: they grow about as quickly as the real ones; on pixiv 16 modes have 512 ranks each.
    var stride: Int {
        switch self {
        case .pixiv: 1 << 13
        case .danbooru: 1536
        case .yandere: 128
        case .konachan: 64
        }
    }

    /// The number of the first post; eight digits, as the numbers of pixiv's works have.
    var firstID: Int64 { isBoard ? 1 : 20_000_000 }

    /// Different services have different posts.
    var salt: UInt64 {
        switch self {
        case .pixiv: 0x0c1
        case .danbooru: 0x0db
        case .yandere: 0x07a
        case .konachan: 0x060
        }
    }

    /// Days that a search without a day looks through, the newest ones.
    var searchedDays: Int { self == .pixiv ? 7 : self == .danbooru ? 60 : 400 }

    /// Posts of a board's day, counted from the first one: on Danbooru fewer than there really are, 6,100, and far more of them
    /// for everybody; the others have as many as really.
    func posts(onDay day: Int) -> Int {
        let wave = Int(Chance.mix(UInt64(truncatingIfNeeded: day)) % 21)
        switch self {
        case .pixiv: return 0
        case .danbooru: return min(120 + day * 580 / 7000 + wave, stride)
        case .yandere: return 72 + wave
        case .konachan: return 32 + wave
        }
    }

    /// Seconds that its clock is ahead of UTC: Japan's for pixiv, New York's for Danbooru.
    ///
    /// Summer time is from the second Sunday of March to the first of November; until 2006 it was from the first Sunday of April
    /// to the last of October (Energy Policy Act of 2005, section 110). Clocks change at two in the morning.
    func offset(at seconds: Int64) -> Int64 {
        let hour: Int64 = 3600
        guard self == .danbooru else { return self == .pixiv ? 9 * hour : 0 }
        let year = Day.inUTC(atUnixSeconds: seconds).civil.year
        let isNew = year >= 2007
        guard let spring = Day(year: year, month: isNew ? 3 : 4, day: isNew ? 8 : 1),
            let autumn = Day(year: year, month: isNew ? 11 : 10, day: isNew ? 1 : 25)
        else { return -5 * hour }
        // 1970-01-01 was a Thursday.
        func sunday(from day: Day) -> Int64 { day.advanced(by: (3 - day.ordinal % 7 + 7) % 7).beginsInUTC }
        return (sunday(from: spring) + 7 * hour..<sunday(from: autumn) + 6 * hour).contains(seconds)
            ? -4 * hour : -5 * hour
    }

    /// When a day begins, in Unix seconds.
    func begin(of day: Day) -> Int64 {
        day.beginsInUTC - offset(at: day.beginsInUTC)
    }

    /// The day of a moment.
    func day(at seconds: Int64) -> Day {
        Day.inUTC(atUnixSeconds: seconds + offset(at: seconds))
    }
}

/// Moments as services write them.
enum Moment {
    /// Seconds by which Japan is ahead of UTC.
    static let japan: Int64 = 9 * 3600

    /// A moment in Unix seconds, by the conversions of strftime(3).
    static func text(_ seconds: Int64, _ format: String) -> String {
        var (moment, parts) = unsafe (time_t(seconds), tm())
        unsafe gmtime_r(&moment, &parts)
        var buffer = [UInt8](repeating: 0, count: 80)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes -> Int in
            unsafe strftime(
                bytes.assumingMemoryBound(to: CChar.self).baseAddress, bytes.count, format, &parts)
        }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// The form of HTTP headers (RFC 9110, 5.6.7): `Fri, 29 Apr 2022 15:00:15 GMT`.
    static func http(_ seconds: Int64) -> String { text(seconds, "%a, %d %b %Y %H:%M:%S GMT") }

    /// In Japan, as the paths of pictures have it: `2022/04/30/00/00/15`.
    static func path(_ seconds: Int64) -> String { text(seconds + japan, "%Y/%m/%d/%H/%M/%S") }

    /// Reads such a path.
    static func seconds(path: String) -> Int64? {
        let numbers = path.split(separator: "/" as Character).compactMap { Int($0) }
        guard path.utf8.count == 19, numbers.count == 6,
            let day = Day(year: numbers[0], month: numbers[1], day: numbers[2])
        else { return nil }
        let seconds = day.beginsInUTC + Int64(numbers[3] * 3600 + numbers[4] * 60 + numbers[5]) - japan
        return self.path(seconds) == path ? seconds : nil
    }

    /// As Rails writes a moment of New York's, from Unix milliseconds: `2026-09-27T14:53:48.533-04:00`.
    static func rails(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        let offset = Service.danbooru.offset(at: seconds)
        let fraction = (milliseconds % 1000).padded(3)
        return text(seconds + offset, "%Y-%m-%dT%H:%M:%S") + ".\(fraction)-0\(-offset / 3600):00"
    }
}
