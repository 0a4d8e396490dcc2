import Rankings

/// The position of a post: a day of its service, counted from the first, and the position among the day's posts.
///
/// All facts about a post follow from it, and it follows from the post's number: numbers grow with time. On pixiv, the position
/// within the day is a mode and a rank (``Mode``), and the works of a named author have numbers of their own.
struct Slot: Hashable, Sendable {
    let day: Int
    let number: Int
    /// For a work of a named author, the author's index in ``SpecialAuthor/all``; `number` counts the works and `day` is 0.
    var author: Int?

    /// The first number of the named authors' works, which follow those of rankings.
    private static let namedID: Int64 = 900_000_000
    private static let namedStride: Int64 = 100_000
    /// A bound far beyond the posts of this century.
    private static let mostID: Int64 = 1 << 31

    init(day: Int, number: Int, author: Int? = nil) {
        self.day = day
        self.number = number
        self.author = author
    }

    /// The slot of a post's number; nil for a number that no post can have.
    init?(id: Int64, _ service: Service) {
        if !service.isBoard, id >= Self.namedID {
            let place = id - Self.namedID
            guard let author = Int(exactly: place / Self.namedStride), author < SpecialAuthor.all.count,
                place % Self.namedStride < SpecialAuthor.all[author].works
            else { return nil }
            self.init(day: 0, number: Int(place % Self.namedStride), author: author)
            return
        }
        guard id >= service.firstID, id < Self.mostID else { return nil }
        let place = Int(id - service.firstID)
        self.init(day: place / service.stride, number: place % service.stride)
    }

    /// The post's number.
    func id(_ service: Service) -> Int64 {
        if let author { return Self.namedID + Int64(author) * Self.namedStride + Int64(number) }
        return service.firstID + Int64(day) * Int64(service.stride) + Int64(number)
    }
}

/// A work or post without its texts: title, tags, caption and source page.
struct Post: Sendable {
    let slot: Slot
    let id: Int64
    /// The time of upload in Unix milliseconds.
    var created: Int64
    var kind = WorkKind.illustration
    var format: Format
    /// The size in pixels of each page's original; boards have one page.
    var pages: [PixelSize]
    var rating = Rating.general
    var upScore: Int
    /// The points against the post, at most 0.
    var downScore = 0
    var views = 0
    /// The author on pixiv, the uploader on boards.
    var account: Int64
    var parent: Int64?
    var source = Source()
    /// The digits in some newer paths of pixiv's.
    var hash: String?
    /// 0 unknown, 1 drawn by hand, 2 made with AI.
    var aiType: Int64 = 0
    var flags: Set<Flag> = []
    /// The original of a board's post.
    var file: ModelFile?
    /// The record of a recorded post.
    var recorded: JSON?

    var score: Int { upScore + downScore }
    /// The time of upload in Unix seconds.
    var seconds: Int64 { created / 1000 }

    /// The rating of a post, by how explicit it is; R-18 on pixiv is explicit.
    enum Rating: String, CaseIterable, Sendable {
        case general = "g"
        /// "Sensitive" on Danbooru, "safe" on Moebooru.
        case sensitive = "s"
        case questionable = "q"
        case explicit = "e"
    }

    /// The rare properties of posts, by their names in the landmarks.
    enum Flag: String, Sendable {
        case deleted, pending, flagged
        /// The post has children.
        case parent
        /// Removed at the artist's request: its record has no addresses.
        case banned
        /// For paying members only: its record has no addresses and no reason.
        case restricted
        /// Without renditions on Danbooru; shown in no index on Moebooru.
        case expunged
        /// Held back by Moebooru until it is released.
        case held
        /// Shown to signed-in users only.
        case masked
        /// Listed, and not shown in this country.
        case elsewhere
        /// The image host always answers 500 for the original.
        case broken
        /// R-18G.
        case grotesque
        case original
        /// The pictures of an animation have no `_p0` in their names.
        case unmarked
        /// The second of three comics.
        case series

        /// The flag of a fact named `isName`.
        init?(fact: String) {
            guard fact.hasPrefix("is") else { return nil }
            self.init(rawValue: fact.dropFirst(2).lowercased())
        }
    }

    /// The declared source of a post.
    struct Source: Sendable {
        /// The source as in the record.
        var text = ""
        /// The work on pixiv that the source names.
        var work: Int64?

        /// A page on another site.
        static func page(_ number: Int) -> Source {
            let pages = Words.list("sources.pages")
            return Source(text: pages[number % pages.count] + "\(1_700_000_000_000_000_000 + number * 7_919)")
        }
    }
}

// MARK: - Parts of numbers on pixiv

/// A ranking of pixiv's by its `mode=`, with the values of `content=` that can limit it.
struct Mode: Sendable {
    let name: String
    let contents: [String]
    /// The index of the mode, which is a part of works' numbers.
    fileprivate(set) var index = 0

    /// Whether the mode is for signed-in users only.
    var needsSignIn: Bool { name.contains("r18") }
    /// Whether the mode ranks works made with AI, which the service has had since 2022 only.
    var isAI: Bool { name.hasSuffix("_ai") }
    /// The number of its ranks.
    var ranks: Int { name == "r18g" ? 50 : needsSignIn ? 100 : 500 }
    /// The first ranked day; for the AI rankings 2022-10-31.
    var firstDay: Day { isAI ? Day(ordinal: 19_296) : Service.pixiv.firstDay }

    private static let all3 = ["illust", "manga", "ugoira"]
    private static let some = ["illust", "manga"]

    /// All modes by their index, which is packed into works' numbers: append only.
    static let all: [Mode] = [
        ("daily", all3), ("weekly", all3), ("monthly", some), ("male", some), ("female", some), ("rookie", some),
        ("original", []), ("daily_ai", []), ("daily_r18", all3), ("weekly_r18", all3), ("male_r18", some),
        ("female_r18", some), ("r18g", []), ("daily_r18_ai", []),
    ].enumerated().map { Mode(name: $1.0, contents: $1.1, index: $0) }

    /// The mode of a name.
    static func named(_ name: String) -> Mode? { all.first { $0.name == name } }

    private static let rankBits = 9

    /// The mode and the rank at which a work first appeared; nil for a work that never was ranked.
    static func place(_ slot: Slot) -> (mode: Mode, rank: Int)? {
        let (index, rank) = (slot.number >> rankBits, slot.number & (1 << rankBits - 1))
        guard slot.author == nil, index < all.count, (1...all[index].ranks).contains(rank) else { return nil }
        return (all[index], rank)
    }

    /// The slot of a rank on a day, with days counted from the first one.
    func slot(_ day: Int, _ rank: Int) -> Slot {
        Slot(day: day, number: index << Self.rankBits | rank)
    }
}

/// An author of pixiv's with a given number of works, for tests.
struct SpecialAuthor: Sendable {
    let id: Int64
    let name: String
    let works: Int
    /// One work in this many is a comic.
    let mangaEvery: Int

    /// The authors; the index of each is part of its works' numbers: append only.
    static let all = Landmarks.list["authors"].elements.map { author in
        SpecialAuthor(
            id: author["id"].number ?? 0, name: author["name"].string ?? "", works: Int(author["works"].number ?? 0),
            mangaEvery: Int(author["mangaEvery"].number ?? 1000))
    }

    /// The index of an author in ``all``.
    static func place(_ id: Int64) -> Int? { all.firstIndex { $0.id == id } }
}

/// A work that searches can find, with its tags as indices.
typealias SearchedWork = (work: Post, tags: [Int])
