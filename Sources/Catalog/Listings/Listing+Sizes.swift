internal import Synchronization
import Rankings

extension Listing {
    /// How long after its last question a walk over all sizes is taken to go on, in seconds.
    static let walkSeconds: Int64 = 10

    /// Sets a size in bytes, or forgets it with 0, if the picture is here.
    func setSize(_ size: Int64, of picture: PictureID) {
        state.withLock { $0.table.setSize(size, of: picture) }
    }

    /// Sets a size in bytes that the image host told, unless one is known.
    ///
    /// - Returns: The size that holds.
    func learnSize(_ told: Int64, of picture: PictureID) -> Int64 {
        state.withLock { state in
            if let position = state.table.position(of: picture), state.table.sizes[position] > 0 {
                return state.table.sizes[position]
            }
            state.table.setSize(told, of: picture)
            return told
        }
    }

    /// Notes that somebody asks for size after size; returns the entries to ask for that the walk has not asked for yet.
    func continueWalk(now: Int64) -> [ListingEntry] {
        state.withLock { state in
            let goesOn = state.walked.map { Freshness.holds(since: $0, seconds: Self.walkSeconds, now: now) } ?? false
            if !goesOn { state.walkedCount = 0 }
            state.walked = now
            return Self.takeUnasked(&state)
        }
    }

    /// The entries that came since, if a walk is going on.
    func entriesForWalk(now: Int64) -> [ListingEntry] {
        state.withLock { state in
            guard let walked = state.walked, Freshness.holds(since: walked, seconds: Self.walkSeconds, now: now)
            else { return [] }
            return Self.takeUnasked(&state)
        }
    }

    private static func takeUnasked(_ state: inout ListingState) -> [ListingEntry] {
        let start = state.walkedCount
        state.walkedCount = state.table.entries.count
        return (start..<state.walkedCount).compactMap { position in
            let entry = state.table.entries[position]
            return state.table.sizes[position] == 0 && !entry.isWithheld && !entry.isHidden ? entry : nil
        }
    }
}
