import Rankings

/// Works, authors and rankings as pure functions of a seed: nothing is stored, everything is found again.
struct Universe: Sendable {
    let seed: UInt64
    let authors: AuthorTable
    /// Kept here because it is made once a day.
    let search = SearchIndex()
    /// Whether 1200-pixel renditions are as large as originals.
    let hasLargePictures: Bool

    init(seed: UInt64, hasLargePictures: Bool = false) {
        self.seed = seed
        self.hasLargePictures = hasLargePictures
        authors = AuthorTable(seed: seed)
    }

    /// The newest day whose rankings are published.
    func newest(at now: Int64) -> Day {
        // Yesterday's appears at noon.
        JapanTime(seconds: now - 12 * 3600).day.advanced(by: -1)
    }

    /// The modes that have works of their own, by the index that is packed into work numbers: append only.
    static let modes = [
        "daily", "weekly", "monthly", "male", "female", "rookie", "original", "daily_ai", "daily_r18", "weekly_r18",
        "male_r18", "female_r18", "r18g", "daily_r18_ai",
    ]

    /// The same as values.
    static let rankingModes = modes.compactMap { ServedMode($0) }

    /// Ranks of a day in the modes for everybody.
    static let ranks = 500

    /// The work of a number, if it exists at that moment.
    func work(_ id: WorkID, now: Int64) -> WorkRecord? {
        guard let slot = Slot(id), exists(slot, newest: newest(at: now)) else { return nil }
        return record(slot)
    }

    /// Whether a slot holds a work of its own that is already known on `newest`.
    func exists(_ slot: Slot, newest: Day) -> Bool {
        switch slot {
        case .special:
            return true
        case .ranking(let day, let mode, let rank):
            guard mode < Self.modes.count, (1...Self.ranks(ofMode: mode)).contains(rank),
                case let date = Self.firstDay.advanced(by: day)
            else { return false }
            guard date >= Self.rankingModes[mode].firstDay, date <= newest else { return false }
            return !isGap(day: day, mode: mode, rank: rank) && carried(day: day, mode: mode, rank: rank) == nil
        }
    }

    /// The first day of all, from which days are counted in work numbers.
    static var firstDay: Day {
        ServedMode.firstOfAll
    }

    /// The works of an author that exist and that the viewer is told of, highest number first; nil if there is no such
    /// author.
    func works(of user: UserID, now: Int64, for viewer: Viewer = .anonymous) -> [WorkID]? {
        let newest = newest(at: now)
        return authors.slots(of: user)?
            .filter { exists($0, newest: newest) && (viewer.isSignedIn || !$0.isForSignedIn) }
            .map(\.work).sorted(by: >)
    }

    /// An author's pen name.
    func name(of user: UserID) -> String {
        if let special = SpecialAuthor.all.first(where: { $0.id == user.rawValue }) {
            return special.name
        }
        var chance = Chance(seed, 0xa2, UInt64(bitPattern: user.rawValue))
        return Titles.author(&chance)
    }

    // MARK: - Rankings

    /// Whether a rank is left out, as when a work was deleted.
    func isGap(day: Int, mode: Int, rank: Int) -> Bool {
        guard rank > Self.firstGap else { return false }
        var chance = Chance(seed, 0xb1, UInt64(day), UInt64(mode), UInt64(rank))
        return chance.oneIn(Self.gapEvery)
    }

    /// The slot and previous rank of an entry that shows a work first ranked elsewhere; nil for a work of its own.
    ///
    /// Every fourth rank of `daily` shows a work that held a rank of the day before; half as many of `weekly`,
    /// `monthly`, `male` and `female` show one of `daily`. Sources are slots that are always works of their own, and the
    /// maps from ranks to sources are injective, so that no work is twice in a listing.
    func carried(day: Int, mode: Int, rank: Int) -> (slot: Slot, previousRank: Int)? {
        let back: Int
        let source: Int
        if mode == 0, rank % 4 == 3, rank > Self.firstCarried {
            back = 1
            source = rank - 2
        } else if (1...4).contains(mode), rank % 4 == 1 {
            // weekly and monthly look back over their span, male and female at the same day
            back = mode == 1 ? rank / 4 % 7 : mode == 2 ? rank / 4 % 30 : 0
            source = rank
        } else {
            return nil
        }
        guard day >= back, !isGap(day: day - back, mode: 0, rank: source) else { return nil }
        return (.ranking(day: day - back, mode: 0, rank: source), mode == 0 ? source : 0)
    }

    /// One entry of a ranking.
    struct Entry: Sendable {
        let rank: Int
        /// 0 for a new one.
        let previousRank: Int
        let work: WorkRecord
    }

    /// The entries of some ranks of a day, gaps left out.
    func entries(mode: Int, day: Day, ranks: ClosedRange<Int>) -> [Entry] {
        let offset = day.ordinal - Self.firstDay.ordinal
        return ranks.compactMap { rank in
            if isGap(day: offset, mode: mode, rank: rank) { return nil }
            guard let carried = carried(day: offset, mode: mode, rank: rank) else {
                return Entry(rank: rank, previousRank: 0, work: record(.ranking(day: offset, mode: mode, rank: rank)))
            }
            return Entry(rank: rank, previousRank: carried.previousRank, work: record(carried.slot))
        }
    }

    /// The first ranks show new works, whose pictures bear just that rank.
    private static let firstCarried = 10
    /// The first ranks are never missing: people look there first.
    private static let firstGap = 5
    /// About five gaps in a day of 500, as in the recorded one.
    private static let gapEvery = 100
}
