/// Bounds of what is believed and asked, each with its reason.
package enum PixivLimits {
    /// Highest page number of a work; the service allows 200 pages.
    package static let pages = 999
    /// Ranks; the longest ranking has 500.
    static let ranks: ClosedRange<Int64> = 1...99_999
    /// Times in Unix seconds, to the end of the year 9999.
    static let times: ClosedRange<Int64> = 0...253_402_300_799
    /// Pixels of an edge; the service allows 20,000.
    static let pixels: ClosedRange<Int64> = 0...1_000_000
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
    /// Works, bookmarks, views; the service has 150 million works.
    static let counts: ClosedRange<Int64> = 0...1_000_000_000
    /// Bytes of a title, name or tag; the service allows 32 characters for a title.
    static let titleBytes = 4096
    /// Characters of a caption's HTML that are read; the service allows 3000 in a caption.
    static let captionCharacters = 65_536
    /// Bytes of an answer; the largest seen is 90 KB, an author of 100,000 works has 2 MB.
    static let answerBytes: Int64 = 16 << 20
    /// The pause after a refusal that names none, in seconds: limits were seen to be gone after one to two minutes.
    static let usualPause: Int64 = 120
    /// How much longer than its deadline a request on nobody's behalf may wait for its turn: the pages of a long listing are asked
    /// for together, and its reader waits for each of them anew.
    static let unaskedPatience: Duration = .seconds(120)
    /// Characters of the service's own words in an error text.
    static let quotedCharacters = 120
}
