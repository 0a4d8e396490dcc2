import Rankings

/// A moment as the service writes it: Japan Standard Time, nine hours ahead of UTC, no summer time.
struct JapanTime: Hashable, Sendable {
    /// Unix seconds.
    let seconds: Int64

    init(seconds: Int64) {
        self.seconds = seconds
    }

    /// A second of a Japanese day.
    init(_ day: Day, secondOfDay: Int) {
        seconds = Int64(day.ordinal) * Self.day + Int64(secondOfDay) - Self.offset
    }

    /// Parses `2022/04/30/00/00/15`, as it stands in the paths of pictures.
    init?(path: some StringProtocol) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let widths = [4, 2, 2, 2, 2, 2]
        guard parts.count == widths.count else { return nil }
        var numbers: [Int] = []
        for (part, width) in zip(parts, widths) {
            guard part.utf8.count == width, part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(part)
            else { return nil }
            numbers.append(number)
        }
        guard numbers[3] < 24, numbers[4] < 60, numbers[5] < 60,
            let day = Day(compact: parts[0...2].joined())
        else { return nil }
        self.init(day, secondOfDay: numbers[3] * 3600 + numbers[4] * 60 + numbers[5])
    }

    /// The Japanese day.
    var day: Day {
        Day(ordinal: Int(Self.floorDivide(seconds + Self.offset, Self.day)))
    }

    /// Hours, minutes and seconds, two digits each.
    var clock: (hour: String, minute: String, second: String) {
        Self.clock(of: seconds + Self.offset)
    }

    /// As in paths: `2022/04/30/00/00/15`.
    var path: String {
        let (hour, minute, second) = clock
        let date = day.compact
        return "\(date.prefix(4))/\(date.dropFirst(4).prefix(2))/\(date.suffix(2))/\(hour)/\(minute)/\(second)"
    }

    /// As rankings show it: `2022年04月30日 00:00`.
    var display: String {
        let (hour, minute, _) = clock
        let date = day.compact
        return "\(date.prefix(4))年\(date.dropFirst(4).prefix(2))月\(date.suffix(2))日 \(hour):\(minute)"
    }

    /// As the `/ajax` routes write it: `2022-04-30T00:00:15+09:00`.
    var iso: String {
        let (hour, minute, second) = clock
        return "\(day)T\(hour):\(minute):\(second)+09:00"
    }

    /// The same moment at Greenwich: `2022-04-29T15:00:15+00:00`.
    var isoUTC: String {
        let (hour, minute, second) = Self.clock(of: seconds)
        return "\(utcDay)T\(hour):\(minute):\(second)+00:00"
    }

    /// The form of HTTP headers (RFC 9110, 5.6.7): `Fri, 29 Apr 2022 15:00:15 GMT`.
    var http: String {
        let (hour, minute, second) = Self.clock(of: seconds)
        let date = utcDay.compact
        // 1970-01-01 was a Thursday.
        let weekday = Self.weekdays[((utcDay.ordinal % 7) + 7) % 7]
        let month = Self.months[(Int(date.dropFirst(4).prefix(2)) ?? 1) - 1]
        return "\(weekday), \(date.suffix(2)) \(month) \(date.prefix(4)) \(hour):\(minute):\(second) GMT"
    }

    // MARK: -

    private static let day: Int64 = 86_400
    private static let offset: Int64 = 9 * 3600
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private var utcDay: Day {
        Day(ordinal: Int(Self.floorDivide(seconds, Self.day)))
    }

    private static func clock(of seconds: Int64) -> (hour: String, minute: String, second: String) {
        let rest = seconds - floorDivide(seconds, day) * day
        return (twoDigits(rest / 3600), twoDigits(rest / 60 % 60), twoDigits(rest % 60))
    }

    private static func twoDigits(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    private static func floorDivide(_ dividend: Int64, _ divisor: Int64) -> Int64 {
        dividend >= 0 ? dividend / divisor : -((-dividend + divisor - 1) / divisor)
    }
}
