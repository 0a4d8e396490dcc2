import Rankings
import Dispatch
import Synchronization

/// Finds posts by the digests of their originals, as the paths on image hosts name them.
///
/// Digests that were told lately are remembered. For any other, as from before a restart, all days are looked through, the
/// newest first: some seconds for a digest that no post has.
///
/// ## Concurrency
/// Called from any thread; what is remembered is behind a lock, and looking through the days happens outside it.
final class PostsByDigest: Sendable {
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
        universe.models.prepare(Set(PostModel.all.indices))
        let drawn = PostModel.all.indices.map { universe.models.drawn($0) }
        var end = last + 1
        while end > 0 {
            let (begin, limit) = (max(0, end - Self.daysAtOnce * Self.parts), end)
            let found = Mutex<Int64?>(nil)
            DispatchQueue.concurrentPerform(iterations: Self.parts) { part in
                let first = min(limit, begin + part * Self.daysAtOnce)
                let days = first..<min(limit, first + Self.daysAtOnce)
                guard let id = search(digest, days, drawn) else { return }
                found.withLock { $0 = id }
            }
            if let id = found.withLock({ $0 }) { return id }
            end = begin
        }
        return nil
    }

    /// Days that a processor looks through at a time.
    private static let daysAtOnce = 100
    private static let parts = 4

    private func search(_ digest: OriginDigest, _ days: Range<Int>, _ drawn: [DrawnModel?]) -> Int64? {
        let site = universe.site
        for day in days {
            for number in 0..<site.posts(onDay: day) {
                let slot = PostSlot(day: day, number: number)
                let file = universe.file(slot, id: slot.id(site))
                if drawn[file.model]?.digest(file) == digest { return slot.id(site) }
            }
        }
        return nil
    }
}
