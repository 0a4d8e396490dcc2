import Rankings
import Synchronization

/// The posts of a service, their authors and rankings as pure functions of a seed: all are computed on demand and none are stored.
///
/// ## Concurrency
/// May be used from any thread; values that take long to make are stored under locks.
final class Universe: Sendable {
    let seed: UInt64
    let service: Service
    /// Whether 1200-pixel renditions are as large as originals.
    let isLarge: Bool
    let tags: TagTable
    /// Recorded posts of a board, which replace the generated ones.
    let recorded: [Post]?
    /// Drawn pictures without their padding: some 400 of 1200 pixels.
    let drawings = Kept<[UInt8]>(budget: 64 << 20)
    let models = Kept<DrawnModel>()
    /// The posts by the digests of their originals, for recently sent digests.
    let digests = Mutex<[String: Int64?]>([:])
    /// The works that pixiv's searches cover, made once a day.
    let searched = Mutex<(day: Day, hits: [SearchedWork])?>(nil)

    init(_ configuration: OriginConfiguration, recorded: [Post]? = nil) {
        self.recorded = recorded
        seed = configuration.seed
        service = configuration.service
        isLarge = configuration.large
        tags = service.isBoard ? .boards : .pixiv
    }

    /// The random decisions about a post or user, independent of any other decisions.
    func chance(_ salt: UInt64, _ id: Int64) -> Chance {
        Chance(seed, salt, UInt64(bitPattern: id))
    }

    /// The newest day with content at a moment: pixiv's rankings of yesterday appear at noon.
    func newest(at now: Int64) -> Day {
        service.isBoard ? service.day(at: now) : service.day(at: now - 12 * 3600).advanced(by: -1)
    }

    /// The post of a number, if it exists at a moment in Unix seconds.
    func post(_ id: Int64, now: Int64) -> Post? {
        if let recorded { return recorded.first { $0.id == id } }
        guard let slot = Slot(id: id, service), exists(slot, newest: newest(at: now)) else { return nil }
        let post = post(slot)
        return !service.isBoard || post.created <= now * 1000 ? post : nil
    }

    /// The posts of a board's day that exist at a moment, in the order of upload.
    func posts(on day: Day, now: Int64) -> [Post] {
        let offset = day.ordinal - service.firstDay.ordinal
        guard offset >= 0, service.begin(of: day) <= now else { return [] }
        return (0..<service.posts(onDay: offset)).map { post(Slot(day: offset, number: $0)) }
            .filter { $0.created <= now * 1000 }
    }

    /// Whether a slot holds a post of its own that is known on day `newest`.
    func exists(_ slot: Slot, newest: Day) -> Bool {
        if slot.author != nil { return true }
        let day = service.firstDay.advanced(by: slot.day)
        guard day <= newest else { return false }
        guard !service.isBoard else { return slot.number < service.posts(onDay: slot.day) }
        guard let (mode, rank) = Mode.place(slot), day >= mode.firstDay else { return false }
        return !isGap(slot) && carried(slot.day, mode, rank) == nil
    }

    /// The post of a slot, which must exist.
    func post(_ slot: Slot) -> Post {
        let id = slot.id(service)
        var chance = chance(service.salt, id)
        var post = service.isBoard ? boardPost(slot, id, &chance) : work(slot, id, &chance)
        Landmarks.furnish(&post, service)
        return post
    }

    // MARK: - Boards

    /// One parent and one child among this many posts.
    private static let familyEvery = 40
    /// Rare flags, each on one post in `every`: on Danbooru, on Moebooru, or on both (nil); variants were missing for 1 of 60
    /// (reference, 3.2).
    private static let rare: [(flag: Post.Flag, every: Int, isDanbooru: Bool?)] = [
        (.banned, 150, true), (.restricted, 300, true), (.deleted, 60, nil), (.pending, 80, nil), (.expunged, 60, nil),
        (.held, 80, false),
    ]

    private func boardPost(_ slot: Slot, _ id: Int64, _ chance: inout Chance) -> Post {
        let isDanbooru = service == .danbooru
        let file = modelFile(slot)
        let model = Model.all[file.model]
        // The distribution has many low scores and few high ones; on Moebooru many scores are equal.
        let (draw, most) = (chance.unit(), isDanbooru ? (320.0, 12) : (90, 5))
        let score = Int(draw * draw * draw * draw * draw * draw * most.0) + chance.below(most.1)
        let rating = chance.below(100)
        let ratings: [(Int, Post.Rating)] =
            isDanbooru
            ? [(48, .general), (74, .sensitive), (90, .questionable)] : [(60, .sensitive), (88, .questionable)]
        var post = Post(
            slot: slot, id: id, created: created(slot, &chance), format: model.format, pages: [model.pixels],
            rating: ratings.first { rating < $0.0 }?.1 ?? .explicit, upScore: score,
            downScore: chance.oneIn(4) ? -chance.below(4) : 0, account: Int64(chance.within(1_000...1_400_000)),
            source: source(&chance), file: file)
        let family = slot.number % Self.familyEvery
        if family == Self.familyEvery - 2, slot.number + 1 < service.posts(onDay: slot.day) {
            post.flags.insert(.parent)
        }
        if family == Self.familyEvery - 1 { post.parent = id - 1 }
        for rare in Self.rare where rare.isDanbooru ?? isDanbooru == isDanbooru && chance.oneIn(rare.every) {
            post.flags.insert(rare.flag)
        }
        return post
    }

    private func created(_ slot: Slot, _ chance: inout Chance) -> Int64 {
        let day = service.firstDay.advanced(by: slot.day)
        let begin = service.begin(of: day)
        let length = (service.begin(of: day.advanced(by: 1)) - begin) * 1000
        // Each post has its own part of the day, so that numbers grow with time.
        let part = Int64(slot.number) * length + Int64(chance.below(Int(length)))
        return begin * 1000 + part / Int64(service.posts(onDay: slot.day))
    }

    private func source(_ chance: inout Chance) -> Post.Source {
        let (number, work) = (chance.within(1_000...90_000), Int64(chance.within(70_000_000...148_000_000)))
        let time = "2024/04/\(11 + work % 19)/00/\(10 + work % 50)/12"
        return switch chance.below(10) {
        case 0: .init()
        case 1...4: .page(number)
        case 5...7: .init(text: "https://i.pximg.net/img-original/img/\(time)/\(work)_p0.png", work: work)
        case 8: .init(text: "https://www.pixiv.net/artworks/\(work)", work: work)
        default: .init(text: chance.pick(Words.list("sources.texts")))
        }
    }

    // MARK: - Works

    /// The day of the first animations with `_p0` in their names; older ones are stored as `<id>_master1200.jpg`.
    private static let marksSince = Day(ordinal: 18_262)  // 2020-01-01
    /// The first day on which the service records whether a work is made with AI: the day before its AI rankings began.
    private static let askedSince = Day(ordinal: 19_295)  // 2022-10-30
    /// Days to spring 2025, over which the uploads of named authors are spread evenly.
    private static let span = 6400

    private func work(_ slot: Slot, _ id: Int64, _ chance: inout Chance) -> Post {
        let place = Mode.place(slot)
        let (draw, second) = (chance.below(100), Int64(chance.below(86_400)))
        var kind: WorkKind = draw < 80 ? .illustration : draw < 96 ? .manga : .animation
        // A ranking shows works of the day before.
        var day = slot.day - 1
        if let author = slot.author.map({ SpecialAuthor.all[$0] }) {
            kind = slot.number % author.mangaEvery == author.mangaEvery - 1 ? .manga : .illustration
            day = slot.number * Self.span / author.works
        }
        let uploaded = service.firstDay.advanced(by: day)
        let format: Format = kind == .animation || !chance.oneIn(3) ? .jpg : .png
        let likes = place.map { 200 + (500 - $0.rank) * chance.within(6...9) } ?? chance.within(10...3000)
        var work = Post(
            slot: slot, id: id, created: (service.begin(of: uploaded) + second) * 1000, kind: kind,
            format: format, pages: pages(kind, format, &chance), upScore: likes, views: likes * chance.within(8...40),
            account: author(of: slot))
        // Digits in paths grew common in 2026.
        if chance.oneIn(10) { work.hash = chance.digits() }
        if kind == .animation, uploaded < Self.marksSince { work.flags.insert(.unmarked) }
        if chance.oneIn(3) { work.flags.insert(.original) }
        let isMadeWithAI = chance.oneIn(20) || place?.mode.isAI == true
        if uploaded >= Self.askedSince { work.aiType = isMadeWithAI ? 2 : 1 }
        guard let (mode, rank) = place else { return work }
        // About three entries in a day, never among the first ten.
        if rank > 10, chance.oneIn(160) { work.flags.insert(.masked) }
        if mode.needsSignIn { work.rating = .explicit }
        if mode.name == "r18g" { work.flags.insert(.grotesque) }
        return work
    }

    private func pages(_ kind: WorkKind, _ format: Format, _ chance: inout Chance) -> [PixelSize] {
        let count: Int
        switch kind {
        case .animation: count = 1
        case .illustration: count = chance.below(4) > 0 ? 1 : chance.within(2...8)
        case .manga: count = chance.oneIn(12) ? chance.within(30...60) : chance.within(2...20)
        }
        let first = Self.pixels(format, &chance)
        return (0..<count).map { $0 == 0 || chance.below(4) > 0 ? first : Self.pixels(format, &chance) }
    }

    private static let shapes: [(Double, Double)] = [
        (1, 1.414), (1, 1.414), (1, 1.5), (1, 2.03), (1.414, 1), (1.778, 1), (1.778, 1), (1, 1), (1, 1.25), (2.4, 1),
    ]

    /// The size of a picture: one to ten megapixels; PNGs at most four, since they take long to compress.
    static func pixels(_ format: Format, _ chance: inout Chance) -> PixelSize {
        let (width, height) = chance.pick(shapes)
        let megapixels = chance.between(1, format == .png ? 4 : 10)
        let scale = (megapixels * 1_000_000 / (width * height)).squareRoot()
        return PixelSize(width: Int(width * scale), height: Int(height * scale))
    }
}
