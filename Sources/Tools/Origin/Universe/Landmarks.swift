import Rankings

/// Places of every universe, whatever its seed, that hold what tests and demonstrations look for; `landmarks.json` has the list.
///
/// * On pixiv the visitor, user 1000, draws nothing, has bookmarks and follows authors; `PHPSESSID=1000_visitorsecret` is a valid
///   session of theirs, as is any `<number of an author>_<at least 8 letters or digits>`. The fan, user 1008, follows 2,100 authors.
/// * Author 1007, 見本, has works numbered from 900600000, one for each thing that few works have.
/// * Rank 77 of every day of `daily` (unless that rank is missing): the original answers 500 for good.
/// * Rank 78, likewise: listed, and not shown in this country.
/// * On boards, the first posts of 2024-04-30 are its best, in the order of the list: the best has 5000 points, each other one ten
///   fewer. All have the rating that everybody sees.
enum Landmarks {
    /// The works of author 1007, and the posts of boards, in the order of their numbers.
    static let works = list["works"].elements
    static let posts = list["posts"].elements
    private static let list = JSON(PackageResources.landmarks_json) ?? .null

    /// The visitor, who has bookmarks and follows authors, and a user who draws nothing and follows 2,100 authors.
    static let visitor: Int64 = 1000
    static let fan: Int64 = 1008
    /// The author of the works.
    static let author: Int64 = 1007
    /// A tag that exactly three works have.
    static let rareTag = "三枚だけの札"
    /// A tag whose search takes too long for Danbooru.
    static let slowTag = "slow_query"
    /// An artist of many posts.
    static let busyArtist = "busy_artist"
    /// The day of the posts.
    static let day = Day(ordinal: 19_843)  // 2024-04-30

    private static let brokenRank = 77
    private static let hiddenRank = 78

    /// The number of a landmark.
    static func id(_ name: String, _ service: Service) -> Int64 {
        let place = (service.isBoard ? posts : works).firstIndex { $0["name"].string == name } ?? 0
        guard service.isBoard else {
            return Slot(day: 0, number: place, author: SpecialAuthor.place(author)).id(service)
        }
        return Slot(day: day.ordinal - service.firstDay.ordinal, number: place).id(service)
    }

    /// The place of a slot among the works.
    static func work(_ slot: Slot) -> Int? {
        slot.author.flatMap { SpecialAuthor.all[$0].id == author ? slot.number : nil }
    }

    /// The place of a slot among the posts of a board.
    static func post(_ slot: Slot, _ service: Service) -> Int? {
        service.isBoard && slot.day == day.ordinal - service.firstDay.ordinal && slot.number < posts.count
            ? slot.number : nil
    }

    /// Makes a post what it is for; leaves all others alone.
    static func furnish(_ post: inout Post, _ universe: Universe) {
        if let place = self.post(post.slot, universe.service) {
            furnishPost(&post, place, universe.service)
        } else if let place = work(post.slot) {
            furnishWork(&post, place)
        } else if !universe.service.isBoard, let (mode, rank) = Mode.place(post.slot), mode.index == 0 {
            if rank == brokenRank { post.flags.insert(.broken) }
            if rank == hiddenRank { post.flags.insert(.elsewhere) }
        }
    }

    private static func flags(_ list: JSON) -> [Post.Flag] {
        list.elements.compactMap { $0.string.flatMap(Post.Flag.init(rawValue:)) }
    }

    private static func furnishPost(_ post: inout Post, _ place: Int, _ service: Service) {
        let mark = posts[place]
        let isDanbooru = service == .danbooru
        post.rating = isDanbooru ? .general : .sensitive
        post.upScore = 5000 - 10 * place
        post.downScore = 0
        post.parent = mark["name"].string == "child" ? id("plain", service) : nil
        post.flags = Set(flags(mark["flags"]) + flags(mark[isDanbooru ? "danbooru" : "moebooru"]))
        post.source =
            switch mark["source"].string {
            case "original": .pixivOriginal(118_000_001)
            case "page": .pixivPage(118_000_002)
            case "text": .text(0)
            case "none": .none
            default: .page(place)
            }
    }

    private static func furnishWork(_ work: inout Post, _ place: Int) {
        let mark = works[place]
        // From 2023-01-01 on, at noon.
        let day = Day(ordinal: 19_358 + place)
        work.created = (Service.pixiv.begin(of: day) + 43_200 + Int64(place)) * 1000
        work.kind = WorkKind(rawValue: Int(mark["kind"].number ?? 0)) ?? .illustration
        work.format = mark["format"].string.flatMap(Format.init(rawValue:)) ?? .jpg
        work.pages = mark["pages"].elements.compactMap { size in
            guard let width = size.elements.first?.number, let height = size.elements.last?.number else { return nil }
            return PixelSize(width: Int(width), height: Int(height))
        }
        work.hash = nil
        work.aiType = mark["ai"].number ?? 1
        work.flags = Set(flags(mark["flags"]))
    }

    /// The format of a landmark's file, and its place among the models of that format; nil leaves the choice to the rank.
    static func file(_ slot: Slot, _ service: Service) -> (format: Format, model: Int?, place: Int)? {
        guard let place = post(slot, service) else { return nil }
        let format = posts[place]["format"].string.flatMap(Format.init(rawValue:)) ?? .jpg
        // Moebooru has neither archives nor AVIF.
        let isNone = service != .danbooru && (format == .zip || format == .avif)
        return (isNone ? .gif : format, posts[place]["model"].number.map { Int($0) }, place)
    }

    /// Gives a landmark the tags that it is for.
    static func furnish(_ found: inout Set<Int>, _ post: Post, _ universe: Universe) {
        guard let place = self.post(post.slot, universe.service) else { return }
        let tags = universe.tags
        func only(_ kind: Tag.Kind, _ places: Int...) {
            found = found.filter { tags.all[$0].kind != kind }.union(places)
        }
        switch posts[place]["name"].string {
        case "withoutArtist": only(.artist)
        case "threeArtists": only(.artist, tags.artists[0], tags.artists[1], tags.artists[2])
        case "hostileTags": found = Set(tags.hostile)
        case "manyTags": found.formUnion(tags.general + tags.characters.joined())
        default:
            only(.artist, tags.artists[place])
            only(.copyright, tags.copyrights[0])
            only(.character, tags.characters[0][0])
        }
        if place == 0, universe.service == .danbooru { found.insert(tags.place("highres")) }
    }
}
