package import Rankings
package import Sourcing

/// An image board as a source of rankings.
///
/// ## Concurrency
///
/// A value of immutable parts; any task may call any method.
package struct BooruSource: RankingSource {
    let engine: any BooruEngine
    private(set) var api: PacedAPI
    /// The API's scheme and host, without a trailing slash.
    let base: String
    let hosts: PictureHosts
    /// The place on the scale of the most daring rating that is shown.
    let rating: Int

    /// Makes the source of a mount.
    ///
    /// - Parameters:
    ///   - engine: The engine of the board.
    ///   - means: The means of sending requests; `imageURL` replaces scheme and host of every picture's address.
    package init(_ engine: any BooruEngine, _ means: SourceMeans) {
        self.engine = engine
        let access = engine.description.access
        rating = engine.scale.place(ofWord: means.choices[RatingScale.option])
        base = means.apiURL ?? engine.apiURL(upTo: rating)
        api = PacedAPI(
            send: means.send, service: engine.description.title, finalStatuses: engine.finalStatuses,
            wallClock: means.wallClock)
        hosts = PictureHosts(
            hosts: access.hosts, home: String(access.apiURL.drop { $0 != ":" }.dropFirst(3)),
            replacement: means.imageURL)
    }

    package var description: SourceDescription { engine.description }

    /// The rankings of every board from the day of its first posts: the best of a day, week and month by score.
    static func rankings(from day: Day) -> [RankingFacts] {
        [("day", RankingPeriod.day), ("week", .week), ("month", .month)].compactMap { name, period in
            RankingMode(rawValue: name).map { ($0, day, period, needsSignIn: false, isGenerated: false, partOf: nil) }
        }
    }

    /// The further listings that every board has: artists are names alone.
    static func listings(perPage: Int) -> [ListingKind: Int] {
        [
            .artist: perPage, .search: perPage, .family: perPage, .favorites: perPage, .pool: perPage,
            .poolsOfPost: perPage, .work: 1,
        ]
    }

    /// The further abilities: there is no signing in.
    static let abilities: Set<SourceAbility> = [.origins]

    // MARK: - Pictures

    package func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        guard page == 0, let files = PostReference.files(picture, hosts: hosts) else { return nil }
        let file: PostFile? =
            switch rendition {
            case .original: files.original
            case .regular: files.regular
            case .small: files.small
            case .archive, .webp, .gif, .matroska, .avatar, .normalThumbnail, .largeThumbnail: nil
            }
        return file.map { file in
            PictureLocation(
                url: hosts.address(of: file.place), headers: [], fileExtension: file.fileExtension, size: file.size,
                digest: file == files.original ? files.md5 : nil)
        }
    }

    package func files(of work: Work) -> [WorkPicture]? {
        guard work.withheld == nil, let files = PostReference.files(work.picture, hosts: hosts) else { return [] }
        let original = WorkPicture("original", rendition: .original, reference: work.picture)
        guard let regular = files.regular, regular.place != files.original.place else { return [original] }
        return [original, WorkPicture("sample", rendition: .regular, reference: work.picture)]
    }

    /// Returns the only candidate, since the listing contains the format.
    package func originalCandidates(of work: Work) -> [String] {
        work.withheld == nil && !work.picture.isEmpty ? [work.picture] : []
    }
}

extension BooruEngine {
    package func source(_ means: SourceMeans) -> any RankingSource { BooruSource(self, means) }

    package var vocabulary: Set<String> { BooruLimits.vocabulary }
}

// MARK: - Lists

/// Rankings, searches, artists and records.
extension BooruSource {
    package func page(
        of listing: ListingKey, _ part: ListingPart, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        guard case .number(let page) = part else { throw .notFound }
        return try await asking(page: page, by: deadline).page(page, of: listing)
    }

    package func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> WorkDetails {
        try details(await asking(by: deadline).record(work))
    }

    package func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> [String] {
        originalCandidates(of: try await details(of: work, deadline: deadline).work)
    }

    /// A copy for the requests of one query.
    private func asking(page: Int = 1, by deadline: ContinuousClock.Instant) -> BooruSource {
        var source = self
        source.api = api.asking(page: page, by: deadline)
        return source
    }

    private func page(_ page: Int, of listing: ListingKey) async throws(Failure) -> ListingPage {
        switch listing.kind {
        case .ranking: return try await rankingPage(of: listing, page)
        case .search: return try await searchPage(listing.words ?? "", page: page)
        case .artist: return try await artistPage(listing.words ?? "", page: page)
        case .family: return try await family(of: listing.work)
        case .favorites:
            let user = Self.spelled(listing.words ?? "")
            guard Self.isTag(user) else { throw .notFound }
            return try await works(engine.favorites(of: PercentCoding.encode(user)), page: page)
        // The order counts the votes of the last two days (`post_query_builder.rb`).
        case .hot: return try await works(["order:rank"], page: page)
        case .favoriteGroup:
            guard let group = try await pools(.group(listing.number ?? 0)).first else {
                throw .notFound
            }
            return try await posts(of: group, page: page)
        case .pool: return try await poolPage(Self.spelled(listing.words ?? ""), page: page)
        case .poolsOfPost:
            let pools = try await pools(.post(listing.work))
            return ListingPage(
                authors: pools.map { NamedAuthor(id: UserID(rawValue: $0.id), name: $0.name) }, total: nil,
                hasNext: false)
        default: throw .notFound
        }
    }

    private func rankingPage(of listing: ListingKey, _ page: Int) async throws(Failure) -> ListingPage {
        guard let mode = listing.mode, let facts = description[mode] else { throw .notFound }
        let days = description.days(of: mode)
        // A relative date would follow the service's own today, which begins and ends at another time than its days.
        let isNewest = listing.ranking == nil
        let day = listing.ranking?.day ?? days.newest(at: api.wallClock())
        guard days.contains(day) else { throw .notPublished }
        guard (1...description.paging.most).contains(page) else { throw .pastTheEnd }
        let date = engine.term(for: day..<facts.period.next(day))
        let (entries, moment) = try await list([date, "order:score"], page: page)
        // This machine's clock may be ahead: a day that still grows would be stored as complete.
        if let moment, moment < days.published(day) {
            let told = days.newest(at: moment)
            guard isNewest, told < day else { throw .notPublished }
            return try await rankingPage(of: .ranking(mode, told), page)
        }
        guard !entries.isEmpty else { throw page > 1 ? .pastTheEnd : .notPublished }
        // Every entry of the answer counts, so that ranks do not depend on how many are shown.
        let before = (page - 1) * engine.postsPerPage
        let shown = entries.enumerated().compactMap { place, entry in
            admitted(entry).map { ListedWork(rank: before + place + 1, previousRank: nil, work: $0.work) }
        }
        let (hasNext, unreadable) = (hasNext(entries, page: page), entries.count { $0 == .unreadable })
        // The day is there, and has Flash files alone.
        if page == 1, !isNewest, shown.isEmpty, unreadable == 0, !hasNext { throw .withheld(Withholding.all) }
        return ListingPage(entries: shown, day: day, hasNext: hasNext, unreadable: unreadable)
    }

    private func searchPage(_ words: String, page: Int) async throws(Failure) -> ListingPage {
        let query = SearchQuery(words, knowing: [.since, .until, .size, .shape])
        let terms = Self.spelled(query.words).split(whereSeparator: \.isWhitespace).map {
            PercentCoding.encode(String($0))
        }
        guard !terms.isEmpty, words.utf8.count <= BooruLimits.wordBytes else { throw .notFound }
        if query.isPlain { return try await works(terms, page: page) }
        guard let further = limits(of: query) else { return ListingPage(works: []) }
        return try await works(engine.joined(terms) + further, page: page)
    }

    /// The terms that stand for the options of a search, none of which counts for the limit of tags; nil for no days at all.
    private func limits(of query: SearchQuery) -> [String]? {
        var terms: [String] = []
        if query.since != nil || query.until != nil {
            // The service's own today may have begun before that of UTC ends.
            let last = query.until ?? Day.inUTC(atUnixSeconds: api.wallClock()).advanced(by: 1)
            let first = query.since ?? description.days.first
            guard first <= last else { return nil }
            terms.append(engine.term(for: first..<last.advanced(by: 1)))
        }
        if let size = query[.size] {
            terms += ["width", "height"].map { "\($0):\(PercentCoding.encode(">=" + size))" }
        }
        if let shape = query[.shape] {
            terms.append("ratio:" + (["landscape": "%3E1", "portrait": "%3C1"][shape] ?? "1"))
        }
        return terms
    }

    private func artistPage(_ artist: String, page: Int) async throws(Failure) -> ListingPage {
        let tag = Self.spelled(artist)
        guard Self.isTag(tag), !engine.isSyntax(tag.lowercased()) else { throw .notFound }
        return try await works([PercentCoding.encode(tag)], page: page)
    }

    /// The family of a post: its ancestors, and the children of each of them and of the post itself, which records of posts name.
    ///
    /// Children name a parent that the service no longer has, and are a family without it; so are those of a Flash file. A parent
    /// that is named has children, whatever its record says.
    private func family(of work: WorkID) async throws(Failure) -> ListingPage {
        func field(_ name: String, of post: Record) -> JSON {
            post.fields.first { $0.name == name }?.value ?? .null
        }
        let post = try await record(work)
        let hasChildren = field("has_children", of: post).flag
        var (way, parents) = ([post], hasChildren == true ? [work.rawValue] : [])
        while way.count < BooruLimits.generations {
            // Posts may name each other.
            guard let parent = field("parent", of: way[way.count - 1]).number, parent > 0,
                !way.contains(where: { $0.id.rawValue == parent })
            else { break }
            parents.append(parent)
            do throws(Failure) {
                way.append(try await record(WorkID(rawValue: parent)))
            } catch .notFound { break }
        }
        if parents.isEmpty, hasChildren == nil { parents = [work.rawValue] }
        var page = ListingPage(works: [])
        for parent in parents.reversed() {
            let children = try await works(["parent:\(parent)"], page: 1, mayShowNone: true)
            page.entries += children.entries
            page.unreadable += children.unreadable
        }
        page.entries = page.entries.uniqued(by: \.work.id)
        guard page.entries.isEmpty, page.unreadable == 0 else { return page }
        let eldest = way[way.count - 1]
        if way.count > 1 || hasChildren == true, parents.last == eldest.id.rawValue {
            // A list has its parent as well, unless that is above the rating, or was removed.
            guard let post = admitted(eldest.entry) else { throw .withheld(Withholding.rating) }
            if let reason = post.work.withheld { throw .withheld(reason) }
            throw .unreadable("\(description.title) shows no post of the family of post \(eldest.id.rawValue).")
        }
        let alone = try details(eldest).work
        if let reason = alone.withheld { throw .withheld(reason) }
        return ListingPage(works: [alone])
    }

    /// The pools that a query finds; of one whose posts are found by its number, the number.
    private func pools(_ query: PoolQuery) async throws(Failure) -> [BooruPool] {
        guard let path = engine.pools(query) else {
            if case .number(let number) = query { return [BooruPool(id: number)] }
            return []
        }
        let answer = try await answer(path).json
        switch query {
        case .name, .post: return try BooruPool.all(in: answer)
        case .number(let number), .group(let number):
            guard let pool = BooruPool(answer), pool.id == number else {
                throw .unreadable(
                    "\(description.title)'s record of pool \(number) makes no sense; it may have changed.")
            }
            return [pool]
        }
    }

    /// A page of the pool with a number or a name.
    private func poolPage(_ words: String, page: Int) async throws(Failure) -> ListingPage {
        guard words.utf8.count <= BooruLimits.wordBytes else { throw .notFound }
        let number = Int64(words).flatMap { $0 > 0 && String($0) == words ? $0 : nil }
        let found = try await pools(number.map { .number($0) } ?? .name(words))
        guard let pool = number == nil ? BooruPool.named(words, among: found) : found.first else { throw .notFound }
        return try await posts(of: pool, page: page)
    }

    /// A page of a pool's posts, each under its number in the pool: posts that are not shown leave gaps.
    ///
    /// The rating is no part of the request, since posts that the service leaves out would shift all further numbers.
    private func posts(of pool: BooruPool, page: Int) async throws(Failure) -> ListingPage {
        guard (1...BooruLimits.pages).contains(page) else { throw .pastTheEnd }
        // A search by the number finds the posts in another order, and by that of a group another pool's.
        let isNamed = pool.posts.map { $0.isEmpty || $0.contains { $0.rawValue > 0 } }
        guard isNamed ?? (engine.pools(.number(pool.id)) == nil) else {
            throw .unreadable("\(description.title)'s record of pool \(pool.id) names no posts; it may have changed.")
        }
        let before = (page - 1) * engine.postsPerPage
        let named = pool.posts.map { Array($0.dropFirst(before).prefix(engine.postsPerPage)) }
        if named?.isEmpty == true { throw page > 1 ? .pastTheEnd : none(of: pool) }
        let term = named.map { "id:" + $0.map { "\($0.rawValue)" }.joined(separator: ",") } ?? "pool:\(pool.id)"
        let entries = try await list([term], page: named == nil ? page : 1, isRated: false).entries
        if named == nil, entries.isEmpty { throw page > 1 ? .pastTheEnd : none(of: pool) }
        let places = named ?? entries.map { $0.post?.id ?? WorkID(rawValue: 0) }
        let numbers = Dictionary(zip(places, (before + 1)...)) { first, _ in first }
        let shown = entries.compactMap(admitted).compactMap { post in
            numbers[post.id].map { ListedWork(rank: $0, previousRank: nil, work: post.work) }
        }
        let hasNext = pool.posts.map { before + engine.postsPerPage < $0.count } ?? hasNext(entries, page: page)
        let unreadable = entries.count { $0 == .unreadable }
        if page == 1, shown.isEmpty, unreadable == 0, !hasNext {
            throw .withheld(entries.contains { $0.post != nil } ? Withholding.rating : Withholding.all)
        }
        return ListingPage(
            entries: shown.sorted { ($0.rank ?? 0) < ($1.rank ?? 0) }, total: pool.posts?.count, hasNext: hasNext,
            unreadable: unreadable)
    }

    /// The failure of a pool without posts: it is absent if the service does not count any.
    private func none(of pool: BooruPool) -> Failure {
        guard let count = pool.count, count > 0 else { return .notFound }
        return .unreadable("\(description.title) counts \(count) posts of pool \(pool.id), and shows none.")
    }

    /// The record of a post, shown or not.
    private typealias Record = (id: WorkID, entry: PostEntry, fields: [JSON.Member])

    private func record(_ work: WorkID) async throws(Failure) -> Record {
        guard work.rawValue > 0 else { throw .notFound }
        let answer = try await answer(engine.record(of: work)).json
        let (entry, fields) = try engine.record(in: answer, hosts: hosts)
        guard entry == .unplayable || entry.post?.id == work else {
            throw .unreadable(
                "\(description.title)'s record of post \(work.rawValue) makes no sense; it may have changed it.")
        }
        return (work, entry, fields)
    }

    private func details(_ record: Record) throws(Failure) -> WorkDetails {
        let (work, entry, fields) = record
        guard var post = entry.post else {
            throw .unreadable("Post \(work.rawValue) is a Flash file, which no program plays any more.")
        }
        if admitted(entry) == nil { post.withheld = Withholding.rating }
        var details = WorkDetails(work: post.work)
        details.tags = post.tags.all.map { WorkDetails.Tag(name: $0) }
        details.created = post.created
        details.bookmarks = post.favourites
        details.restriction = post.rating.map { engine.scale.steps[$0].word } ?? "unknown"
        details.more = fields
        return details
    }

    // MARK: -

    /// A page of works without ranks, newest first, the service's order of unsorted lists; with `mayShowNone` also one of Flash files
    /// alone.
    private func works(_ terms: [String], page: Int, mayShowNone: Bool = false) async throws(Failure) -> ListingPage {
        guard (1...BooruLimits.pages).contains(page) else { throw .pastTheEnd }
        let entries = try await list(terms, page: page).entries
        guard !entries.isEmpty || page == 1 else { throw .pastTheEnd }
        let works = entries.compactMap { admitted($0)?.work }.uniqued(by: \.id)
        let (hasNext, unreadable) = (hasNext(entries, page: page), entries.count { $0 == .unreadable })
        let showsNone = works.isEmpty && !entries.isEmpty && unreadable == 0 && !hasNext
        if page == 1, showsNone, !mayShowNone { throw .withheld(Withholding.all) }
        return ListingPage(works: works, hasNext: hasNext, unreadable: unreadable)
    }

    /// The entries of a page, and the time of the answer by the service's clock; `isRated` limits the search to the mount's rating.
    private func list(
        _ terms: [String], page: Int, isRated: Bool = true
    ) async throws(Failure) -> (entries: [PostEntry], moment: Int64?) {
        let all = isRated ? engine.scale.steps[rating].tag.map { engine.joined(terms) + [$0] } ?? terms : terms
        let answer = try await answer(engine.list(all, page: page))
        // A service with longer pages than requested would shift all further ranks.
        let entries = Array(try engine.entries(in: answer.json, hosts: hosts).prefix(engine.postsPerPage))
        let isKnown = entries.contains { $0 == .unreadable || admitted($0) != nil }
        if isRated, !isKnown, entries.contains(where: { $0.post != nil }) {
            throw .unreadable(
                "\(description.title) told \(entries.count) posts, none of which is of a rating that was asked for.")
        }
        return (entries, answer.moment)
    }

    /// The post of an entry if it may be shown: services silently ignore ratings that they do not know.
    private func admitted(_ entry: PostEntry) -> BooruPost? {
        guard let post = entry.post, let shown = post.rating, shown <= rating else { return nil }
        return post
    }

    /// Whether a page follows: an empty page is the end, and so is a page far from full; a full one may lack some posts.
    private func hasNext(_ entries: [PostEntry], page: Int) -> Bool {
        entries.count * 2 >= engine.postsPerPage && page < min(description.paging.most, BooruLimits.pages)
    }

    /// Words as the service spells them: directory names have a full-width slash in place of the separator of paths.
    private static func spelled(_ words: String) -> String { String(words.map { $0 == "／" ? "/" : $0 }) }

    /// Whether a text is one tag, and no pattern.
    static func isTag(_ text: String) -> Bool {
        guard let first = text.first, first != "-", first != "~", text.utf8.count <= BooruLimits.tagBytes,
            text != ".", text != ".."
        else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            scalar != "*" && !scalar.properties.isWhitespace
                && scalar.properties.generalCategory != .control
        }
    }
}
