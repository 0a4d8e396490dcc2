import Rankings

/// Slots of every universe, whatever its seed, with content for tests and demonstrations; `landmarks.json` has the list.
///
/// * On pixiv the visitor, user 1000, draws nothing, has bookmarks and follows authors; `PHPSESSID=1000_visitorsecret` is a valid
///   session of this user; so is any `<number of an author>_<at least 8 letters or digits>` for its author. The fan, user 1008,
///   follows 2,100 authors.
/// * Author 1007, 見本, has works numbered from 900600000, one for each rare property of works.
/// * Rank 77 of every day of `daily` (unless that rank is missing): the image host always answers 500 for the original.
/// * Rank 78, likewise: listed, and not shown in this country.
/// * On boards, the first posts of 2024-04-30 are its best, in the order of the list: the best has 5000 points, each other one ten
///   fewer. All have the public rating.
enum Landmarks {
    /// The works of author 1007, and the posts of boards, in the order of their numbers.
    static let works = list["works"].elements
    static let posts = list["posts"].elements
    /// All lists by their names.
    static let list = JSON(PackageResources.landmarks_json) ?? .null

    /// The visitor, a user with bookmarks and followed authors, and the fan, a user without works and with 2,100 followed authors.
    static let visitor: Int64 = 1000
    static let fan: Int64 = 1008
    /// The author of the works.
    static let author: Int64 = 1007
    /// A tag that exactly three works have.
    static let rareTag = "三枚だけの札"
    /// A tag that Danbooru's database cannot search in time.
    static let slowTag = "slow_query"
    /// An artist of many posts.
    static let busyArtist = "busy_artist"
    /// The day of the posts.
    static let day = Day(ordinal: 19_843)  // 2024-04-30

    private static let brokenRank = 77
    private static let hiddenRank = 78

    /// The number of the post of a named landmark.
    static func id(_ name: String, _ service: Service) -> Int64 {
        let place = (service.isBoard ? posts : works).firstIndex { $0["name"].string == name } ?? 0
        guard service.isBoard else {
            return Slot(day: 0, number: place, author: SpecialAuthor.place(author)).id(service)
        }
        return Slot(day: day.ordinal - service.firstDay.ordinal, number: place).id(service)
    }

    /// The landmark at a slot, with its index in the list.
    static func mark(_ slot: Slot, _ service: Service) -> (place: Int, node: JSON)? {
        let isOne =
            service.isBoard
            ? slot.day == day.ordinal - service.firstDay.ordinal && slot.number < posts.count
            : slot.author.map { SpecialAuthor.all[$0].id == author } == true
        return isOne ? (slot.number, (service.isBoard ? posts : works)[slot.number]) : nil
    }

    /// Gives a landmark its properties; leaves other posts unchanged.
    static func furnish(_ post: inout Post, _ service: Service) {
        guard let (place, mark) = mark(post.slot, service) else {
            guard !service.isBoard, let (mode, rank) = Mode.place(post.slot), mode.index == 0 else { return }
            if rank == brokenRank { post.flags.insert(.broken) }
            if rank == hiddenRank { post.flags.insert(.elsewhere) }
            return
        }
        let flags = mark["flags"].elements + mark[service == .danbooru ? "danbooru" : "moebooru"].elements
        post.flags = Set(flags.compactMap { $0.string.flatMap(Post.Flag.init(rawValue:)) })
        guard !service.isBoard else {
            post.rating = service == .danbooru ? .general : .sensitive
            (post.upScore, post.downScore) = (5000 - 10 * place, 0)
            post.parent = mark["name"].string == "child" ? id("plain", service) : nil
            let source = mark["source"]
            post.source = source["text"].string.map { .init(text: $0, work: source["work"].number) } ?? .page(place)
            return
        }
        // From 2023-01-01 on, one a day at noon.
        post.created = (service.begin(of: Day(ordinal: 19_358 + place)) + 43_200 + Int64(place)) * 1000
        post.kind = WorkKind(rawValue: Int(mark["kind"].number ?? 0)) ?? .illustration
        post.format = mark["format"].string.flatMap(Format.init(rawValue:)) ?? .jpg
        post.pages = mark["pages"].elements.map { size in
            let sides = size.elements.compactMap(\.number).map { Int($0) }
            return PixelSize(width: sides.first ?? 1, height: sides.last ?? 1)
        }
        post.hash = nil
        post.aiType = mark["ai"].number ?? 1
    }

    /// The numbers of the models that a landmark's file may have; nil for a random choice.
    static func models(_ slot: Slot, _ service: Service) -> [Int]? {
        guard let (place, mark) = mark(slot, service) else { return nil }
        let format = mark["format"].string.flatMap(Format.init(rawValue:)) ?? .jpg
        // Moebooru has neither archives nor AVIF.
        let isNone = service != .danbooru && (format == .zip || format == .avif)
        let numbers = Model.numbers[isNone ? .gif : format] ?? [0]
        // JPEGs that are no smaller than samples, one after the other.
        let chosen = mark["model"].number.map { Int($0) } ?? (format == .jpg ? 3 + place % 13 : numbers.count - 1)
        return [numbers[chosen]]
    }

    /// Gives a landmark its tags.
    static func furnish(_ found: inout Set<Int>, _ post: Post, _ universe: Universe) {
        guard let (place, mark) = mark(post.slot, universe.service) else { return }
        let tags = universe.tags
        func only(_ kind: Tag.Kind, _ places: some Sequence<Int>) {
            found = found.filter { tags.all[$0].kind != kind }.union(places)
        }
        switch mark["name"].string {
        case "hostileTags": found = Set(tags.hostile)
        case "manyTags": found.formUnion(tags.general + tags.characters.joined())
        default:
            let artists = Int(mark["artists"].number ?? 1)
            only(.artist, tags.artists[(artists == 1 ? place : 0)...].prefix(artists))
            only(.copyright, [tags.copyrights[0]])
            only(.character, [tags.characters[0][0]])
        }
        if place == 0, universe.service == .danbooru { found.insert(tags.place("highres")) }
    }
}
