import HTTP
package import Rankings
package import Sourcing

/// pixiv's web API (`ranking.php` and the routes below `/ajax`) as a source of rankings.
///
/// ## Concurrency
///
/// A value of immutable parts; any task may call any method.
package struct PixivSource: RankingSource {
    private(set) var api: WebAPI
    private let images: String

    /// Makes the source of a mount.
    ///
    /// - Parameters:
    ///   - means: The means of sending requests; `imageURL` replaces scheme and host of both image hosts.
    ///   - session: The user's session, sent to the API only, never to the image host.
    package init(_ means: SourceMeans, session: SessionKeeper = SessionKeeper(nil)) {
        let paced = PacedAPI(send: means.send, service: "pixiv", wallClock: means.wallClock)
        api = WebAPI(api: paced, base: means.apiURL ?? Self.apiURL, session: session)
        images = means.imageURL ?? Self.imageURL
    }

    package var description: SourceDescription { Self.facts }

    package var signIn: SignIn { api.session.signIn }

    /// A copy for the requests of one query.
    func asking(page: Int = 1, by deadline: ContinuousClock.Instant) -> PixivSource {
        var source = self
        source.api.api = api.api.asking(page: page, by: deadline)
        return source
    }

    package func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        if rendition == .archive {
            guard let path = ArchivePath(reference: picture), path.work == work else { return nil }
            return location(path.path, fileExtension: "zip")
        }
        guard let path = PicturePath(reference: picture), path.work == work else { return nil }
        let rendered =
            switch rendition {
            case .regular: path.regularPath(page: page)
            case .small: path.smallPath(page: page)
            case .original: path.originalPath(page: page)
            case .archive, .webp, .gif, .matroska, .avatar, .normalThumbnail, .largeThumbnail: nil as String?
            }
        return rendered.map { location($0, fileExtension: rendition == .original ? path.fileExtension : "jpg") }
    }

    package func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)? {
        AvatarPath(reference: reference).map { (location($0.path, fileExtension: $0.fileExtension), $0.uploaded) }
    }

    package func originalCandidates(of work: Work) -> [String] {
        guard work.withheld == nil, let path = PicturePath(reference: work.picture), path.work == work.id else {
            return []
        }
        return path.originalCandidates(ofAnimation: work.kind == .animation)
    }

    package var imageHost: PictureLocation? { location("/", fileExtension: "") }

    private func location(_ path: String, fileExtension: String) -> PictureLocation {
        PictureLocation(url: images + path, headers: [WebAPI.referer], fileExtension: fileExtension)
    }
}

// MARK: - Listings

extension PixivSource {
    /// The kinds of listings besides rankings, with the entries on a full page.
    static let listings: [ListingKind: Int] = [
        .author: PixivLimits.worksPerRequest, .work: 1, .search: PixivLimits.worksPerSearchPage,
        .series: PixivLimits.worksPerSeriesPage,
        .bookmarks: PixivLimits.worksPerBookmarksPage, .following: PixivLimits.authorsPerPage,
        .related: PixivLimits.relatedPerRequest, .collection: PixivLimits.tilesOfCollection,
        .authorTags: PixivLimits.tagsOfAuthor, .authorTag: PixivLimits.worksPerBookmarksPage,
        .bookmarksPrivate: PixivLimits.worksPerBookmarksPage, .bookmarkTags: PixivLimits.tagsOfAuthor,
        .bookmarkTag: PixivLimits.worksPerBookmarksPage, .bookmarkMonths: PixivLimits.tagsOfAuthor,
        .bookmarkMonth: PixivLimits.worksPerBookmarksPage,
        .feed: PixivLimits.worksPerFeedPage, .feedR18: PixivLimits.worksPerFeedPage,
    ]

    package func page(
        of listing: ListingKey, _ part: ListingPart, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        if let number = listing.number, number <= 0 { throw .notFound }
        let (page, name): (Int, String?)
        switch part {
        case .number(let number): (page, name) = (number, nil)
        case .named(let number, let reference): (page, name) = (number, reference)
        case .works(let ids): return try await asking(by: deadline).works(ids, of: listing)
        }
        guard page > 0 else { throw .pastTheEnd }
        return try await asking(page: page, by: deadline).page(page, name, of: listing)
    }

    private func page(_ page: Int, _ name: String?, of listing: ListingKey) async throws(Failure) -> ListingPage {
        let user = "/ajax/user/\(listing.user.rawValue)"
        switch listing.kind {
        case .ranking: return try await rankingPage(of: listing, page)
        case .author:
            return ListingPage(entries: [], further: try AuthorAnswers.allWorks(await body("\(user)/profile/all")))
        case .search:
            // A path with no words, or with dots in their place, is another path.
            let query = SearchQuery(listing.words ?? "")
            guard !["", ".", ".."].contains(query.words) else { throw .notFound }
            return try ListAnswers.search(await body(PixivRoutes.search(query, page: page)), page: page)
        case .series:
            return try ListAnswers.series(await body(PixivRoutes.series(listing.work, page: page)), page: page)
        case .bookmarks:
            return try ListAnswers.works(await body(PixivRoutes.bookmarks(of: listing.user, page: page)), page: page)
        case .authorTags:
            return try ListAnswers.names(await body("\(user)/illustmanga/tags?all=1"), "tag", TagName.name)
        case .authorTag:
            guard let path = PixivRoutes.works(ofAuthorAndTag: listing.words ?? "", name, page: page) else {
                throw .notFound
            }
            return try ListAnswers.works(await body(path), page: page, hasGaps: false)
        case .following:
            let path = PixivRoutes.following(of: listing.user, page: page)
            return try ListAnswers.following(await body(path), page: page)
        case .related: return try ListAnswers.related(await body(PixivRoutes.related(to: listing.work)))
        case .collection:
            // Numbers of up to 20 digits (`payloads/ajax-collection`).
            guard let id = listing.words, (1...32).contains(id.utf8.count), id.utf8.allSatisfy(\.isDigit) else {
                throw .notFound
            }
            return try ListAnswers.collection(await body("/ajax/collection/\(id)"))
        case .bookmarksPrivate, .bookmarkTag, .bookmarkMonth:
            guard let (owner, path) = PixivRoutes.ownBookmarks(listing, name, page: page) else { throw .notFound }
            guard owner == signIn.user else { throw .needsSignIn }
            return try ListAnswers.works(await body(path), page: page)
        case .bookmarkTags, .bookmarkMonths:
            guard listing.user == signIn.user else { throw .needsSignIn }
            if listing.kind == .bookmarkTags {
                return try ListAnswers.bookmarkTags(await body("\(user)/illusts/bookmark/tags"))
            }
            return try ListAnswers.names(await body("\(user)/bookmark/periods?rest=show"), "period", TagName.month)
        case .feed, .feedR18: return try await feedPage(of: listing, page)
        default: throw .notFound
        }
    }

    private func rankingPage(of listing: ListingKey, _ page: Int) async throws(Failure) -> ListingPage {
        guard let mode = listing.mode else { throw .notFound }
        let day = listing.ranking?.day
        let (name, kind) = PixivRankings.query(of: mode)
        let content = kind.map { "&content=\($0)" } ?? ""
        let date = day.map { "&date=\($0.compact)" } ?? ""
        let path = "/ranking.php?format=json&mode=\(name)\(content)\(date)&p=\(page)"
        let answer = try await api.ask(path, forMembers: Self.facts.needsSignIn(mode))
        switch answer.status {
        case 404: throw ListAnswers.noRanking(page: page)
        case 401: throw .needsSignIn
        case 200:
            let told = try ListAnswers.ranking(of: answer.json, mode: mode, day: day, page: page)
            let days = Self.facts.days(of: mode)
            // This machine's clock may be behind the service's.
            let newest = days.newest(at: max(api.api.wallClock(), answer.sent ?? .min)).advanced(by: 1)
            if day == nil, let day = told.day, !(days.first...max(days.first, newest)).contains(day) {
                throw .unreadable("pixiv calls \(day) the newest day of a ranking, which it cannot be")
            }
            return told
        default:
            let message = Envelope.error(in: answer.json) ?? ""
            throw .unreadable(
                "pixiv refused a ranking with status \(answer.status): \(ForeignText.quoted(message)).")
        }
    }

    /// A page of the new works of followed authors, which the service has for the user of the session alone.
    private func feedPage(of listing: ListingKey, _ page: Int) async throws(Failure) -> ListingPage {
        guard listing.user == signIn.user else { throw .needsSignIn }
        let isRestricted = listing.kind == .feedR18
        let path = PixivRoutes.feed(isRestricted: isRestricted, page: page)
        do throws(Failure) {
            let body = try await api.body(path, forMembers: isRestricted)
            return try ListAnswers.feed(body, page: page)
        } catch .needsSignIn where isRestricted && signIn == .signedIn(listing.user) {
            // The service accepts the session: R-18 is off in the account.
            throw .notFound
        }
    }

    /// The records of works of an indexed listing, in the requested order; works that the service does not return are missing.
    private func works(_ ids: [WorkID], of listing: ListingKey) async throws(Failure) -> ListingPage {
        guard listing.kind.facts.isIndexed else { throw .notFound }
        let most = Self.facts.entries(of: listing.kind)
        var found: [WorkID: Work] = [:]
        var unreadable = 0
        var rest = ids[...]
        while !rest.isEmpty {
            let asked = rest.prefix(most)
            let path = PixivRoutes.works(asked, of: listing)
            rest = rest.dropFirst(most)
            let list = try AuthorAnswers.works(await body(path))
            if list.entries.isEmpty, list.unreadable > 0 {
                throw .unreadable("None of \(list.unreadable) works of \(listing.path.text) could be understood.")
            }
            if !list.works.isEmpty, !list.works.contains(where: { asked.contains($0.id) }) {
                throw .unreadable("pixiv answered for \(listing.path.text) with works that were not asked for.")
            }
            for work in list.works { found[work.id] = work }
            unreadable += list.unreadable
        }
        return ListingPage(works: ids.compactMap { found[$0] }, unreadable: unreadable)
    }
}

// MARK: - Records

extension PixivSource {
    package func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> WorkDetails {
        try WorkAnswers.details(await asking(by: deadline).body(of: work, ""), of: work)
    }

    package func animation(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> AnimationRecord {
        try WorkAnswers.animation(await asking(by: deadline).body(of: work, "/ugoira_meta"), of: work)
    }

    package func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> [String] {
        try AuthorAnswers.originals(await asking(by: deadline).body(of: work, "/pages"), of: work).map {
            $0?.originalReference ?? ""
        }
    }

    package func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(Failure) -> AuthorProfile {
        guard author.rawValue > 0 else { throw .notFound }
        // `full` adds the author's comment, region and web page.
        let body = try await asking(by: deadline).body("/ajax/user/\(author.rawValue)?full=1")
        return try AuthorAnswers.profile(body, of: author)
    }

    private func body(of work: WorkID, _ part: String) async throws(Failure) -> JSON {
        guard work.rawValue > 0 else { throw .notFound }
        return try await body("/ajax/illust/\(work.rawValue)\(part)")
    }

    private func body(_ path: String) async throws(Failure) -> JSON { try await api.body(path) }
}

// MARK: - Pixiv routes

/// Paths and queries of `/ajax/…`, as the service's own pages request them.
enum PixivRoutes {
    /// The search for works, newest first; without options for works with the words in their tags.
    ///
    /// A day is one in Japan; a bound of sizes named `lt` is a least one (ppixiv's `search.js`).
    static func search(_ query: SearchQuery, page: Int) -> String {
        let encoded = PercentCoding.encode(TagName.tag(query.words))
        let (route, type) =
            switch query[.kind] {
            case "manga": ("manga", "manga")
            case let kind?: ("illustrations", kind)
            case nil: ("artworks", "all")
            }
        let match = ["tag": "s_tag_full", "text": "s_tc"][query[.match] ?? ""] ?? "s_tag"
        let further = [
            query.since.map { "scd=\($0)" }, query.until.map { "ecd=\($0)" },
            query[.size].map { "wlt=\($0)&hlt=\($0)" },
            query[.shape].flatMap { ["landscape": "ratio=0.5", "portrait": "ratio=-0.5", "square": "ratio=0"][$0] },
        ]
        return
            "/ajax/search/\(route)/\(encoded)?word=\(encoded)&order=date_d&mode=all&p=\(page)&s_mode=\(match)&type=\(type)"
            + further.compactMap { $0.map { "&\($0)" } }.joined()
    }

    /// The works of a series; the service refuses a request without a page.
    static func series(_ series: WorkID, page: Int) -> String { "/ajax/series/\(series.rawValue)?p=\(page)" }

    static func bookmarks(of user: UserID, page: Int) -> String {
        bookmarks(of: user, page: page, filter: "tag=", rest: "show")
    }

    /// Part of a user's bookmarks; `rest` is `show` for public or `hide` for private ones, and never both.
    private static func bookmarks(of user: UserID, page: Int, filter: String, rest: String) -> String {
        "/ajax/user/\(user.rawValue)/illusts/bookmarks?\(filter)&\(range(page))&rest=\(rest)"
    }

    /// The request for the user's private bookmarks, or public ones by tag or month, and whose they are; nil for a name that is none.
    ///
    /// - Parameters:
    ///   - listing: The listing.
    ///   - reference: The reference to a tag with another name (`TagName.reference`).
    ///   - page: The number of the page.
    /// - Returns: The user and the path with its query.
    static func ownBookmarks(
        _ listing: ListingKey, _ reference: String? = nil, page: Int
    ) -> (user: UserID, path: String)? {
        if listing.kind == .bookmarksPrivate {
            return (listing.user, bookmarks(of: listing.user, page: page, filter: "tag=", rest: "hide"))
        }
        guard let (user, name) = userAndName(listing.words ?? "") else { return nil }
        var filter = "tag=\(reference ?? PercentCoding.encode(TagName.tag(name)))"
        if listing.kind == .bookmarkMonth {
            guard TagName.month(name) == name else { return nil }
            filter = "tag=&bm=\(name.filter { $0 != "-" })"
        }
        return (user, bookmarks(of: user, page: page, filter: filter, rest: "show"))
    }

    static func following(of user: UserID, page: Int) -> String {
        let range = "offset=\((page - 1) * PixivLimits.authorsPerPage)&limit=\(PixivLimits.authorsPerPage)"
        return "/ajax/user/\(user.rawValue)/following?\(range)&rest=show"
    }

    static func feed(isRestricted: Bool, page: Int) -> String {
        "/ajax/follow_latest/illust?p=\(page)&mode=\(isRestricted ? "r18" : "all")"
    }

    static func related(to work: WorkID) -> String {
        "/ajax/illust/\(work.rawValue)/recommend/init?limit=\(PixivLimits.relatedPerRequest)"
    }

    /// The records of works of an author, or related to a work; the service requires the brackets, encoded, and `work_category`.
    static func works(_ works: ArraySlice<WorkID>, of listing: ListingKey) -> String {
        func query(_ name: String) -> String { works.map { "\(name)%5B%5D=\($0.rawValue)" }.joined(separator: "&") }
        guard listing.kind == .author else { return "/ajax/illust/recommend/illusts?\(query("illust_ids"))" }
        return "/ajax/user/\(listing.user.rawValue)/profile/illusts?\(query("ids"))"
            + "&work_category=illustManga&is_first_page=0"
    }

    /// The works of an author with a tag, which may have a reference; nil for a text that is no number, slash and tag.
    static func works(ofAuthorAndTag text: String, _ reference: String? = nil, page: Int) -> String? {
        guard let (author, name) = userAndName(text) else { return nil }
        let tag = reference ?? PercentCoding.encode(TagName.tag(name))
        return "/ajax/user/\(author.rawValue)/illustmanga/tag?tag=\(tag)&\(range(page))"
    }

    /// The number before the first slash of a text, and what follows, which may begin with a combining mark; nil for other texts.
    private static func userAndName(_ text: String) -> (user: UserID, name: String)? {
        let parts = text.unicodeScalars.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, let number = Int64(parts[0]), number > 0 else { return nil }
        return (UserID(rawValue: number), parts[1])
    }

    /// The part of a list of a user's.
    private static func range(_ page: Int) -> String {
        "offset=\((page - 1) * PixivLimits.worksPerBookmarksPage)&limit=\(PixivLimits.worksPerBookmarksPage)"
    }

    /// The work of a web page in today's form, the English form, or the form before 2019; nil for any other page.
    static func work(webPage: String) -> WorkID? {
        guard let address = WebAddress(webPage), ["www.pixiv.net", "pixiv.net"].contains(address.host) else {
            return nil
        }
        var parts = address.path[...]
        if parts.first == "en" { parts.removeFirst() }
        if parts.count == 2, parts.first == "artworks" { return parts.last.flatMap { WebAddress.work($0) } }
        guard parts.count == 1, parts.first == "member_illust.php" else { return nil }
        return address.query["illust_id"].flatMap { WebAddress.work($0) }
    }
}
