import Rankings

/// A place where a work first appears, packed into the work's number: everything about a work follows from its number.
///
/// Numbers grow with the day, so that an author's newest work has the highest number, as with the service.
enum Slot: Hashable, Sendable {
    /// First seen in a ranking: days since the first ranking, index of the mode, rank.
    case ranking(day: Int, mode: Int, rank: Int)
    /// A work of one of the special authors, counted from 0.
    case special(author: Int, work: Int)

    /// Nil for a number that this universe never gives to a work.
    init?(_ id: WorkID) {
        let index = id.rawValue - Self.rankingBase
        if (0..<Int64(1 << Self.bits)).contains(index) {
            self.init(index: Int(index))
            return
        }
        let special = id.rawValue - Self.specialBase
        guard special >= 0, special < Self.specialStride * Int64(SpecialAuthor.all.count) else { return nil }
        let author = Int(special / Self.specialStride)
        let work = Int(special % Self.specialStride)
        guard work < SpecialAuthor.all[author].works else { return nil }
        self = .special(author: author, work: work)
    }

    /// The slot of a ranking by its packed number of `bits` bits.
    init(index: Int) {
        self = .ranking(
            day: index >> (Self.modeBits + Self.rankBits), mode: index >> Self.rankBits & (1 << Self.modeBits - 1),
            rank: index & (1 << Self.rankBits - 1))
    }

    /// The work's number.
    var work: WorkID {
        switch self {
        case .ranking:
            WorkID(rawValue: Self.rankingBase + Int64(index ?? 0))
        case .special(let author, let work):
            WorkID(rawValue: Self.specialBase + Int64(author) * Self.specialStride + Int64(work))
        }
    }

    /// Whether the slot is one of a ranking for signed-in users only.
    var isForSignedIn: Bool {
        guard case .ranking(_, let mode, _) = self, mode < Universe.rankingModes.count else { return false }
        return Universe.rankingModes[mode].needsSignIn
    }

    /// The packed number of a ranking's slot; nil for a special author's work.
    var index: Int? {
        guard case .ranking(let day, let mode, let rank) = self else { return nil }
        return (day << Self.modeBits | mode) << Self.rankBits | rank
    }

    /// Days, modes and ranks together: days to 2052, 16 modes, 512 ranks.
    static let bits = dayBits + modeBits + rankBits
    private static let dayBits = 14
    private static let modeBits = 4
    private static let rankBits = 9

    /// Eight digits, as the numbers of the service's works have.
    private static let rankingBase: Int64 = 20_000_000
    private static let specialBase: Int64 = 900_000_000
    private static let specialStride: Int64 = 100_000
}

/// An author with a number of works worth testing with.
struct SpecialAuthor: Sendable {
    let id: Int64
    let name: String
    let works: Int
    /// One work in this many is a comic.
    let mangaEvery: Int

    /// Their index is part of their works' numbers: append only.
    static let all = [
        SpecialAuthor(id: 1001, name: "五千枚", works: 5000, mangaEvery: 10),
        SpecialAuthor(id: 1002, name: "ひとつだけ", works: 1, mangaEvery: 2),
        SpecialAuthor(id: 1003, name: "まだ何もない", works: 0, mangaEvery: 2),
        SpecialAuthor(id: 1004, name: "漫画と絵", works: 2000, mangaEvery: 2),
        SpecialAuthor(id: 1005, name: "絵百枚", works: 100, mangaEvery: 1000),
        SpecialAuthor(id: 1006, name: "a/b\\c:*?\"<>|", works: 101, mangaEvery: 4),
        SpecialAuthor(id: 1007, name: "見本", works: 7, mangaEvery: 1000),
        SpecialAuthor(id: 1000, name: "訪問者", works: 0, mangaEvery: 1000),
        SpecialAuthor(id: 1008, name: "二千人を追う", works: 0, mangaEvery: 1000),
    ]
}
