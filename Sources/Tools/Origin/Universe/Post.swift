import Rankings

/// A place of a post: a day of its service, counted from the first, and the place among the day's posts.
///
/// Everything about a post follows from it, and it from the post's number: numbers grow with time. On pixiv, the place within the day
/// is a mode and a rank (``Mode``), and the works of a named author have numbers of their own.
struct Slot: Hashable, Sendable {
    let day: Int
    let number: Int
    /// The place among ``SpecialAuthor/all`` of an author whose works are counted by `number`; `day` is 0 then.
    var author: Int?

    /// A named author's works stand behind those of rankings.
    private static let namedID: Int64 = 900_000_000
    private static let namedStride: Int64 = 100_000
    /// Far beyond the posts of this century.
    private static let mostID: Int64 = 1 << 31

    init(day: Int, number: Int, author: Int? = nil) {
        self.day = day
        self.number = number
        self.author = author
    }

    /// The place of a post's number; nil for one that no post can have.
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

/// A work or post, but for what is made of words: its title, tags, caption and source.
struct Post: Sendable {
    let slot: Slot
    let id: Int64
    /// Unix milliseconds.
    var created: Int64
    var kind = WorkKind.illustration
    var format: Format
    /// Pixels of each page's original; boards have one page.
    var pages: [PixelSize]
    var rating = Rating.general
    var upScore: Int
    /// At most 0.
    var downScore = 0
    var views = 0
    /// The author on pixiv, the uploader on boards.
    var account: Int64
    var parent: Int64?
    var source = Source()
    /// The digits that some newer paths of pixiv carry.
    var hash: String?
    /// 0 unknown, 1 drawn by hand, 2 made with AI.
    var aiType: Int64 = 0
    var flags: Set<Flag> = []
    /// The original of a board's post.
    var file: ModelFile?
    /// The record of one that was recorded.
    var recorded: JSON?

    var score: Int { upScore + downScore }
    /// Unix seconds.
    var seconds: Int64 { created / 1000 }

    /// How much of what everybody may see a post shows; R-18 on pixiv is explicit.
    enum Rating: String, CaseIterable, Sendable {
        case general = "g"
        /// "Sensitive" on Danbooru, "safe" on Moebooru.
        case sensitive = "s"
        case questionable = "q"
        case explicit = "e"
    }

    /// What is true of some posts only, by the names that landmarks have it by.
    enum Flag: String, Sendable {
        case deleted, pending, flagged
        /// Has children.
        case parent
        /// Removed because the artist asked: no address is told.
        case banned
        /// For paying members only: no address is told, and nothing says why.
        case restricted
        /// Danbooru has no renditions any more; Moebooru shows it in no index.
        case expunged
        /// Moebooru keeps it back until somebody says otherwise.
        case held
        /// Shown to signed-in users only.
        case masked
        /// Listed, and not shown in this country.
        case elsewhere
        /// The image host answers 500 for the original, always.
        case broken
        /// R-18G.
        case grotesque
        case original
        /// The pictures of an animation have no `_p0` in their names.
        case unmarked
        /// The second of three comics.
        case series

        /// The flag that answers tell as `isName`.
        init?(fact: String) {
            guard fact.hasPrefix("is") else { return nil }
            self.init(rawValue: fact.dropFirst(2).lowercased())
        }
    }

    /// Where a post says that it comes from.
    struct Source: Sendable {
        /// As the record has it.
        var text = ""
        /// The work of pixiv's that it names.
        var work: Int64?

        /// A page elsewhere.
        static func page(_ number: Int) -> Source {
            let pages = Words.list("sources.pages")
            return Source(text: pages[number % pages.count] + "\(1_700_000_000_000_000_000 + number * 7_919)")
        }
    }
}
