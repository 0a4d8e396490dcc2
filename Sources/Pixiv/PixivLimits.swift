/// Bounds of what is believed and asked, each with its reason.
package enum PixivLimits {
    /// Highest page number of a work; the service allows 200 pages.
    package static let pages = 999
    /// Ranks; the longest ranking has 500.
    static let ranks: ClosedRange<Int64> = 1...99_999
    /// Frames of an animation; the service takes 150 from its users.
    static let frames = 2000
    /// Tags of a work; the service allows 10.
    static let tags = 64
    /// Entries on a full page of a ranking; a page may have fewer, as deleted works leave gaps.
    static let entriesPerPage = 50
    /// Works that `profile/illusts` takes in one request; the service answers more with an error.
    package static let worksPerRequest = 100
    /// Entries of a full page of a search, of bookmarks and of followed authors, as the service's own pages request them.
    static let worksPerSearchPage = 60
    static let worksPerBookmarksPage = 48
    static let authorsPerPage = 24
    /// Pages of a search; the service tells 10 to strangers and 1000 to users.
    static let searchPages: ClosedRange<Int64> = 0...100_000
    /// Characters of a caption's HTML that are read; the service allows 3000 in a caption.
    static let captionCharacters = 65_536
}
