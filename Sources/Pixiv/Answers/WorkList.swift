package import Rankings
import Sourcing

/// Works without ranks: of an author, a search, bookmarks, followed authors.
package struct WorkList: Hashable, Sendable {
    /// In the order of the answer, each work once.
    package var works: [Work] = []
    /// How many there are on all pages, if told.
    package var total: Int?
    /// Whether this is the last page, if told.
    package var isLast: Bool?
    /// Entries that made no sense and were left out.
    package var unreadable = 0

    /// Reads entries one by one; a slot for an advertisement and `null` for a work not asked for are no entries.
    package init(entries: [JSON]) {
        var seen: Set<WorkID> = []
        for entry in entries where entry["isAdContainer"].flag != true && !entry.isNull {
            guard let work = WorkDecoding.brief(entry) else {
                unreadable += 1
                continue
            }
            if seen.insert(work.id).inserted { works.append(work) }
        }
    }

    /// Bookmarks (`/ajax/user/<id>/illusts/bookmarks`) and works with a tag (`…/illusts/tag`).
    package init(works body: JSON) {
        self.init(entries: body["works"].elements)
        total = body["total"].count
    }

    /// Newest works of an author (`/ajax/user/<id>/works/latest`): an object in which works not told are null.
    package init(latest body: JSON) {
        self.init(entries: body["illusts"].members.map(\.value))
    }

    /// Results of a search (`/ajax/search/…`): `illustManga`, or `illust` and `manga` apart.
    package init(search body: JSON) {
        let groups = ["illustManga", "illust", "manga"].map { body[$0] }
        self.init(entries: groups.flatMap { $0["data"].elements })
        let totals = groups.compactMap { $0["total"].count }
        total = totals.isEmpty ? nil : totals.reduce(0, +)
    }

    /// New works of followed authors (`/ajax/follow_latest/illust`).
    package init(followLatest body: JSON) {
        self.init(entries: body["thumbnails"]["illust"].elements)
        isLast = body["page"]["isLastPage"].flag
    }
}
