/// The place of an entry in the order of its directory, from what never changes about the entry.
package enum InodeOrder: Hashable, Sendable {
    /// Pictures of a ranking.
    case rank(Int, page: Int)
    /// Pictures of directories that begin with the newest work.
    case newestFirst(WorkID, page: Int)
    case day(Day)

    /// The place as a number of so many bits; places beyond what fits are all the last one.
    var bits: (place: UInt64, width: Int) {
        switch self {
        // Most rankings have 500 places. Some have tens of thousands, and no works with several pages: behind
        // the last place that has pages of its own, 256 share one.
        case .rank(let rank, let page) where rank < Self.lastRank: ((Self.bits(rank, 13) << 8) | Self.bits(page, 8), 21)
        case .rank(let rank, _): (UInt64(Self.lastRank << 8) | Self.bits((rank - Self.lastRank) >> 8, 8), 21)
        // Numbers of works will have passed 2^28 at some time in the 2030s, and then have no order any more.
        case .newestFirst(let work, let page):
            (((1 << 28) - 1 - Self.bits(Int(work.rawValue), 28)) << 8 | Self.bits(page, 8), 36)
        case .day(let day): (Self.bits(day.ordinal, 17), 17)
        }
    }

    private static let lastRank = (1 << 13) - 1

    private static func bits(_ value: Int, _ width: Int) -> UInt64 {
        UInt64(min(max(0, value), (1 << width) - 1))
    }
}
