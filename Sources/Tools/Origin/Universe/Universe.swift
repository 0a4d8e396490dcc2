import Rankings
import Synchronization

/// The posts of a service, their authors and rankings as pure functions of a seed: nothing is stored, everything is found again.
///
/// ## Concurrency
/// May be used from any thread; what is kept because it takes long to make is behind locks.
final class Universe: Sendable {
    let seed: UInt64
    let service: Service
    /// Whether 1200-pixel renditions are as large as originals.
    let isLarge: Bool
    let tags: TagTable
    let drawings = Drawings()
    let models: Models
    /// Which posts have the originals of the digests that were told lately.
    let digests = Mutex<[String: Int64?]>([:])
    /// What pixiv's searches look through, made once a day.
    let searched = Mutex<(day: Day, hits: [SearchedWork])?>(nil)

    init(_ configuration: OriginConfiguration) {
        seed = configuration.seed
        service = configuration.service
        isLarge = configuration.large
        tags = service.isBoard ? .boards : .pixiv
        models = Models(seed: configuration.seed)
    }

    /// Decisions about a post or user that no other decision changes.
    func chance(_ salt: UInt64, _ id: Int64) -> Chance {
        Chance(seed, salt, UInt64(bitPattern: id))
    }

    /// The newest day of which there is something at a moment: pixiv's rankings of yesterday appear at noon.
    func newest(at now: Int64) -> Day {
        service.isBoard ? service.day(at: now) : service.day(at: now - 12 * 3600).advanced(by: -1)
    }

    /// The post of a number, if it exists at a moment in Unix seconds.
    func post(_ id: Int64, now: Int64) -> Post? {
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

    /// Whether a slot holds a post of its own that is already known on `newest`.
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
        Landmarks.furnish(&post, self)
        return post
    }

    // MARK: - Boards

    /// One parent and child in so many, and so on.
    private static let familyEvery = 40
    private static let bannedEvery = 150
    private static let restrictedEvery = 300
    private static let deletedEvery = 60
    private static let pendingEvery = 80
    /// Variants were missing for 1 of 60 posts (reference, 3.2).
    private static let expungedEvery = 60

    private func boardPost(_ slot: Slot, _ id: Int64, _ chance: inout Chance) -> Post {
        let isDanbooru = service == .danbooru
        let file = models.file(slot, service)
        let model = Model.all[file.model]
        var post = Post(
            slot: slot, id: id, created: created(slot, &chance), format: model.format, pages: [model.pixels],
            rating: rating(&chance), upScore: score(&chance), downScore: chance.oneIn(4) ? -chance.below(4) : 0,
            account: Int64(chance.within(1_000...1_400_000)), source: source(&chance), file: file)
        if !isDanbooru { post.account = Uploaders.settled(post.account) }
        let family = slot.number % Self.familyEvery
        if family == Self.familyEvery - 2, slot.number + 1 < service.posts(onDay: slot.day) {
            post.flags.insert(.parent)
        }
        if family == Self.familyEvery - 1 { post.parent = id - 1 }
        if isDanbooru, chance.oneIn(Self.bannedEvery) { post.flags.insert(.banned) }
        if isDanbooru, chance.oneIn(Self.restrictedEvery) { post.flags.insert(.restricted) }
        if chance.oneIn(Self.deletedEvery) {
            post.flags.insert(.deleted)
        } else if chance.oneIn(Self.pendingEvery) {
            post.flags.insert(.pending)
        }
        if chance.oneIn(Self.expungedEvery) { post.flags.insert(.expunged) }
        if !isDanbooru, chance.oneIn(Self.pendingEvery) { post.flags.insert(.held) }
        return post
    }

    private func created(_ slot: Slot, _ chance: inout Chance) -> Int64 {
        let day = service.firstDay.advanced(by: slot.day)
        let begin = service.begin(of: day)
        let length = (service.begin(of: day.advanced(by: 1)) - begin) * 1000
        // Each in a part of the day of its own, so that numbers grow with time.
        let part = Int64(slot.number) * length + Int64(chance.below(Int(length)))
        return begin * 1000 + part / Int64(service.posts(onDay: slot.day))
    }

    private func rating(_ chance: inout Chance) -> Post.Rating {
        let draw = chance.below(100)
        if service == .danbooru {
            return draw < 48 ? .general : draw < 74 ? .sensitive : draw < 90 ? .questionable : .explicit
        }
        return draw < 60 ? .sensitive : draw < 88 ? .questionable : .explicit
    }

    /// Many have few points and few many; on Moebooru many have the same.
    private func score(_ chance: inout Chance) -> Int {
        let draw = chance.unit()
        let steep = draw * draw * draw
        let isDanbooru = service == .danbooru
        return Int(steep * steep * (isDanbooru ? 320 : 90)) + chance.below(isDanbooru ? 12 : 5)
    }

    private func source(_ chance: inout Chance) -> Post.Source {
        let number = chance.within(1_000...90_000)
        let work = Int64(chance.within(70_000_000...148_000_000))
        switch chance.below(10) {
        case 0: return .none
        case 1...4: return .page(number)
        case 5...7: return .pixivOriginal(work)
        case 8: return .pixivPage(work)
        default: return .text(number)
        }
    }

    // MARK: - Works

    /// Grew common in 2026.
    private static let hashedEvery = 10
    /// About three entries in a day, never among the first ten.
    private static let maskedEvery = 160
    private static let firstMasked = 10
    /// Older animations are stored as `<id>_master1200.jpg`.
    private static let marksSince = Day(ordinal: 18_262)  // 2020-01-01
    /// The service asks since the day before its AI rankings began; outside of these, one work in so many is made with AI.
    private static let askedSince = Day(ordinal: 19_295)  // 2022-10-30
    private static let aiEvery = 20
    /// Days to spring 2025, over which named authors upload evenly.
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
        if chance.oneIn(Self.hashedEvery) { work.hash = chance.digits() }
        if kind == .animation, uploaded < Self.marksSince { work.flags.insert(.unmarked) }
        if chance.oneIn(3) { work.flags.insert(.original) }
        let isMadeWithAI = chance.oneIn(Self.aiEvery) || place?.mode.isAI == true
        if uploaded >= Self.askedSince { work.aiType = isMadeWithAI ? 2 : 1 }
        guard let (mode, rank) = place else { return work }
        if rank > Self.firstMasked, chance.oneIn(Self.maskedEvery) { work.flags.insert(.masked) }
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

    /// One to ten megapixels; PNGs at most four, which take long to compress.
    private static func pixels(_ format: Format, _ chance: inout Chance) -> PixelSize {
        let (width, height) = chance.pick(shapes)
        let megapixels = chance.between(1, format == .png ? 4 : 10)
        let scale = (megapixels * 1_000_000 / (width * height)).squareRoot()
        return PixelSize(width: Int(width * scale), height: Int(height * scale))
    }
}
