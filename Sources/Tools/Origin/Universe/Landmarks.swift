package import Rankings

/// Places of every universe, whatever its seed, that hold what tests and demonstrations look for.
///
/// * The visitor, user 1000, draws nothing, has bookmarks and follows authors; `PHPSESSID=1000_visitorsecret` is a valid
///   session of theirs, as is any `<number of an author>_<at least 8 letters or digits>`.
/// * The fan, user 1008, follows 2,100 authors.
/// * Author 1007, 見本, has the works below, one for each thing that few works have.
/// * Rank 77 of every day of `daily` (unless that rank is missing): the original answers 500 for good.
/// * Rank 78, likewise: listed, and not shown in this country.
package enum Landmarks {
    /// The visitor, who has bookmarks and follows authors.
    package static let visitor = UserID(rawValue: 1000)
    /// A value of the cookie PHPSESSID that signs the visitor in.
    package static let visitorSession = "1000_visitorsecret"
    /// A user who draws nothing and follows 2,100 authors.
    package static let fan = UserID(rawValue: 1008)
    /// A value of the cookie PHPSESSID that signs the fan in.
    package static let fanSession = "1008_fansecret"
    /// The author of the works below.
    package static let author = UserID(rawValue: 1007)
    /// An animation of exactly 60 frames, 1280 × 720.
    package static let longAnimation = WorkID(rawValue: 900_600_000)
    /// A work of exactly 12 pages, whose originals are PNGs of 0.3 to 1 MB.
    package static let twelvePages = WorkID(rawValue: 900_600_001)
    /// A work whose original answers 500 for good; all its other renditions are there.
    package static let brokenOriginal = WorkID(rawValue: 900_600_002)
    /// An animation of exactly 8 frames, upright.
    package static let shortAnimation = WorkID(rawValue: 900_600_003)
    /// The second of a series of three comics.
    package static let inSeries = WorkID(rawValue: 900_600_004)
    /// A work that its author says was made with AI.
    package static let madeWithAI = WorkID(rawValue: 900_600_005)
    /// A work whose caption has line breaks, links and entities and whose tags have translations.
    package static let fullCaption = WorkID(rawValue: 900_600_006)
    /// The rank of `daily` whose work has an original that answers 500 for good.
    package static let brokenRank = 77
    /// The rank of `daily` whose work the service lists and does not show in this country.
    package static let locationMaskedRank = 78
    /// A tag that exactly three works have.
    package static let rareTag = "三枚だけの札"
    /// Frames of `longAnimation` and `shortAnimation`.
    package static let frames: [WorkID: Int] = [longAnimation: 60, shortAnimation: 8]
}

extension Landmarks {
    /// Makes the works of `author` what they are for; leaves all others alone.
    static func furnish(_ work: inout WorkRecord) {
        guard work.author == author else { return }
        let index = Int(work.id.rawValue - longAnimation.rawValue)
        work.uploaded = JapanTime(Day(ordinal: firstUpload + index), secondOfDay: noon + index)
        work.displayed = work.uploaded
        work.tags = ["見本", "オリジナル"]
        work.title = "見本\(index + 1)"
        work.kind = .illustration
        work.format = .jpg
        work.pages = [PixelSize(width: 1200, height: 900)]
        work.hash = nil
        work.hasPageMark = true
        work.series = nil
        work.aiType = 1
        if index < 3 { work.tags.append(rareTag) }
        switch work.id {
        case longAnimation, shortAnimation:
            work.kind = .animation
            work.tags.insert("うごイラ", at: 0)
            work.pages = [
                work.id == longAnimation ? PixelSize(width: 1280, height: 720) : PixelSize(width: 720, height: 960)
            ]
        case twelvePages:
            work.format = .png
            work.pages = (0..<12).map { PixelSize(width: 560, height: $0 % 4 == 3 ? 560 : 794) }
        case inSeries:
            work.kind = .manga
            work.pages = Array(repeating: PixelSize(width: 900, height: 1272), count: 4)
            work.series = WorkRecord.Series(id: 777, title: "三部作", count: 3, order: 2, started: work.uploaded)
        case madeWithAI:
            work.aiType = 2
        case fullCaption:
            work.tags = ["見本", "風景", "猫", "海", "星", "オリジナル", "水彩", "ふつくしい"]
        default:
            break
        }
    }

    /// Whether a work's original answers 500.
    static func isBroken(_ slot: Slot, _ id: WorkID) -> Bool {
        if case .ranking(_, mode: 0, rank: brokenRank) = slot { return true }
        return id == brokenOriginal
    }

    /// Whether a work is not shown in this country.
    static func isLocationMasked(_ id: WorkID) -> Bool {
        if case .ranking(_, mode: 0, rank: locationMaskedRank)? = Slot(id) { true } else { false }
    }

    private static let firstUpload = 19_358  // 2023-01-01
    private static let noon = 43_200
}
