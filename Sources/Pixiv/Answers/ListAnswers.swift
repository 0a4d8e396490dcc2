package import Rankings
import Sourcing

/// Decoders of answers that are one page of a list.
package enum ListAnswers {
    /// Decodes a page of `/ajax/search/artworks/<words>`.
    ///
    /// - Parameters:
    ///   - body: The body of the answer.
    ///   - page: The number of the requested page, from 1.
    /// - Returns: The page; unreadable works are left out and counted.
    /// A further page without works, total and last page is an empty one, of which the catalog's `Paging` judges.
    ///
    /// - Throws: `.pastTheEnd` after the last page, where the service repeats the last page; `.unreadable` for a page that lacks
    ///   the works it should have. The service limits searches in this way: status 200, no works, a total of 0, for some minutes.
    package static func search(_ body: JSON, page: Int) throws(Failure) -> ListingPage {
        let groups = ["illustManga", "illust", "manga"].map { body[$0] }.filter { $0["data"].isArray }
        guard !groups.isEmpty else {
            throw .unreadable("pixiv's search has no list of works; pixiv may have changed it.")
        }
        var list = try readable(ListingPage(search: body))
        // Groups that stand apart have pages of their own, and as many as the longest one.
        let told = groups.compactMap { $0["total"].count }.max()
        let lastPage = groups.compactMap { $0["lastPage"].number(in: PixivLimits.searchPages) }.max()
        let before = (page - 1) * PixivLimits.worksPerSearchPage
        if list.entries.isEmpty {
            if page == 1, list.total == 0 { return list }
            // A total of 0 after a page that had works is not the end of the list; an end would be stored.
            let isEnd = told != 0 && (lastPage.map { page > $0 } ?? false || told.map { $0 <= before } ?? false)
            if page > 1, isEnd { throw .pastTheEnd }
            if page > 1, told == nil, lastPage == nil {
                list.total = nil
                return list
            }
            throw .unreadable("pixiv's search shows no works where there should be some; asking again later helps.")
        }
        // A page that has works is one.
        let last = lastPage.flatMap { $0 > 0 ? Int($0) : nil }
        if let last, page > 1, page > last { throw .pastTheEnd }
        let shown = groups.map { $0["data"].elements.count { $0["isAdContainer"].flag != true && !$0.isNull } }
        let total = plausible(told, page: page, of: PixivLimits.worksPerSearchPage, shown: shown.max() ?? 0)
        list.hasNext = last.map { page < $0 } ?? total.map { $0 > page * PixivLimits.worksPerSearchPage } ?? true
        list.lastPage = last
        if total == nil { list.total = nil }
        return list
    }

    /// Decodes a page of `/ajax/user/<id>/illusts/bookmarks` or `…/illustmanga/tag`.
    ///
    /// Deleted works are missing from their page of bookmarks, so a page of these may be empty without being the last, where the
    /// total counts further ones.
    ///
    /// - Parameters:
    ///   - body: The body of the answer.
    ///   - page: The number of the requested page, from 1.
    ///   - hasGaps: Whether a page may lack works that the total counts.
    /// - Returns: The page; unreadable works are left out and counted.
    /// - Throws: `.pastTheEnd` after the last page.
    package static func works(_ body: JSON, page: Int, hasGaps: Bool = true) throws(Failure) -> ListingPage {
        _ = try elements(of: body["works"], else: "list of a user has no works; pixiv may have changed it")
        var list = try readable(ListingPage(list: body))
        let size = PixivLimits.worksPerBookmarksPage
        list.total = plausible(list.total, page: page, of: size, shown: list.entries.count)
        list.hasNext = try hasNext(
            page: page, of: size, total: list.total, isEmpty: list.entries.isEmpty, hasGaps: hasGaps)
        return list
    }

    /// Decodes a page of `/ajax/series/<id>`: works by their number in the series, the last one first.
    ///
    /// The page names works and their numbers; the records beside it include works of other pages and lack those that this reader may
    /// not see. Such works may be missing from the pages, too, so numbers have gaps, and pages may end before the total, which
    /// counts them (gallery-dl #4760).
    ///
    /// - Throws: `.pastTheEnd` after the last page; `.withheld` if the service shows no work of the series to this reader.
    package static func series(_ body: JSON, page: Int) throws(Failure) -> ListingPage {
        let places = try elements(
            of: body["page"]["series"], else: "series has no list of works; pixiv may have changed it")
        let list = try records(of: places, in: body)
        let works = Dictionary(list.works.map { ($0.id, $0) }) { first, _ in first }
        let named = places.compactMap { place -> (place: Int64, work: WorkID)? in
            guard let work = place["workId"].number, work > 0,
                let number = place["order"].number(in: PixivLimits.ranks)
            else { return nil }
            return (number, WorkID(rawValue: work))
        }
        let entries = named.compactMap { place, work in
            works[work].map { ListedWork(rank: Int(place), previousRank: nil, work: $0) }
        }
        let total = plausible(
            body["page"]["total"].count, page: page, of: PixivLimits.worksPerSeriesPage, shown: places.count)
        if named.isEmpty, !places.isEmpty { throw noneUnderstood(places.count, "works") }
        if page == 1, places.isEmpty, (total ?? 0) > 0 { throw .withheld(Withheld.all) }
        let hasNext = try hasNext(
            page: page, of: PixivLimits.worksPerSeriesPage, total: total, isEmpty: named.isEmpty)
        if page == 1, entries.isEmpty, !hasNext, max(total ?? 0, named.count) > 0 {
            throw .withheld(Withheld.all)
        }
        return ListingPage(
            entries: entries, total: total, hasNext: hasNext, unreadable: places.count - named.count)
    }

    /// Decodes a page of `/ajax/follow_latest/illust`: works in the order of the page's numbers, the newest first.
    ///
    /// A number without a record is of a work that this reader may not see. No single sign shows the end: a page may be empty, be
    /// called the last one, or be the page before once more (the catalog's `Paging`).
    ///
    /// - Throws: `.pastTheEnd` for an empty page after the first; `.withheld` if the service shows no work of the only page.
    package static func feed(_ body: JSON, page: Int) throws(Failure) -> ListingPage {
        let numbers = try elements(
            of: body["page"]["ids"], else: "new works of followed authors have no order; pixiv may have changed them")
        if page > 1, numbers.isEmpty { throw .pastTheEnd }
        if !numbers.isEmpty, numbers.allSatisfy({ $0.number ?? 0 <= 0 }) {
            throw noneUnderstood(numbers.count, "works")
        }
        let list = try records(of: numbers, in: body)
        let known = Dictionary(list.works.map { ($0.id.rawValue, $0) }) { first, _ in first }
        let works = numbers.compactMap { $0.number.flatMap { known[$0] } }
        let isLast = numbers.isEmpty || body["page"]["isLastPage"].flag == true
        if page == 1, isLast, works.isEmpty, !numbers.isEmpty { throw .withheld(Withheld.all) }
        return ListingPage(works: works, hasNext: !isLast, unreadable: list.unreadable)
    }

    /// Decodes `/ajax/illust/<id>/recommend/init`: the first related works, and the numbers of the others.
    package static func related(_ body: JSON) throws(Failure) -> ListingPage {
        guard body["illusts"].isArray, body["nextIds"].isArray || !body["illusts"].elements.isEmpty else {
            throw .unreadable("pixiv's related works have no list; pixiv may have changed them.")
        }
        var list = try readable(ListingPage(records: body["illusts"].elements))
        list.further = body["nextIds"].elements.compactMap(\.number).filter { $0 > 0 }.map { WorkID(rawValue: $0) }
        return list
    }

    /// Decodes `/ajax/collection/<id>`: illustrations and manga by their places among the works of the collection.
    ///
    /// A work that this reader may not see has a place and no record. Texts and links have none: a collection of these, or of novels
    /// alone, is empty.
    ///
    /// - Throws: `.withheld` if the service shows no work of the collection to this reader.
    package static func collection(_ body: JSON) throws(Failure) -> ListingPage {
        let tiles = try elements(
            of: body["data"]["detail"]["tiles"], else: "collection has no list of works; pixiv may have changed it")
        if !tiles.isEmpty, tiles.allSatisfy({ $0["type"].text == nil && $0["workId"].isNull }) {
            throw noneUnderstood(tiles.count, "places")
        }
        let list = try records(of: tiles, in: body)
        let works = Dictionary(list.works.map { ($0.id.rawValue, $0) }) { first, _ in first }
        let places = tiles.filter { $0["type"].text == "Work" || !$0["workId"].isNull }.prefix(
            PixivLimits.tilesOfCollection)
        let entries = places.enumerated().compactMap { place, tile -> ListedWork? in
            guard tile["workType"].text != "novel", let work = tile["workId"].number.flatMap({ works[$0] }) else {
                return nil
            }
            return ListedWork(rank: place + 1, previousRank: nil, work: work)
        }
        if entries.isEmpty, places.contains(where: { $0["workType"].text != "novel" }) { throw .withheld(Withheld.all) }
        return ListingPage(entries: entries, total: places.count, unreadable: list.unreadable)
    }

    /// Decodes a user's bookmark tags (`…/illusts/bookmark/tags`): those of public bookmarks.
    ///
    /// - Throws: `.withheld` if the service names none because there are too many bookmarks or tags.
    package static func bookmarkTags(_ body: JSON) throws(Failure) -> ListingPage {
        let isTooMuch = ["tooManyBookmark", "tooManyBookmarkTags"].contains { body[$0].flag == true }
        if isTooMuch, body["public"] == .array([]) { throw .withheld("too many bookmarks") }
        return try names(body["public"], "tag", TagName.name)
    }

    /// Decodes a list of names: an author's tags (`…/illustmanga/tags`), bookmark tags or months of bookmarks
    /// (`…/bookmark/periods`), in the service's order, each once; those without works are left out.
    package static func names(
        _ list: JSON, _ field: String, _ name: (String) -> String?
    ) throws(Failure) -> ListingPage {
        let list = try elements(of: list, else: "list of names is none; pixiv may have changed it")
        // The number of works stands under another name in months.
        let shown = list.filter { $0["cnt"].count ?? $0["count"].count != 0 }
        let names = shown.prefix(PixivLimits.tagsOfAuthor).compactMap { entry in
            entry[field].text.flatMap { text in name(text).map { (name: $0, text: text) } }
        }.uniqued(by: \.name)
        if names.isEmpty, !shown.isEmpty {
            throw noneUnderstood(shown.count, "names")
        }
        let works = names.enumerated().map { place, named in
            var work = Work(NamedAuthor(id: UserID(rawValue: Int64(place) + 1), name: named.name))
            work.picture = TagName.reference(to: named.text, as: named.name)
            return work
        }
        return ListingPage(works: works, total: works.count, hasNext: false)
    }

    /// Decodes a page of `/ajax/user/<id>/following`; authors without a number are left out.
    ///
    /// - Throws: `.pastTheEnd` after the last page.
    package static func following(_ body: JSON, page: Int) throws(Failure) -> ListingPage {
        let users = try elements(
            of: body["users"], else: "list of followed authors has no authors; pixiv may have changed it")
        let known = users.compactMap { AuthorAnswers.author($0) }
        let authors = known.uniqued(by: \.id)
        if authors.isEmpty, !users.isEmpty { throw noneUnderstood(users.count, "followed authors") }
        let size = PixivLimits.authorsPerPage
        let total = plausible(body["total"].count, page: page, of: size, shown: known.count)
        let hasNext = try hasNext(page: page, of: size, total: total, isEmpty: authors.isEmpty)
        var answer = ListingPage(authors: authors, total: total, hasNext: hasNext)
        answer.unreadable = users.count - known.count
        return answer
    }

    /// Whether a page follows: by the total, or without a total by whether this page has entries.
    ///
    /// A list is empty only by a total of 0: a first page without entries is otherwise an answer that failed. So is a further page
    /// without entries that the total counts, unless the list has gaps; one without a total is the catalog's to judge.
    private static func hasNext(
        page: Int, of size: Int, total: Int?, isEmpty: Bool, hasGaps: Bool = true
    ) throws(Failure) -> Bool {
        if page == 1, isEmpty, total != 0 {
            throw .unreadable("pixiv shows nothing where there should be something; asking again later helps.")
        }
        guard let total else { return !isEmpty }
        if page > 1, isEmpty {
            guard total > 0 else {
                throw .unreadable("pixiv counts nothing where it counted something; asking again later helps.")
            }
            if total <= (page - 1) * size { throw .pastTheEnd }
        }
        if !hasGaps, isEmpty, total > 0 {
            throw .unreadable("pixiv shows no works on a page where it counts some; asking again later helps.")
        }
        return total > page * size
    }

    /// A list's total, unless the page contradicts it: it shows more than the total has, or is full where the total is 0.
    private static func plausible(_ total: Int?, page: Int, of size: Int, shown: Int) -> Int? {
        guard let total else { return nil }
        return (total == 0 ? shown < size : shown == 0 || total >= (page - 1) * size + shown) ? total : nil
    }

    /// The elements of a list that an answer must have; without it, the answer is as `what` says of pixiv.
    private static func elements(of list: JSON, else what: String) throws(Failure) -> [JSON] {
        guard list.isArray else { throw .unreadable("pixiv's \(what).") }
        return list.elements
    }

    private static func readable(_ list: ListingPage) throws(Failure) -> ListingPage {
        if list.entries.isEmpty, list.unreadable > 0 { throw noneUnderstood(list.unreadable, "works") }
        return list
    }

    /// The records beside a list that names its works.
    private static func records(of named: [JSON], in body: JSON) throws(Failure) -> ListingPage {
        let records = body["thumbnails"]["illust"]
        guard records.isArray || named.isEmpty else {
            throw .unreadable("pixiv's list names works and has no records of them; pixiv may have changed it.")
        }
        return try readable(ListingPage(records: records.elements))
    }

    private static func noneUnderstood(_ count: Int, _ things: String) -> Failure {
        .unreadable("None of \(count) \(things) could be understood; pixiv may have changed them.")
    }
}

// MARK: - Tag names

/// The names of directories for tags: a tag may have a slash, as `Fate/GrandOrder`.
enum TagName {
    private static let slash: (tag: Unicode.Scalar, name: Unicode.Scalar) = ("/", "\u{FF0F}")

    /// The name for a tag; nil for a tag that no directory can have as its name.
    static func name(_ tag: String) -> String? {
        let name = NormalizedName(replacing(slash.tag, by: slash.name, in: tag)).text
        let isPlain = name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        // The last two are the names by which desktops show themselves, and never found.
        let isTaken = [".", "..", ".hidden", ".directory"].contains(name)
        return isPlain && !isTaken && (1...FileName.longest).contains(name.utf8.count) ? name : nil
    }

    /// The name of a month of bookmarks, `2026-10`; nil for a text that is no month.
    static func month(_ text: String) -> String? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let year = Int(parts[0]), let month = Int(parts[1]), (1000...9999).contains(year),
            (1...12).contains(month)
        else { return nil }
        return "\(year)-\(Digits.padded(month, to: 2))"
    }

    /// The reference by which a tag is requested whose name means another one, a full-width slash or a form other than NFC: encoded,
    /// so that no name is one; the name itself where it means the tag.
    static func reference(to text: String, as name: String) -> String {
        tag(name).utf8.elementsEqual(text.utf8) ? name : PercentCoding.encode(text)
    }

    /// The tag of a name.
    static func tag(_ name: String) -> String { replacing(slash.name, by: slash.tag, in: name) }

    private static func replacing(_ old: Unicode.Scalar, by new: Unicode.Scalar, in text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(scalar == old ? new : scalar) }
        return String(scalars)
    }
}

// MARK: - Author answers

/// Decoders of answers about authors and the pages of their works.
package enum AuthorAnswers {
    /// Decodes the numbers in `/ajax/user/<id>/profile/all`: illustrations and manga, newest first.
    ///
    /// Each of the two is an object with the numbers as names, in no order, or `[]` or `false` if there are none.
    package static func allWorks(_ body: JSON) throws(Failure) -> [WorkID] {
        let lists = [body["illusts"], body["manga"]]
        let ids = Set(lists.flatMap(\.members).compactMap { Int64($0.name) }.filter { $0 > 0 })
        guard !ids.isEmpty || lists.allSatisfy({ [.null, .array([]), .object([]), .bool(false)].contains($0) }),
            lists.contains(where: { !$0.isNull })
        else {
            throw .unreadable("pixiv's list of an author's works has neither illustrations nor manga.")
        }
        return ids.sorted(by: >).map { WorkID(rawValue: $0) }
    }

    /// Decodes the records in `/ajax/user/<id>/profile/illusts` and `/ajax/illust/recommend/illusts`; unreadable works are left out
    /// and counted, and works without a record are null.
    ///
    /// - Throws: `.unreadable` for an answer without any entry.
    package static func works(_ body: JSON) throws(Failure) -> ListingPage {
        guard body["works"].isArray || !body["works"].members.isEmpty || body["illusts"].isArray else {
            throw .unreadable("pixiv's answer has no records of works; pixiv may have changed it.")
        }
        let works = body["works"].members.isEmpty ? body["works"].elements : body["works"].members.map(\.value)
        let records = works + body["illusts"].elements
        guard !records.isEmpty else {
            throw .unreadable("pixiv's answer has none of the works that were requested; asking again later helps.")
        }
        return ListingPage(records: records)
    }

    /// Decodes the pages in `/ajax/illust/<id>/pages`.
    ///
    /// - Parameters:
    ///   - body: The body of the answer.
    ///   - work: The requested work.
    /// - Returns: One path of the folder `original` for each page, in page order; nil for a page without a usable address.
    /// - Throws: `.needsSignIn` if all URLs are null, as for works that only signed-in users may see; `.unreadable` if no page
    ///   has a usable address.
    package static func originals(_ body: JSON, of work: WorkID) throws(Failure) -> [PicturePath?] {
        let urls = body.elements.map { $0["urls"]["original"] }
        guard !urls.isEmpty else { throw .unreadable("pixiv tells no pages of work \(work.rawValue).") }
        if urls.allSatisfy(\.isNull) { throw .needsSignIn }
        let paths = urls.enumerated().map { page, url in
            url.text.flatMap { PicturePath(url: $0) }.flatMap { path in
                path.folder == .original && path.work == work && (path.page ?? 0) == page ? path : nil
            }
        }
        guard paths.contains(where: { $0 != nil }) else {
            throw .unreadable("pixiv tells no usable address of a page of work \(work.rawValue).")
        }
        return paths
    }

    /// Decodes an author in a list of followed authors; nil if the number is missing.
    package static func author(_ body: JSON) -> NamedAuthor? {
        guard let id = body["userId"].number, id > 0 else { return nil }
        return NamedAuthor(id: UserID(rawValue: id), name: body["name"].shortText ?? body["userName"].shortText ?? "")
    }

    /// Decodes the author in `/ajax/user/<id>?full=1`; without `full` the answer has only name and picture.
    ///
    /// - Parameters:
    ///   - body: The body of the answer.
    ///   - author: The requested author.
    /// - Returns: The profile; fields that the answer lacks are nil or empty.
    /// - Throws: `.unreadable` if the record is missing or of another author.
    package static func profile(_ body: JSON, of author: UserID) throws(Failure) -> AuthorProfile {
        guard let told = self.author(body), told.id == author else {
            throw .unreadable("pixiv's record of author \(author.rawValue) makes no sense; pixiv may have changed it.")
        }
        let pictures = ["imageBig", "image"].lazy.compactMap { body[$0].text.flatMap { AvatarPath(url: $0) } }
        return AuthorProfile(
            id: told.id, name: told.name, avatar: pictures.first?.reference,
            comment: body["comment"].text.map { PlainText.lines($0) } ?? "", following: body["following"].count,
            webPage: body["webpage"].words, region: body["region"]["name"].words)
    }
}

// MARK: - Works of a list

/// Works without ranks: of an author, a search, bookmarks or followed authors.
extension ListingPage {
    /// Reads records one by one; advertisement slots and `null` (for works that were not requested) do not count as entries.
    package init(records: [JSON]) {
        let told = records.filter { $0["isAdContainer"].flag != true && !$0.isNull }
        let works = told.compactMap(WorkAnswers.brief)
        self.init(works: works.uniqued(by: \.id), unreadable: told.count - works.count)
    }

    /// Reads bookmarks (`/ajax/user/<id>/illusts/bookmarks`) and works with a tag (`…/illusts/tag`).
    package init(list body: JSON) {
        self.init(records: body["works"].elements)
        total = body["total"].count
    }

    /// Reads results of a search (`/ajax/search/…`): `illustManga`, or `illust` and `manga` apart.
    package init(search body: JSON) {
        let groups = ["illustManga", "illust", "manga"].map { body[$0] }
        self.init(records: groups.flatMap { $0["data"].elements })
        let totals = groups.compactMap { $0["total"].count }
        total = totals.isEmpty ? nil : totals.reduce(0, +)
    }
}
