import Rankings

/// The routes for users and what they like, and the search.
extension Pixiv.Call {
    /// Works that may be asked for at once.
    private static let maximumIDs = 100
    /// The service's answer for users who are not there.
    private static let gone = Response.failure(
        "該当ユーザーは既に退会したか、存在しないユーザーIDです", status: 404)

    private func brief(_ slots: some Sequence<Slot>) -> JSONText {
        .list(slots.map { facts(universe.post($0)).brief })
    }

    /// What answers carry for pixiv's own pages and no client reads: titles and descriptions for search engines.
    private func furniture(_ title: String, _ text: String = "pixiv", page: String) -> (String) -> JSONText? {
        { name in
            switch name {
            case "pageTitle": .text(title)
            case "pageText": .text(text)
            case "page": .text(page)
            default: nil
            }
        }
    }

    // MARK: - Users

    /// `/ajax/user/<id>`; with `full=1` everything that the author tells.
    func profile() -> Response {
        guard universe.slots(of: id) != nil else { return Self.gone }
        let isFull = request.value("full") == "1"
        let name = universe.name(of: id)
        var chance = universe.chance(0x17, id)
        let region = chance.pick(Words.all["regions"].elements).elements.map { JSONText($0) }
        let comment = "\(name)です。\r\n\(chance.pick(Words.list("remarks")))"
        let page: JSONText = chance.oneIn(2) ? .text("https://\(id).example/?a=1&b=2") : .null
        let values: [String: JSONText] = [
            "id": .integer(id), "name": .text(name), "image": .text(universe.portrait(of: id, side: 50)),
            "imageBig": .text(universe.portrait(of: id, side: 170)), "premium": .flag(id % 5 == 0),
            "isFollowed": .flag(viewer.user.map { universe.following(of: $0).contains(id) } ?? false),
            "partial": isFull ? 1 : 0, "following": .int(universe.following(of: id).count), "comment": .text(comment),
            "html": .text(Self.html(comment)), "webpage": page, "country": region[0], "code": region[1],
            "prefecture": region[2],
        ]
        return .envelope(Shapes.fill(isFull ? "fullProfile" : "profile", values))
    }

    /// Plain text as HTML.
    private static func html(_ text: String) -> String {
        [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("\r\n", "<br />"), ("\n", "<br />")]
            .reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    /// `/ajax/user/<id>/profile/all`: the numbers of all works, split by kind.
    func allWorks() -> Response {
        guard let works = universe.works(of: id, now: now, for: viewer) else { return Self.gone }
        let kinds = Dictionary(grouping: works) { universe.post($0).kind == .manga }
        func numbers(_ isManga: Bool) -> JSONText {
            .mapping((kinds[isManga] ?? []).map { ("\($0.id(universe.service))", .null) })
        }
        let bookmarks = universe.bookmarks(of: id, hidden: false, now: now).count
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
        let furniture = furniture("\(universe.name(of: id)) - pixiv", "", page: "users/\(id)")
        return .envelope(Shapes.fill("works") { $0 == "works" ? .mapping(works) : furniture($0) })
    }

    // MARK: - What users like

    private static let largestPart = 100
    /// The service shows four works with each followed author.
    private static let worksOfAuthor = 4
    /// Works on a page of the feed, the last page, and works of one author in it: enough for its pages.
    private static let feedPage = 60
    private static let feedPages = 34
    private static let feedWorksOfAuthor = 200

    /// Offset, limit and whether the hidden part is asked for; nil for what makes no sense or is somebody else's.
    private func part() -> (offset: Int, limit: Int, hidden: Bool)? {
        guard let offset = Int(request.value("offset") ?? "0"), offset >= 0, let limit = request.number("limit"),
            (1...Self.largestPart).contains(limit)
        else { return nil }
        switch request.value("rest") ?? "show" {
        case "show": return (offset, limit, false)
        case "hide" where viewer.user == id: return (offset, limit, true)
        default: return nil
        }
    }

    /// `/ajax/user/<id>/illusts/bookmarks?tag=&offset=&limit=48&rest=show`.
    func bookmarks() -> Response {
        guard universe.slots(of: id) != nil else { return Self.gone }
        guard let (offset, limit, hidden) = part() else { return Self.badRequest }
        var all = universe.bookmarks(of: id, hidden: hidden, now: now)
        if let tag = request.value("tag"), !tag.isEmpty {
            let place = universe.tags.find(tag)
            all = all.filter { bookmark in
                guard !bookmark.isGone, let place else { return false }
                return universe.tags(of: universe.post(bookmark.slot)).contains(place)
            }
        }
        let works = all.dropFirst(offset).prefix(limit).map { bookmark -> JSONText in
            var facts = facts(universe.post(bookmark.slot))
            if viewer.user == id { facts.bookmark = Self.data(bookmark, hidden: hidden) }
            // Of a deleted work the number is a number, not a string (payloads/ajax-user-bookmarks).
            return bookmark.isGone ? Shapes.fill("gone", facts.value) : facts.brief
        }
        return list("bookmarks", works, total: all.count, "\(universe.name(of: id))のブックマーク")
    }

    /// `/ajax/user/<id>/following?offset=&limit=24&rest=show`.
    func following() -> Response {
        guard universe.slots(of: id) != nil else { return Self.gone }
        guard let (offset, limit, hidden) = part() else { return Self.badRequest }
        let all = universe.following(of: id, hidden: hidden)
        let own = Set(viewer.user.map { universe.following(of: $0) } ?? [])
        let users = all.dropFirst(offset).prefix(limit).map { author -> JSONText in
            let works = universe.works(of: author, now: now, for: viewer) ?? []
            return Shapes.fill(
                "followed",
                [
                    "id": .integer(author), "name": .text(universe.name(of: author)),
                    "image": .text(universe.portrait(of: author, side: 170)), "following": .flag(own.contains(author)),
                    "works": brief(works.prefix(Self.worksOfAuthor)),
                ])
        }
        return list("following", users, total: all.count, "\(universe.name(of: id))のフォローユーザー")
    }

    private func list(_ shape: String, _ rows: [JSONText], total: Int, _ title: String) -> Response {
        let furniture = furniture(title, page: "users/\(id)")
        return .envelope(
            Shapes.fill(shape) { name in
                name == "rows" ? .list(rows) : name == "total" ? .int(total) : furniture(name)
            })
    }

    /// `/ajax/follow_latest/illust?p=1&mode=all`: the newest works of the authors whom the viewer follows.
    func feed() -> Response {
        let (page, mode) = (Int(request.value("p") ?? "1") ?? 0, request.value("mode") ?? "all")
        guard let user = viewer.user, (1...Self.feedPages).contains(page), mode == "all" || mode == "r18" else {
            return Self.badRequest
        }
        let authors = [false, true].flatMap { universe.following(of: user, hidden: $0) }
        let works = authors.flatMap { author in
            (universe.works(of: author, now: now, for: viewer) ?? []).lazy.map { universe.post($0) }
                .filter { $0.seconds <= now && (mode == "all" || $0.rating == .explicit) }
                .prefix(Self.feedWorksOfAuthor)
        }.sorted { ($0.seconds, $0.id) > ($1.seconds, $1.id) }
        let shown = works.dropFirst((page - 1) * Self.feedPage).prefix(Self.feedPage)
        let records = shown.map { work -> JSONText in
            var facts = facts(work)
            facts.isInFeed = true
            return facts.brief
        }
        let isLast = page * Self.feedPage >= works.count || page == Self.feedPages
        return .envelope(
            Shapes.fill(
                "feed",
                ["ids": .list(shown.map { .integer($0.id) }), "isLast": .flag(isLast), "works": .list(records)]))
    }

    // MARK: - Search

    /// Slots on a page, of which an advertisement takes one on every other page.
    private static let slots = 60
    private static let advertisement = 12
    private static let mostAnonymousPages = 10
    private static let mostPages = 1000

    /// `/ajax/search/artworks/<word>` and its siblings for some kinds of works; `list` is the name that the answer gives its list.
    ///
    /// A page has 60 entries, one of which may be an advertisement; a page past the end is the last one again.
    func search(_ list: String, _ kinds: Set<WorkKind>) -> Response {
        let order = request.value("order") ?? "date_d"
        // Only members who pay may order by popularity.
        guard let asked = Int(request.value("p") ?? "1"), asked >= 1, ["date", "date_d"].contains(order) else {
            return Self.badRequest
        }
        var found = hits(kinds)
        if order == "date" { found.reverse() }
        func start(_ page: Int) -> Int { (page - 1) * Self.slots - page / 2 }
        let most = viewer.isSignedIn ? Self.mostPages : Self.mostAnonymousPages
        let last = (1...most).first { start($0 + 1) >= found.count } ?? most
        let page = min(asked, last)
        let shown = found.dropFirst(start(page)).prefix(start(page + 1) - start(page))
        var data = shown.map { facts($0.work).brief }
        if page % 2 == 1, data.count == Self.slots - 1 {
            data.insert(.object([("isAdContainer", true)]), at: Self.advertisement)
        }
        var tags: [String] = []
        for tag in shown.flatMap(\.tags).map({ universe.tags.all[$0].name }) where !tags.contains(tag) {
            tags.append(tag)
        }
        let translations: Members = tags.compactMap { tag in
            Words.all["readings"][tag]["english"].string.map { (tag, .object([("en", .text($0))])) }
        }
        let furniture = furniture("#\(word) - pixiv", page: "tags/\(word)")
        let answer = Shapes.fill("search") { name in
            switch name {
            case "data": .list(data)
            case "total": .int(found.count)
            case "last": .int(last)
            case "related": .texts(tags.prefix(16))
            case "translations": .mapping(translations)
            default: furniture(name)
            }
        }
        guard case .object(let members) = answer else { return Self.badRequest }
        let named = members.map { ($0.name == "list" ? list : $0.name, $0.value) }
        // There is no `message` in this envelope.
        return .json(.object([("error", false), ("body", .object(named))]))
    }

    private func hits(_ kinds: Set<WorkKind>) -> [SearchedWork] {
        let types: [String: Set<WorkKind>] = [
            "illust": [.illustration], "ugoira": [.animation], "illust_and_ugoira": [.illustration, .animation],
            "manga": [.manga],
        ]
        let kinds = kinds.intersection(types[request.value("type") ?? "all"] ?? kinds)
        let words = word.lowercased().split(whereSeparator: \.isWhitespace).map { String($0) }
        guard !words.isEmpty else { return [] }
        let (mode, field) = (request.value("mode") ?? "all", request.value("s_mode") ?? "s_tag")
        // There are some hundred tags only, so that a search compares few texts.
        let names = universe.tags.all.map { Array($0.name.lowercased().utf8) }
        let parts = words.map { Array($0.utf8) }
        let tagged = parts.map { part in
            Set(
                names.indices.filter {
                    field == "s_tag_full" ? names[$0] == part : names[$0].firstRange(of: part) != nil
                })
        }
        return universe.searchedWorks(now: now).filter { hit in
            let work = hit.work
            guard kinds.contains(work.kind), !viewer.isKept(from: work),
                mode == "all" || (mode == "r18") == (work.rating == .explicit),
                request.value("ai_type") != "1" || work.aiType < 2
            else { return false }
            return words.indices.allSatisfy { index in
                field != "s_tc" && hit.tags.contains(where: tagged[index].contains)
                    || field != "s_tag_full" && hit.title.firstRange(of: parts[index]) != nil
            }
        }
    }
}
