import Rankings

/// A booru that the origin stands for.
enum ServedSite: String, Sendable {
    case danbooru
    case yandere
    case konachan

    /// Whether it has Danbooru's engine; the others have Moebooru's.
    var isDanbooru: Bool { self == .danbooru }

    /// The day of its first posts: 2005-05-24, and guesses for the others (reference, 3.1 and 4.3).
    var firstDay: Day {
        switch self {
        case .danbooru: Day(ordinal: 12_927)
        case .yandere: Day(ordinal: 13_361)  // 2006-08-01
        case .konachan: Day(ordinal: 13_891)  // 2008-01-13
        }
    }

    /// Numbers that each day has: posts' numbers grow about as quickly as the real ones.
    var stride: Int {
        switch self {
        case .danbooru: 1536
        case .yandere: 128
        case .konachan: 64
        }
    }

    /// Posts of a day, counted from the first one.
    ///
    /// On Danbooru fewer than there really are, 6,100, and far more of them for everybody; the others as many as really.
    func posts(onDay day: Int) -> Int {
        let wave = Int(Chance.mix(UInt64(truncatingIfNeeded: day)) % 21)
        switch self {
        case .danbooru: return min(120 + day * 580 / 7000 + wave, stride)
        case .yandere: return 72 + wave
        case .konachan: return 32 + wave
        }
    }

    /// When a day begins, in Unix seconds.
    func begin(of day: Day) -> Int64 {
        isDanbooru ? ServedEasternTime.begin(of: day) : day.beginsInUTC
    }

    /// The day of a moment.
    func day(at seconds: Int64) -> Day {
        isDanbooru ? ServedEasternTime.day(at: seconds) : Day.inUTC(atUnixSeconds: seconds)
    }

    /// Days that a search without a day looks through, the newest ones.
    var searchedDays: Int { isDanbooru ? 60 : 400 }
}

/// How much of what everybody may see a post shows.
enum ServedRating: String, CaseIterable, Sendable {
    case general = "g"
    /// "Sensitive" on Danbooru, "safe" on Moebooru.
    case sensitive = "s"
    case questionable = "q"
    case explicit = "e"
}
