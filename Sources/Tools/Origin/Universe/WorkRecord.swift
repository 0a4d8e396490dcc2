import Rankings

/// All that the origin knows about a work.
struct WorkRecord: Sendable {
    var id: WorkID
    var title: String
    var author: UserID
    var authorName: String
    var tags: [String]
    var kind: WorkKind
    /// Pixels of each page's original.
    var pages: [PixelSize]
    var uploaded: JapanTime
    /// What the listing shows as date; not always the upload's.
    var displayed: JapanTime
    /// The 32 hexadecimal digits that some newer paths carry.
    var hash: String?
    /// Whether the pictures of an animation have `_p0` in their names; older ones do not.
    var hasPageMark: Bool
    var format: ServedFormat
    var views: Int
    var ratings: Int
    var isOriginal: Bool
    /// Shown to signed-in users only.
    var isMasked: Bool
    var series: Series?
    /// 1 for R-18, 2 for R-18G; the pictures of such works are as tame as all others.
    var xRestrict = 0
    /// 0 unknown, 1 drawn by hand, 2 made with AI.
    var aiType = 0
    /// Whether the image host answers 500 for the original, always.
    var hasBrokenOriginal = false
    /// The rank at which the work was first seen, for the lettering of its pictures.
    var debut: Int?

    /// The author's own row of works that this one belongs to.
    struct Series: Sendable {
        let id: Int
        let title: String
        let count: Int
        let order: Int
        let started: JapanTime
    }
}

/// Width and height in pixels.
struct PixelSize: Hashable, Sendable {
    let width: Int
    let height: Int
}
