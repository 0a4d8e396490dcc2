import Rankings

/// What users like: the works they bookmarked and the authors they follow, the same at every moment.
struct Circle: Sendable {
    private let universe: Universe
    private let now: Int64

    init(_ universe: Universe, now: Int64) {
        self.universe = universe
        self.now = now
    }

    /// One bookmark.
    struct Bookmark: Sendable {
        /// The bookmark's own number.
        let id: Int64
        let work: WorkID
        /// Whether the work has been deleted since.
        let isGone: Bool
    }

    /// The bookmarks of a user, newest first; hidden ones are shown to nobody else.
    func bookmarks(of user: UserID, hidden: Bool) -> [Bookmark] {
        var chance = Chance(universe.seed, 0x14, UInt64(bitPattern: user.rawValue), hidden ? 1 : 0)
        let count =
            user == Landmarks.visitor
            ? (hidden ? Self.visitorsHidden : Self.visitorsBookmarks) : hidden ? 0 : chance.below(Self.mostBookmarks)
        let newest = universe.newest(at: now)
        var seen: Set<WorkID> = []
        var bookmarks: [Bookmark] = []
        for index in 0..<count {
            let slot: Slot =
                chance.oneIn(Self.specialEvery)
                ? .special(author: 0, work: chance.below(SpecialAuthor.all[0].works))
                : .ranking(day: chance.within(Self.days), mode: 0, rank: chance.within(1...Universe.ranks))
            guard universe.exists(slot, newest: newest), seen.insert(slot.work).inserted,
                universe.authors.author(of: slot) != user
            else { continue }
            let isGone = bookmarks.count % Self.goneEvery == Self.firstGone
            bookmarks.append(
                Bookmark(id: Self.firstBookmark - Int64(index) * Self.bookmarkStep, work: slot.work, isGone: isGone))
        }
        return bookmarks
    }

    /// The works among a user's bookmarks.
    func bookmarkedWorks(of user: UserID) -> Set<WorkID> {
        Set([false, true].flatMap { bookmarks(of: user, hidden: $0) }.filter { !$0.isGone }.map(\.work))
    }

    /// What records of works tell of a user's bookmark; null without one.
    func bookmark(of user: UserID, on work: WorkID) -> JSONText {
        for hidden in [false, true] {
            guard let found = bookmarks(of: user, hidden: hidden).first(where: { $0.work == work && !$0.isGone }) else {
                continue
            }
            return Self.data(found, hidden: hidden)
        }
        return .null
    }

    /// A bookmark as records tell of it.
    static func data(_ bookmark: Bookmark, hidden: Bool) -> JSONText {
        .object([("id", .text("\(bookmark.id)")), ("private", .flag(hidden))])
    }

    /// The authors that a user follows, last followed first; hidden ones are shown to nobody else.
    func following(of user: UserID, hidden: Bool = false) -> [UserID] {
        var chance = Chance(universe.seed, 0x15, UInt64(bitPattern: user.rawValue), hidden ? 1 : 0)
        if user == Landmarks.fan { return hidden ? [] : followedByFan(&chance) }
        let isVisitor = user == Landmarks.visitor
        var count = isVisitor ? (hidden ? Self.visitorsHidden : Self.visitorsAuthors) : hidden ? 0 : chance.below(41)
        var authors: [UserID] = []
        if isVisitor, !hidden {
            authors = SpecialAuthor.all.map { UserID(rawValue: $0.id) }.filter { $0 != user }
            count -= authors.count
        }
        for _ in 0..<count {
            let author = anyAuthor(&chance)
            if !authors.contains(author), author != user { authors.append(author) }
        }
        return authors
    }

    /// As many authors as the fan follows, each once.
    private func followedByFan(_ chance: inout Chance) -> [UserID] {
        var authors: [UserID] = []
        var seen: Set<UserID> = []
        while authors.count < Self.fansAuthors {
            let author = anyAuthor(&chance)
            if seen.insert(author).inserted { authors.append(author) }
        }
        return authors
    }

    /// A rank that never is a carried one, of a day long ago: its author has a work at every moment.
    private func anyAuthor(_ chance: inout Chance) -> UserID {
        universe.authors.author(
            of: Slot.ranking(day: chance.below(Self.days.lowerBound), mode: 0, rank: 1 + chance.below(9)))
    }

    // MARK: -

    /// Draws, of which one in five finds no work: some 120 bookmarks, three requests of 48.
    private static let visitorsBookmarks = 150
    private static let visitorsAuthors = 40
    private static let visitorsHidden = 6
    /// Eighty-eight requests of 24.
    private static let fansAuthors = 2100
    private static let mostBookmarks = 70
    private static let specialEvery = 4
    /// The third row of each sixty is of a deleted work.
    private static let goneEvery = 60
    private static let firstGone = 2
    /// Days since the first ranking, 2015 to 2023.
    private static let days = 2700...5900
    private static let firstBookmark: Int64 = 15_832_784_479
    private static let bookmarkStep: Int64 = 7_919
}
