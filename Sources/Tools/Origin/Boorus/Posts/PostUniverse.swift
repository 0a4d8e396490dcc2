import Rankings

/// The posts of a booru as a pure function of a seed: nothing is stored, everything is found again.
///
/// ## Concurrency
/// May be used from any thread; the drawn models are shared and guarded by themselves.
struct PostUniverse: Sendable {
    let seed: UInt64
    let site: ServedSite
    let models: PostModels

    init(seed: UInt64, site: ServedSite) {
        self.seed = seed
        self.site = site
        models = PostModels(seed: seed)
    }

    /// The post of a number, if it exists at a moment in Unix seconds.
    func post(_ id: Int64, now: Int64) -> ServedPost? {
        guard let slot = PostSlot(id: id, site: site) else { return nil }
        let post = post(slot)
        return post.created <= now * 1000 ? post : nil
    }

    /// The posts of a day that exist at a moment, in the order of upload.
    func posts(on day: Day, now: Int64) -> [ServedPost] {
        let offset = day.ordinal - site.firstDay.ordinal
        guard offset >= 0, site.begin(of: day) <= now else { return [] }
        var posts: [ServedPost] = []
        for number in 0..<site.posts(onDay: offset) {
            let post = post(PostSlot(day: offset, number: number))
            guard post.created <= now * 1000 else { break }
            posts.append(post)
        }
        return posts
    }

    /// The post of a place, which must be one.
    func post(_ slot: PostSlot) -> ServedPost {
        let id = slot.id(site)
        var chance = Chance(seed, Self.stream(site), UInt64(bitPattern: id))
        var post = ServedPost(
            slot: slot, id: id, created: created(slot, &chance), file: file(slot, id: id), rating: rating(&chance),
            upScore: score(&chance), downScore: chance.oneIn(4) ? -chance.below(4) : 0,
            uploader: chance.within(1_000...1_400_000), source: source(&chance))
        if !site.isDanbooru { post.uploader = Uploaders.settled(post.uploader) }
        let isParent = slot.number % Self.familyEvery == Self.familyEvery - 2
        let isChild = slot.number % Self.familyEvery == Self.familyEvery - 1
        post.hasChildren = isParent && slot.number + 1 < site.posts(onDay: slot.day)
        if isChild { post.parent = id - 1 }
        post.isBanned = site.isDanbooru && chance.oneIn(Self.bannedEvery)
        post.isRestricted = site.isDanbooru && chance.oneIn(Self.restrictedEvery)
        post.isDeleted = chance.oneIn(Self.deletedEvery)
        post.isPending = !post.isDeleted && chance.oneIn(Self.pendingEvery)
        post.isExpunged = chance.oneIn(Self.expungedEvery)
        post.isHeld = !site.isDanbooru && chance.oneIn(Self.pendingEvery)
        PostLandmark.furnish(&post, site)
        return post
    }

    /// Which file a post has.
    func file(_ slot: PostSlot, id: Int64) -> ServedPostFile {
        var chance = Chance(seed, Self.stream(site) ^ 0xf11e, UInt64(bitPattern: id))
        let format = format(slot, &chance)
        var file = ServedPostFile(
            model: chance.pick(PostModel.numbers(format)), level: chance.within(Self.leastLevel...DrawnModel.levels),
            noise: chance.below(ServedPostFile.mostNoise), salt: chance.next())
        PostLandmark.furnish(&file, slot, site)
        return file
    }

    /// The bytes of a post's original; nil without memory.
    func original(_ post: ServedPost) -> (model: DrawnModel, length: Int, digest: OriginDigest)? {
        models.drawn(post.file.model).map { ($0, $0.length(post.file), $0.digest(post.file)) }
    }

    // MARK: -

    private static let familyEvery = 40
    /// What is small by itself has 40 KB at least.
    private static let leastLevel = 3
    private static let bannedEvery = 150
    private static let restrictedEvery = 300
    private static let deletedEvery = 60
    private static let pendingEvery = 80
    /// Variants were missing for 1 of 60 posts (reference, 3.2).
    private static let expungedEvery = 60

    /// Different sites have different posts.
    private static func stream(_ site: ServedSite) -> UInt64 {
        switch site {
        case .danbooru: 0x0db
        case .yandere: 0x07a
        case .konachan: 0x060
        }
    }

    private func created(_ slot: PostSlot, _ chance: inout Chance) -> Int64 {
        let day = site.firstDay.advanced(by: slot.day)
        let begin = site.begin(of: day)
        let length = (site.begin(of: day.advanced(by: 1)) - begin) * 1000
        let count = Int64(site.posts(onDay: slot.day))
        // each in a part of the day of its own, so that numbers grow with time
        return begin * 1000 + (Int64(slot.number) * length + Int64(chance.below(Int(length)))) / count
    }

    /// Danbooru: of the 200 best of a day 128 were JPEG, 61 PNG, 10 MP4 and 1 an archive (reference, 3.2).
    private func format(_ slot: PostSlot, _ chance: inout Chance) -> ServedFormat {
        let draw = chance.below(1000)
        guard site.isDanbooru else {
            return draw < 640 ? .jpg : draw < 990 ? .png : draw < 996 || slot.day > Self.lastFlash ? .gif : .swf
        }
        switch draw {
        case ..<635: return .jpg
        case ..<930: return .png
        case ..<970: return .mp4
        case ..<978: return .webm
        case ..<985: return .zip
        case ..<992: return .gif
        case ..<996: return .webp
        case ..<998: return .avif
        default: return slot.day > Self.lastFlash ? .webp : .swf
        }
    }

    /// Flash ended in 2020.
    private static let lastFlash = 4500

    private func rating(_ chance: inout Chance) -> ServedRating {
        let draw = chance.below(100)
        if site.isDanbooru {
            return draw < 48 ? .general : draw < 74 ? .sensitive : draw < 90 ? .questionable : .explicit
        }
        return draw < 60 ? .sensitive : draw < 88 ? .questionable : .explicit
    }

    /// Many have few points and few many; on Moebooru many have the same.
    private func score(_ chance: inout Chance) -> Int {
        let draw = chance.unit()
        let steep = draw * draw * draw
        return Int(steep * steep * (site.isDanbooru ? 320 : 90)) + chance.below(site.isDanbooru ? 12 : 5)
    }

    private func source(_ chance: inout Chance) -> ServedPostSource {
        let number = chance.within(1_000...90_000)
        let work = Int64(chance.within(70_000_000...148_000_000))
        switch chance.below(10) {
        case 0: return .nothing
        case 1...4: return .page(number)
        case 5...7: return .pixivOriginal(work)
        case 8: return .pixivPage(work)
        default: return .text(number)
        }
    }
}
