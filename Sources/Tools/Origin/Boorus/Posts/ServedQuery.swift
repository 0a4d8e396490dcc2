import Rankings

/// What a search for posts asks for, after the site's own grammar has been read.
struct ServedQuery: Sendable {
    /// Days, both included; nil for any.
    var days: ClosedRange<Day>?
    /// Numbers, in ranges; nil for any.
    var ids: [ClosedRange<Int64>]?
    var digest: OriginDigest?
    var ratings = Set(ServedRating.allCases)
    /// Places in ``ServedTags/all``.
    var tags: [Int] = []
    var excluded: [Int] = []
    /// Of each list one has to fit as well; what they say of the order is passed over.
    var alternatives: [[ServedQuery]] = []
    var formats: Set<ServedFormat>?
    var scores: ClosedRange<Int>?
    var uploader: Int?
    var parent: Int64?
    var order = Order.newest
    /// For Moebooru, where lists leave deleted posts out.
    var showsDeleted = true
    /// Nothing can match: an unknown tag or a date that is none.
    var isEmpty = false
    /// The database gives up.
    var isSlow = false

    enum Order: Sendable {
        case newest
        case oldest
        /// By points, then by number, both falling.
        case score
        case rising
    }

    /// Narrows the days to those that are also in another range.
    mutating func narrow(_ range: ClosedRange<Day>?) {
        guard let range else { return isEmpty = true }
        guard let days else { return days = range }
        guard days.overlaps(range) else { return isEmpty = true }
        self.days = days.clamped(to: range)
    }
}

extension PostUniverse {
    /// The posts that a query finds, in its order; of a query that names neither days nor numbers those of the newest days.
    func posts(_ query: ServedQuery, index: PostsByDigest, now: Int64) -> [ServedPost] {
        guard !query.isEmpty else { return [] }
        let found = candidates(query, index: index, now: now).filter { matches($0, query) }
        switch query.order {
        case .newest: return found.sorted { $0.id > $1.id }
        case .oldest: return found.sorted { $0.id < $1.id }
        case .score: return found.sorted { ($0.score, $0.id) > ($1.score, $1.id) }
        case .rising: return found.sorted { ($0.score, $0.id) < ($1.score, $1.id) }
        }
    }

    // MARK: -

    private func candidates(_ query: ServedQuery, index: PostsByDigest, now: Int64) -> [ServedPost] {
        if let digest = query.digest { return index.post(digest, now: now).map { [$0] } ?? [] }
        if let parent = query.parent { return (parent...parent + 1).compactMap { post($0, now: now) } }
        let today = site.day(at: now)
        if let ids = query.ids, query.days == nil {
            if ids.reduce(0, { $0 + min($1.count, Self.mostNumbers) }) < Self.mostNumbers {
                return ids.joined().compactMap { post($0, now: now) }
            }
        }
        var last = min(query.days?.upperBound ?? today, today)
        if let most = query.ids?.map(\.upperBound).max(), query.days == nil {
            last = min(last, site.firstDay.advanced(by: Int(min(most, Int64.max >> 8)) / site.stride + 1))
        }
        let first = max(query.days?.lowerBound ?? last.advanced(by: 1 - site.searchedDays), site.firstDay)
        guard first <= last else { return [] }
        return (first.ordinal...last.ordinal).flatMap { posts(on: Day(ordinal: $0), now: now) }
    }

    /// More numbers than that are looked for day by day.
    private static let mostNumbers = 2000

    private func matches(_ post: ServedPost, _ query: ServedQuery) -> Bool {
        guard !query.isEmpty, query.ratings.contains(post.rating), query.showsDeleted || !post.isDeleted,
            query.ids.map({ $0.contains { $0.contains(post.id) } }) ?? true,
            query.formats?.contains(post.format) ?? true, query.scores?.contains(post.score) ?? true,
            query.uploader.map({ $0 == post.uploader }) ?? true,
            query.parent.map({ $0 == post.id || $0 == post.parent }) ?? true,
            query.alternatives.allSatisfy({ $0.contains { matches(post, $0) } })
        else { return false }
        if let days = query.days {
            guard days.contains(site.firstDay.advanced(by: post.slot.day)) else { return false }
        }
        guard !query.tags.isEmpty || !query.excluded.isEmpty else { return true }
        let tags = tags(of: post)
        return query.tags.allSatisfy(tags.contains) && !query.excluded.contains(where: tags.contains)
    }
}
