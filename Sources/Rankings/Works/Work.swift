/// The kind of a work.
package enum WorkKind: Int, Hashable, Sendable {
    case illustration = 0
    case manga = 1
    case animation = 2
}

/// A work as a listing describes it.
package struct Work: Hashable, Sendable {
    package var id: WorkID
    package var title: String
    package var author: UserID
    package var authorName: String
    package var tags: [String]
    package var kind: WorkKind
    /// Pixels of page 0.
    package var width: Int
    package var height: Int
    package var pageCount: Int
    /// The upload time of page 0's file in Unix seconds: the modification time of its pictures.
    package var uploaded: Int64
    package var views: Int?
    package var ratings: Int?
    /// The source's own reference to page 0's pictures, opaque outside the source.
    package var picture: String
    /// The service's reason for withholding this work's pictures (`login_only`, …); nil for a readable work.
    package var withheld: String?
    /// Whether the work was made with AI; nil if the listing does not report it.
    package var isAI: Bool?
    /// The address of the page elsewhere that the service names as the work's origin; nil if it names none.
    package var origin: String?
    /// The number of the author's series that contains the work; nil if the listing names none.
    package var series: Int64?

    package init(
        id: WorkID, title: String, author: UserID, authorName: String, tags: [String], kind: WorkKind, width: Int,
        height: Int, pageCount: Int, uploaded: Int64, views: Int?, ratings: Int?, picture: String, withheld: String?,
        isAI: Bool? = nil, origin: String? = nil, series: Int64? = nil
    ) {
        self.id = id
        self.title = title
        self.author = author
        self.authorName = authorName
        self.tags = tags
        self.kind = kind
        self.width = width
        self.height = height
        self.pageCount = pageCount
        self.uploaded = uploaded
        self.views = views
        self.ratings = ratings
        self.picture = picture
        self.withheld = withheld
        self.isAI = isAI
        self.origin = origin
        self.series = series
    }
}

/// A work with its place in a listing.
package struct ListedWork: Hashable, Sendable {
    /// The place in the ranking, from 1; nil where the listing has no ranks.
    package var rank: Int?
    /// The place the day before; nil for a new entry.
    package var previousRank: Int?
    package var work: Work

    package init(rank: Int?, previousRank: Int?, work: Work) {
        self.rank = rank
        self.previousRank = previousRank
        self.work = work
    }
}
