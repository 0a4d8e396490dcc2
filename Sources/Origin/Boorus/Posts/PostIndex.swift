import Rankings
import Synchronization

/// Finds posts by the digests of their originals, as the paths on image hosts name them.
///
/// Digests that were told lately are remembered. For any other, as from before a restart, all days are looked through, the
/// newest first: some seconds for a digest that no post has.
///
/// ## Concurrency
/// Called from any thread; what is remembered is behind a lock, and looking through the days happens outside it.
final class PostIndex: Sendable {
    private let universe: PostUniverse
    private let known = Mutex<[OriginDigest: Int64?]>([:])

    /// Digests remembered; about 10 MB.
    private static let most = 200_000

    init(_ universe: PostUniverse) {
        self.universe = universe
    }

    /// Remembers whose a digest is.
    func learn(_ digest: OriginDigest, _ id: Int64?) {
        known.withLock { known in
            if known.count >= Self.most { known.removeAll() }
            known.updateValue(id, forKey: digest)
        }
    }

    /// The post whose original has a digest, if it exists at a moment in Unix seconds.
    func post(_ digest: OriginDigest, now: Int64) -> ServedPost? {
        if let id = known.withLock({ $0[digest] }) { return id.flatMap { universe.post($0, now: now) } }
        let id = search(digest, now: now)
        learn(digest, id)
        return id.flatMap { universe.post($0, now: now) }
    }

    private func search(_ digest: OriginDigest, now: Int64) -> Int64? {
        let site = universe.site
        let last = site.day(at: now).ordinal - site.firstDay.ordinal
        guard last >= 0 else { return nil }
        let drawn = PostModel.all.indices.map { universe.models.drawn($0) }
        for day in (0...last).reversed() {
            for number in 0..<site.posts(onDay: day) {
                let slot = PostSlot(day: day, number: number)
                let file = universe.file(slot, id: slot.id(site))
                if drawn[file.model]?.digest(file) == digest { return slot.id(site) }
            }
        }
        return nil
    }
}
