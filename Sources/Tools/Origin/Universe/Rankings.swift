import Rankings
import Synchronization

/// One entry of a ranking; the rank of the day before is 0 for a new entry.
typealias RankedWork = (rank: Int, previousRank: Int, work: Post)

/// The rankings of pixiv.
extension Universe {
    /// The entries at some ranks of a day, without gaps.
    func entries(_ mode: Mode, _ day: Day, _ ranks: ClosedRange<Int>) -> [RankedWork] {
        let offset = day.ordinal - service.firstDay.ordinal
        return ranks.compactMap { rank in
            let slot = mode.slot(offset, rank)
            if isGap(slot) { return nil }
            let carried = carried(offset, mode, rank)
            return (rank, carried?.previousRank ?? 0, post(carried?.slot ?? slot))
        }
    }

    /// The last of the first ranks, which show new works; their pictures bear the same rank.
    private static let firstCarried = 10
    /// The last of the first ranks, which are never missing: readers begin with them.
    private static let firstGap = 5
    /// One rank in this many is missing: about five in a day of 500, as in the recorded one.
    private static let gapEvery = 100

    /// Whether a rank is left out, as after the deletion of a work.
    func isGap(_ slot: Slot) -> Bool {
        guard let (_, rank) = Mode.place(slot), rank > Self.firstGap else { return false }
        var chance = chance(0xb1, slot.id(service))
        return chance.oneIn(Self.gapEvery)
    }

    /// The slot and previous rank of an entry that shows a work first ranked elsewhere; nil for an entry with a new work.
    ///
    /// Every fourth rank of `daily` shows a work that held a rank of the day before; half as many of `weekly`,
    /// `monthly`, `male` and `female` show one of `daily`. Sources are slots that always have new works, and the
    /// maps from ranks to sources are injective, so that no work occurs twice in a listing.
    func carried(_ day: Int, _ mode: Mode, _ rank: Int) -> (slot: Slot, previousRank: Int)? {
        let isDaily = mode.index == 0
        let back: Int
        if isDaily, rank % 4 == 3, rank > Self.firstCarried {
            back = 1
        } else if (1...4).contains(mode.index), rank % 4 == 1 {
            // Weekly and monthly take works from their span, male and female from the same day.
            back = mode.index == 1 ? rank / 4 % 7 : mode.index == 2 ? rank / 4 % 30 : 0
        } else {
            return nil
        }
        let source = isDaily ? rank - 2 : rank
        guard day >= back, case let slot = Mode.all[0].slot(day - back, source), !isGap(slot) else { return nil }
        return (slot, isDaily ? source : 0)
    }
}

extension Universe {
    /// The works that searches can find, highest number first: those of the named authors and some rankings of the last week.
    func searchedWorks(now: Int64) -> [SearchedWork] {
        let newest = newest(at: now)
        return searched.withLock { searched in
            if let searched, searched.day == newest { return searched.hits }
            let last = newest.ordinal - service.firstDay.ordinal
            var slots = SpecialAuthor.all.flatMap { self.slots(of: $0.id) ?? [] }
            for mode in ["daily", "daily_ai", "daily_r18"].compactMap(Mode.named) {
                for day in max(0, last - service.searchedDays + 1)...max(0, last) {
                    slots += (1...mode.ranks).map { mode.slot(day, $0) }
                }
            }
            let works = slots.filter { exists($0, newest: newest) }.map { post($0) }.sorted { $0.id > $1.id }
            let hits = works.map { (work: $0, tags: tags(of: $0)) }
            searched = (newest, hits)
            return hits
        }
    }
}
