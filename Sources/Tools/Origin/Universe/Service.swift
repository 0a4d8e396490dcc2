import Glibc
import Rankings

/// The calendar of each service, which determines the numbers, days and hours of its posts.
extension Service {
    /// Whether it is an image board, with posts instead of works.
    var isBoard: Bool { self != .pixiv }

    private var calendar: (first: Int, stride: Int, salt: UInt64, searched: Int) {
        switch self {
        case .pixiv: (13_769, 1 << 13, 0x0c1, 7)  // 2007-09-13, pixiv's first ranking
        case .danbooru: (12_927, 1536, 0x0db, 60)  // 2005-05-24
        case .yandere: (13_361, 128, 0x07a, 400)  // 2006-08-01
        case .konachan: (13_891, 64, 0x060, 400)  // 2008-01-13
        }
    }

    /// The day of the first posts; guesses for the Moebooru sites (reference, 3.1 and 4.3).
    var firstDay: Day { Day(ordinal: calendar.first) }

    /// Numbers reserved for each day: they grow about as quickly as the real ones; on pixiv 16 modes have 512 ranks each.
    var stride: Int { calendar.stride }

    /// The number of the first post; eight digits on pixiv, as real works have.
    var firstID: Int64 { isBoard ? 1 : 20_000_000 }

    /// A salt, so that different services have different posts.
    var salt: UInt64 { calendar.salt }

    /// The newest days, as many as a search without a day covers.
    var searchedDays: Int { calendar.searched }

    /// The number of posts of a board's day, with days counted from the first one.
    ///
    /// Danbooru has fewer than the real 6,100, with a far larger share of public ones; the other sites have about the real
    /// numbers.
    func posts(onDay day: Int) -> Int {
        let wave = Int(Chance.mix(UInt64(truncatingIfNeeded: day)) % 21)
        switch self {
        case .pixiv: return 0
        case .danbooru: return min(120 + day * 580 / 7000 + wave, stride)
        case .yandere: return 72 + wave
        case .konachan: return 32 + wave
        }
    }

    /// Seconds by which the service's clock is ahead of UTC: Japan's for pixiv, New York's for Danbooru.
    ///
    /// Summer time lasts from the second Sunday of March to the first of November, as since 2007 (Energy Policy Act of 2005,
    /// section 110). Clocks change at two in the morning.
    func offset(at seconds: Int64) -> Int64 {
        guard self == .danbooru else { return self == .pixiv ? Moment.japan : 0 }
        let (year, hour) = (Day.inUTC(atUnixSeconds: seconds).civil.year, Int64(3600))
        func sunday(from month: Int, _ number: Int) -> Int64 {
            guard let day = Day(year: year, month: month, day: number) else { return .max }
            // 1970-01-01 was a Thursday.
            return day.advanced(by: (3 - day.ordinal % 7 + 7) % 7).beginsInUTC
        }
        let isSummer = seconds >= sunday(from: 3, 8) + 7 * hour && seconds < sunday(from: 11, 1) + 6 * hour
        return isSummer ? -4 * hour : -5 * hour
    }

    /// The begin of a day, in Unix seconds.
    func begin(of day: Day) -> Int64 {
        day.beginsInUTC - offset(at: day.beginsInUTC)
    }

    /// The day of a moment in Unix seconds.
    func day(at seconds: Int64) -> Day {
        Day.inUTC(atUnixSeconds: seconds + offset(at: seconds))
    }
}

/// Moments in the notations of the services.
enum Moment {
    /// Seconds by which Japan is ahead of UTC.
    static let japan: Int64 = 9 * 3600

    /// A moment in Unix seconds, by the conversions of strftime(3).
    static func text(_ seconds: Int64, _ format: String) -> String {
        var (moment, parts) = unsafe (time_t(seconds), tm())
        unsafe gmtime_r(&moment, &parts)
        var buffer = [UInt8](repeating: 0, count: 80)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes -> Int in
            guard let text = unsafe bytes.assumingMemoryBound(to: CChar.self).baseAddress else { return 0 }
            return unsafe strftime(text, bytes.count, format, &parts)
        }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// The form of HTTP headers (RFC 9110, 5.6.7): `Fri, 29 Apr 2022 15:00:15 GMT`.
    static func http(_ seconds: Int64) -> String { text(seconds, "%a, %d %b %Y %H:%M:%S GMT") }

    /// The time in Japan, as in the paths of pictures: `2022/04/30/00/00/15`.
    static func path(_ seconds: Int64) -> String { text(seconds + japan, "%Y/%m/%d/%H/%M/%S") }

    /// The Unix seconds of such a path; nil if it is none.
    static func seconds(path: String) -> Int64? {
        let numbers = path.split(separator: "/" as Character).compactMap { Int($0) }
        guard path.utf8.count == 19, numbers.count == 6,
            let day = Day(year: numbers[0], month: numbers[1], day: numbers[2])
        else { return nil }
        let seconds = day.beginsInUTC + Int64(numbers[3] * 3600 + numbers[4] * 60 + numbers[5]) - japan
        return self.path(seconds) == path ? seconds : nil
    }

    /// The time in New York as Rails writes it, from Unix milliseconds: `2026-09-27T14:53:48.533-04:00`.
    static func rails(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        let offset = Service.danbooru.offset(at: seconds)
        let fraction = (milliseconds % 1000).padded(3)
        return text(seconds + offset, "%Y-%m-%dT%H:%M:%S") + ".\(fraction)-0\(-offset / 3600):00"
    }
}
