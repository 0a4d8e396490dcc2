import Rankings

/// The routes for users, their bookmarks and followed authors, and the search.
extension Pixiv.Call {
    /// Works in one request at most.
    private static let maximumIDs = 100
    /// The service's answer for users that do not exist.
    private static let gone = Response.failure(
        "該当ユーザーは既に退会したか、存在しないユーザーIDです", status: 404)

    /// The titles and descriptions for search engines in the answers, which pixiv's own pages use and clients ignore.
    func furniture(_ title: String, _ text: String = "pixiv", page: String) -> [String: JSON] {
        ["pageTitle": .string(title), "pageText": .string(text), "page": .string(page)]
    }

    // MARK: - Users

    /// `/ajax/user/<id>`; with `full=1` the whole profile.
    func profile() -> Response {
        guard universe.slots(of: id) != nil else { return Self.gone }
        let isFull = request.value("full") == "1"
        let name = universe.name(of: id)
        var chance = universe.chance(0x17, id)
        let region = chance.pick(Words.all["regions"].elements).elements
        let comment = "\(name)です。\r\n\(chance.pick(Words.list("remarks")))"
        let page: JSON = chance.oneIn(2) ? .string("https://\(id).example/?a=1&b=2") : .null
        let values: [String: JSON] = [
            "id": .integer(id), "name": .string(name), "image": .string(universe.portrait(of: id, side: 50)),
            "imageBig": .string(universe.portrait(of: id, side: 170)), "premium": .bool(id % 5 == 0),
            "isFollowed": .bool(viewer.user.map { universe.following(of: $0).contains(id) } ?? false),
            "partial": isFull ? 1 : 0, "following": .int(universe.following(of: id).count), "comment": .string(comment),
            "html": .string(Self.html(comment)), "webpage": page, "country": region[0], "code": region[1],
            "prefecture": region[2],
        ]
        return .envelope(Shapes.fill(isFull ? "fullProfile" : "profile", values))
    }

    /// A plain text as HTML.
    private static func html(_ text: String) -> String {
        [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("\r\n", "<br />"), ("\n", "<br />")]
            .reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    /// `/ajax/user/<id>/profile/all`: the numbers of all works, split by kind.
    func allWorks() -> Response {
        guard let works = universe.works(of: id, now: now, for: viewer) else { return Self.gone }
        let kinds = Dictionary(grouping: works) { universe.post($0).kind == .manga }
        func numbers(_ isManga: Bool) -> JSON {
            .mapping((kinds[isManga] ?? []).map { ("\($0.id(universe.service))", .null) })
        }
        let bookmarks = universe.bookmarks(of: id, now: now).count
        return .envelope(
            Shapes.fill(
                "all", ["illusts": numbers(false), "manga": numbers(true), "bookmarks": .int(bookmarks)]))
    }

    /// `/ajax/user/<id>/profile/illusts?ids[]=…`: short records of up to a hundred works.
    func briefWorks() -> Response {
        let ids = request.query.filter { $0.name == "ids[]" }.map(\.value)
        guard (1...Self.maximumIDs).contains(ids.count), request.value("work_category") != nil else {
            return Self.badRequest
        }
        guard universe.slots(of: id) != nil else { return Self.gone }
        let works: Members = ids.compactMap { text in
            guard let work = Int64(text).flatMap({ universe.post($0, now: now) }), work.account == id else {
                return nil
            }
            return (text, facts(work).brief)
        }
        var values = furniture("\(universe.name(of: id)) - pixiv", "", page: "users/\(id)")
        values["works"] = .mapping(works)
        return .envelope(Shapes.fill("works", values))
    }

    private var tagged: [(work: Post, tags: [String])] {
        (universe.works(of: id, now: now, for: viewer) ?? []).map(universe.post).map { work in
            (work, universe.tags(of: work).map { universe.tags.all[$0].name })
        }
    }

    /// `/ajax/user/<id>/illustmanga/tags?all=1`: the tags of a user's works, the most frequent first.
    func tagsOfWorks() -> Response {
        let counts = tagged.flatMap(\.tags).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        let tags = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return .envelope(.array(tags.map { Shapes.fill("countedTag", ["tag": .string($0), "count": .int($1)]) }))
    }

    /// `/ajax/user/<id>/illustmanga/tag?tag=&offset=&limit=48`: a user's works with a tag.
    func worksWithTag() -> Response {
        guard let tag = request.value("tag") else { return Self.badRequest }
        let all = tagged.filter { $0.tags.contains(tag) }.map(\.work)
        return part("bookmarks", of: all, tag) { facts($0).brief }
    }

    // MARK: - Bookmarks and followed authors

    private static let largestPart = 100
    /// The service shows four works with each followed author.
    private static let worksOfAuthor = 4

    /// A part of all rows by offset and limit, each in the form that `row` returns.
    private func part<Row>(_ shape: String, of all: [Row], _ title: String, _ row: (Row) -> JSON) -> Response {
        guard let offset = Int(request.value("offset") ?? "0"), offset >= 0, let limit = request.number("limit"),
            (1...Self.largestPart).contains(limit), request.value("rest") ?? "show" == "show" || isOwnPrivate
        else { return Self.badRequest }
        var values = furniture("\(universe.name(of: id))の\(title)", page: "users/\(id)")
        values["rows"] = .array(all.dropFirst(offset).prefix(limit).map(row))
        values["total"] = .int(all.count)
        return .envelope(Shapes.fill(shape, values))
    }

    /// `/ajax/user/<id>/illusts/bookmarks?tag=&offset=&limit=48&rest=show`.
    func bookmarks() -> Response {
        guard universe.slots(of: id) != nil else { return Self.gone }
        let (tag, month) = (request.value("tag") ?? "", request.value("bm") ?? "")
        let all = universe.bookmarks(of: isOwnPrivate ? -id : id, now: now).filter { bookmark in
            (tag.isEmpty || self.tag(of: bookmark) == tag)
                && (month.isEmpty || self.month(of: bookmark) == "\(month.prefix(4))-\(month.dropFirst(4))")
        }
        return part("bookmarks", of: all, "ブックマーク") { bookmark in
            var facts = facts(universe.post(bookmark.slot))
            if viewer.user == id { facts.bookmark = bookmark.json }
            // The number of a deleted work is a JSON number, not a string (payloads/ajax-user-bookmarks).
            return bookmark.isGone ? facts.fill("gone") : facts.brief
        }
    }

    /// Whether the private list of the viewer's own is requested.
    private var isOwnPrivate: Bool { request.value("rest") == "hide" && viewer.user == id }

    /// The tag that a user gave to a bookmark: the first of the work's own, or none.
    private func tag(of bookmark: Universe.Bookmark) -> String {
        bookmark.id % 3 == 0
            ? "未分類" : universe.tags(of: universe.post(bookmark.slot)).first.map { universe.tags.all[$0].name } ?? "未分類"
    }

    /// The month of a bookmark: twenty-five a month, the last ones of May 2024.
    private func month(of bookmark: Universe.Bookmark) -> String {
        let month = 2024 * 12 + 4 - Int((15_832_784_479 - bookmark.id) / 7_919 / 25)
        return "\(month / 12)-\(month % 12 < 9 ? "0" : "")\(month % 12 + 1)"
    }

    private func counted(_ names: [String], _ name: String, _ count: String) -> JSON {
        let counts = names.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return .array(
            counts.sorted { $0.key > $1.key }.map { .members([(name, .string($0.key)), (count, .int($0.value))]) })
    }

    /// `/ajax/user/<id>/illusts/bookmark/tags`: of public and of private bookmarks apart; another's private ones are not told.
    func bookmarkTags() -> Response {
        func tags(_ list: Int64) -> JSON { counted(universe.bookmarks(of: list, now: now).map(tag), "tag", "cnt") }
        let own = viewer.user == id ? tags(-id) : .array([])
        return .envelope(Shapes.fill("bookmarkTags", ["public": tags(id), "private": own]))
    }

    /// `/ajax/user/<id>/bookmark/periods?rest=show`.
    func bookmarkMonths() -> Response {
        let all = universe.bookmarks(of: isOwnPrivate ? -id : id, now: now)
        return .envelope(counted(all.map(month), "period", "count"))
    }

    /// `/ajax/user/<id>/following?offset=&limit=24&rest=show`.
    func following() -> Response {
        guard universe.slots(of: id) != nil else { return Self.gone }
        let own = Set(viewer.user.map { universe.following(of: $0) } ?? [])
        return part("following", of: universe.following(of: id), "フォローユーザー") { author in
            let works = (universe.works(of: author, now: now, for: viewer) ?? []).prefix(Self.worksOfAuthor)
            let values: [String: JSON] = [
                "id": .integer(author), "name": .string(universe.name(of: author)),
                "image": .string(universe.portrait(of: author, side: 170)), "following": .bool(own.contains(author)),
                "works": .array(works.map { facts(universe.post($0)).brief }),
            ]
            return Shapes.fill("followed", values)
        }
    }

    private func briefs(_ works: some Sequence<Post>) -> JSON { .array(works.map { facts($0).brief }) }

    private static let worksOfFeed = 60
    private static let mostFeedPages = 35

    /// `/ajax/follow_latest/illust?p=N&mode=all|r18`: the followed authors' works, the newest first.
    ///
    /// The last page comes again for each page past the end, and no page is called the last. Users with a number that ends in 7
    /// have R-18 switched off.
    func newWorks() -> Response {
        guard let user = viewer.user, let asked = request.number("p"), asked >= 1,
            let mode = request.value("mode"), ["all", "r18"].contains(mode)
        else { return Self.badRequest }
        let restricted = mode == "r18"
        if restricted, user % 10 == 7 { return Self.badRequest }
        let slots = universe.following(of: user).flatMap { universe.works(of: $0, now: now, for: viewer) ?? [] }
        let works = slots.map(universe.post).filter { !restricted || $0.rating == .explicit }.sorted { $0.id > $1.id }
        let page = min(asked, Self.mostFeedPages, max(1, (works.count + Self.worksOfFeed - 1) / Self.worksOfFeed))
        let shown = works.dropFirst((page - 1) * Self.worksOfFeed).prefix(Self.worksOfFeed)
        let ids = JSON.array(shown.map { .integer($0.id) })
        return .envelope(Shapes.fill("newWorks", ["ids": ids, "briefs": briefs(shown)]))
    }

    // MARK: - Related works and collections

    private static let relatedWorks = 180
    private static let mostRelatedPerRequest = 20

    /// The works related to a work on a day: others with a tag in common, in an order that is another one on the next day.
    private func related(to work: Post) -> [Post] {
        let (day, tags) = (Int64(universe.newest(at: now).ordinal), Set(universe.tags(of: work)))
        let hits = universe.searchedWorks(now: now).filter { hit in
            hit.work.id != work.id && !viewer.isKept(from: hit.work) && hit.tags.contains(where: tags.contains)
        }
        func place(_ work: Post) -> Int64 { (work.id &+ day) &* 2_654_435_761 % 1_000_003 }
        return hits.map(\.work).sorted { place($0) < place($1) }.prefix(Self.relatedWorks).map { $0 }
    }

    /// `/ajax/illust/<id>/recommend/init?limit=18`: the first related works, and the numbers of the others.
    func related() -> Response {
        guard let limit = request.number("limit"), (1...Self.mostRelatedPerRequest).contains(limit) else {
            return Self.badRequest
        }
        guard let work = universe.post(id, now: now) else { return .failure("", status: 404) }
        let all = related(to: work)
        // An advertisement may come in front.
        let advertisement: [JSON] = id % 2 == 0 ? [.members([("isAdContainer", true)])] : []
        let shown = JSON.array(advertisement + all.prefix(limit).map { facts($0).brief })
        let next = JSON.texts(all.dropFirst(limit).map { "\($0.id)" })
        return .envelope(Shapes.fill("related", ["shown": shown, "next": next]))
    }

    /// `/ajax/illust/recommend/illusts?illust_ids[]=…`; works that do not exist are missing.
    func relatedWorks() -> Response {
        let works = request.query.filter { $0.name == "illust_ids[]" }.map { Int64($0.value) ?? 0 }
        guard (1...Self.mostRelatedPerRequest).contains(works.count) else { return Self.badRequest }
        let found = works.compactMap { universe.post($0, now: now) }
        return .envelope(.members([("illusts", briefs(found)), ("nextIds", .array([]))]))
    }

    /// `/ajax/collection/<id>`: collections have numbers above those of 64 bits, which end in the number of an author.
    ///
    /// The author's newest works are in it, between a text and a link; every fifth one comes without a record.
    func collection(_ number: String) -> Response {
        guard number.utf8.count == 20, let author = Int64(number.suffix(8)),
            let slots = universe.works(of: author, now: now, for: .anonymous), !slots.isEmpty
        else { return .failure("", status: 404) }
        let works = slots.prefix(24).map(universe.post)
        func tile(_ shape: String, _ value: JSON) -> JSON {
            Shapes.fill(shape, ["number": .string(number), "value": value])
        }
        let tiles =
            [tile("tile", "Text")] + works.map { tile("workTile", .integer($0.id)) } + [tile("tile", "ExternalUrl")]
        let shown = works.enumerated().filter { $0.offset % 5 != 4 }.map(\.element)
        return .envelope(Shapes.fill("collection", ["tiles": .array(tiles), "briefs": briefs(shown)]))
    }

    // MARK: - Series

    private static let worksOfSeries = 12

    /// The number of an author's series, which the author's own number stands for, too.
    static func series(of author: Int64) -> Int64 { author * 7 + 3 }

    /// `/ajax/series/<id>?p=N`: each author with manga has one series of all of them.
    ///
    /// The last works come first; records of the newest ones come with every page, and another series is named beside this one.
    func series() -> Response {
        guard let page = request.number("p"), page >= 1 else { return Self.badRequest }
        let author = id % 7 == 3 ? id / 7 : id
        let all = (universe.works(of: author, now: now, for: viewer) ?? []).map(universe.post)
            .filter { $0.kind == .manga }
        guard !all.isEmpty else { return .failure("該当作品は削除されたか、存在しない作品IDです。", status: 404) }
        let before = (page - 1) * Self.worksOfSeries
        let shown = all.dropFirst(before).prefix(Self.worksOfSeries)
        let newest = all.prefix(2)
        let places = shown.enumerated().map { place, work in
            Shapes.fill("seriesWork", ["id": .integer(work.id), "order": .int(all.count - before - place)])
        }
        var values = furniture("series \(id)", page: "user/\(author)/series/\(id)")
        values["id"] = .integer(id)
        values["other"] = .integer(id + 1)
        values["author"] = .integer(author)
        values["name"] = .string(universe.name(of: author))
        values["total"] = .int(all.count)
        values["places"] = .array(places)
        values["newest"] = .array(newest.map { .integer($0.id) })
        values["briefs"] = briefs(shown + newest.filter { new in !shown.contains { $0.id == new.id } })
        return .envelope(Shapes.fill("seriesPage", values))
    }

    // MARK: - Search

    /// Slots on a page, of which an advertisement takes one on every other page.
    private static let slots = 60
    private static let advertisement = 12
    private static let mostAnonymousPages = 10
    private static let mostPages = 1000

    /// The routes of searches, with the name that each gives its list.
    static let searches = ["artworks": "illustManga", "illustrations": "illust", "manga": "manga"]

    /// `/ajax/search/artworks/<word>`: works by words of their tags, by whole tags with `s_mode=s_tag_full`, or by their titles.
    ///
    /// A page has 60 entries, one of which may be an advertisement; a page past the end is the last one again.
    func search(_ word: String, _ group: String) -> Response {
        // Only paying members may order by popularity.
        guard let asked = Int(request.value("p") ?? "1"), asked >= 1, request.value("order") ?? "date_d" == "date_d"
        else {
            return Self.badRequest
        }
        let found = hits(word).filter { isWanted($0.work, group) }
        func start(_ page: Int) -> Int { (page - 1) * Self.slots - page / 2 }
        let most = viewer.isSignedIn ? Self.mostPages : Self.mostAnonymousPages
        let last = (1...most).first { start($0 + 1) >= found.count } ?? most
        let page = min(asked, last)
        let shown = found.dropFirst(start(page)).prefix(start(page + 1) - start(page))
        var data = shown.map { facts($0.work).brief }
        if page % 2 == 1, data.count == Self.slots - 1 {
            data.insert(.members([("isAdContainer", true)]), at: Self.advertisement)
        }
        let tags = Set(shown.flatMap(\.tags)).sorted().map { universe.tags.all[$0].name }
        let translations: Members = tags.compactMap { tag in
            Words.all["readings"][tag]["english"].string.map { (tag, .members([("en", .string($0))])) }
        }
        var values = furniture("#\(word) - pixiv", page: "tags/\(word)")
        values["data"] = .array(data)
        values["total"] = .int(found.count)
        values["last"] = .int(last)
        values["related"] = .texts(tags.prefix(16))
        values["translations"] = .mapping(translations)
        // There is no `message` in this envelope.
        guard case .object(let members) = Shapes.fill("search", values) else { return Self.badRequest }
        let body = members.map { (name: $0.name == "illustManga" ? group : $0.name, value: $0.value) }
        return .json(.members([("error", false), ("body", .members(body))]))
    }

    /// Whether a work meets the options of the search; in names of sizes `lt` means "at least".
    private func isWanted(_ work: Post, _ group: String) -> Bool {
        let day = Day.inUTC(atUnixSeconds: work.created / 1000 + Moment.japan)
        if let first = request.value("scd").flatMap({ Day($0) }), day < first { return false }
        if let last = request.value("ecd").flatMap({ Day($0) }), day > last { return false }
        let pixels = work.pages[0]
        if pixels.width < request.number("wlt") ?? 0 || pixels.height < request.number("hlt") ?? 0 { return false }
        let isShape =
            switch request.value("ratio") {
            case "0.5": pixels.width > pixels.height
            case "-0.5": pixels.width < pixels.height
            case "0": pixels.width == pixels.height
            default: true
            }
        let type = request.value("type")
        switch work.kind {
        case .manga: return isShape && group != "illust"
        case .animation: return isShape && group != "manga" && type != "illust"
        case .illustration: return isShape && group != "manga" && type != "ugoira"
        }
    }

    private func hits(_ word: String) -> [SearchedWork] {
        let words = word.lowercased().split(whereSeparator: \.isWhitespace).map { Array($0.utf8) }
        guard !words.isEmpty else { return [] }
        if request.value("s_mode") == "s_tc" {
            return universe.searchedWorks(now: now).filter { hit in
                let title = Array(universe.title(of: hit.work).lowercased().utf8)
                return !viewer.isKept(from: hit.work) && words.allSatisfy { title.firstRange(of: $0) != nil }
            }
        }
        let isWhole = request.value("s_mode") == "s_tag_full"
        // There are only some hundred tags, so that a search compares few texts.
        let names = universe.tags.all.map { Array($0.name.lowercased().utf8) }
        let tagged = words.map { word in
            Set(names.indices.filter { isWhole ? names[$0] == word : names[$0].firstRange(of: word) != nil })
        }
        return universe.searchedWorks(now: now).filter { hit in
            !viewer.isKept(from: hit.work) && tagged.allSatisfy { hit.tags.contains(where: $0.contains) }
        }
    }
}
