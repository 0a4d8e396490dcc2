import Rankings

/// The mapping between pixiv's authors and works, computed in both directions without storage.
///
/// A multiplication scatters the slots of all rankings; neighbours in the scattered order share an author: of 256 slots half belong
/// to the first, a quarter to the second, and so on; about one of these slots in five is a work. So the author of a slot and the
/// slots of an author are both computed, and an author's page lists all of the author's ranked works.
extension Universe {
    /// Bits of a scattered slot: the days to 2052, and the numbers of a day.
    private static let bits = 27
    private static let mask = 1 << bits - 1
    private static let blockBits = 8
    /// Factors inverse modulo 2^27; the second is close to 2^27 divided by the golden ratio, so that slots lie far apart.
    private static let scatter = 54_621_957
    private static let gather = 82_951_629
    private static let firstAuthor: Int64 = 100_000
    /// Authors of a block, and bits for them in authors' numbers.
    private static let parts = 6
    private static let partBits = 3

    private var key: Int { Int(seed & UInt64(Self.mask)) }

    /// The author of a slot.
    func author(of slot: Slot) -> Int64 {
        if let author = slot.author { return SpecialAuthor.all[author].id }
        let place = ((slot.day * service.stride + slot.number) ^ key) &* Self.scatter & Self.mask
        let (block, low) = (place >> Self.blockBits, UInt8(place & 255))
        return Self.firstAuthor + Int64(block << Self.partBits | min((~low).leadingZeroBitCount, Self.parts - 1))
    }

    /// All slots of an author, also those of days to come; nil if there is no such author.
    func slots(of author: Int64) -> [Slot]? {
        if let place = SpecialAuthor.place(author) {
            return (0..<SpecialAuthor.all[place].works).map { Slot(day: 0, number: $0, author: place) }
        }
        let number = author - Self.firstAuthor
        guard number >= 0, number < 1 << (Self.bits - Self.blockBits + Self.partBits) else { return nil }
        let (block, part) = (Int(number) >> Self.partBits, Int(number) & (1 << Self.partBits - 1))
        guard part < Self.parts else { return nil }
        let end = part == Self.parts - 1 ? 256 : 256 - 128 >> part
        return (256 - 256 >> part..<end).map { low in
            let index = ((block << Self.blockBits | low) &* Self.gather & Self.mask) ^ key
            return Slot(day: index / service.stride, number: index % service.stride)
        }
    }

    /// The existing works of an author that a viewer may list, highest number first; nil if there is no such author.
    func works(of author: Int64, now: Int64, for viewer: Viewer = .anonymous) -> [Slot]? {
        let newest = newest(at: now)
        return slots(of: author)?.filter { slot in
            exists(slot, newest: newest) && (viewer.isSignedIn || Mode.place(slot)?.mode.needsSignIn != true)
        }.sorted { $0.id(service) > $1.id(service) }
    }

    /// An author's pen name.
    func name(of author: Int64) -> String {
        if let place = SpecialAuthor.place(author) { return SpecialAuthor.all[place].name }
        var chance = chance(0xa2, author)
        let name = (0..<chance.within(2...4)).map { _ in chance.pick(Words.list("titles.syllables")) }.joined()
        return name + chance.pick(Words.list("titles.suffixes"))
    }

    /// The moment of an author's last change of portrait, in Unix seconds; nil for an author without one.
    func portraitSeconds(of author: Int64) -> Int64? {
        var chance = chance(0x13, author)
        guard !chance.oneIn(12), author != 1003 else { return nil }
        return service.begin(of: service.firstDay.advanced(by: chance.below(5500))) + Int64(chance.below(86_400))
    }

    /// The address of an author's portrait, 50 or 170 pixels wide.
    func portrait(of author: Int64, side: Int) -> String {
        guard let seconds = portraitSeconds(of: author) else {
            return "https://s.pximg.net/common/images/no_profile\(side == 50 ? "_s" : "").png"
        }
        var chance = chance(0x14, author)
        return "https://i.pximg.net/user-profile/img/\(Moment.path(seconds))/\(author)_\(chance.digits())_\(side).jpg"
    }
}

/// The viewer of pixiv.
enum Viewer: Hashable, Sendable {
    case anonymous
    /// A viewer with an invalid or expired session.
    case rejected
    case signedIn(Int64)

    /// The signed-in user.
    var user: Int64? {
        if case .signedIn(let user) = self { user } else { nil }
    }

    /// Whether content for signed-in users may be shown.
    var isSignedIn: Bool { user != nil }

    /// Whether the viewer may know that a work exists but not see it.
    func isKept(from work: Post) -> Bool {
        !isSignedIn && (work.flags.contains(.masked) || work.rating == .explicit)
    }
}

/// The bookmarks and followed authors of pixiv's users, the same at every moment.
extension Universe {
    /// One bookmark.
    struct Bookmark: Sendable {
        /// The bookmark's own number.
        let id: Int64
        let slot: Slot
        /// Whether the work has been deleted since.
        let isGone: Bool
    }

    /// Slots drawn, of which one in five holds no work: some 120 bookmarks, three requests of 48.
    private static let visitorsBookmarks = 150
    /// Authors that the fan follows: eighty-eight requests of 24.
    private static let fansAuthors = 2100
    private static let visitorsAuthors = 40
    /// Days since the first ranking: 2015 to 2023.
    private static let bookmarkedDays = 2700...5900

    /// The bookmarks of a user, newest first.
    func bookmarks(of user: Int64, now: Int64) -> [Bookmark] {
        var chance = chance(0x14, user)
        let count = user == Landmarks.visitor ? Self.visitorsBookmarks : chance.below(70)
        let newest = newest(at: now)
        var (seen, bookmarks): (Set<Slot>, [Bookmark]) = ([], [])
        for index in 0..<count {
            let slot =
                chance.oneIn(4)
                ? Slot(day: 0, number: chance.below(SpecialAuthor.all[0].works), author: 0)
                : Mode.all[0].slot(chance.within(Self.bookmarkedDays), chance.within(1...500))
            guard exists(slot, newest: newest), author(of: slot) != user, seen.insert(slot).inserted else { continue }
            // The third row of each sixty is of a deleted work.
            let isGone = bookmarks.count % 60 == 2
            bookmarks.append(Bookmark(id: 15_832_784_479 - Int64(index) * 7_919, slot: slot, isGone: isGone))
        }
        return bookmarks
    }

    /// The authors that a user follows, most recently followed first.
    func following(of user: Int64) -> [Int64] {
        var chance = chance(0x15, user)
        let isVisitor = user == Landmarks.visitor
        var authors = isVisitor ? SpecialAuthor.all.map(\.id).filter { $0 != user } : []
        var seen = Set(authors + [user])
        let count = isVisitor ? Self.visitorsAuthors : user == Landmarks.fan ? Self.fansAuthors : chance.below(41)
        while authors.count < count {
            // A slot of a rank that is never carried, on an early day: its author has a work at every moment.
            let slot = Mode.all[0].slot(chance.below(Self.bookmarkedDays.lowerBound), 1 + chance.below(9))
            let author = author(of: slot)
            if seen.insert(author).inserted { authors.append(author) }
        }
        return authors
    }
}
