/// Bounds of what is believed and asked, each with its reason.
package enum Limits {
    /// Highest page number of a work; the service allows 200 pages.
    package static let pages = 999
    /// Ranks; the longest ranking has 500.
    static let ranks: ClosedRange<Int64> = 1...99_999
    /// Times in Unix seconds, to the end of the year 9999.
    static let times: ClosedRange<Int64> = 0...253_402_300_799
    /// Pixels of an edge; the service allows 20,000.
    static let pixels: ClosedRange<Int64> = 0...1_000_000
    /// Tags of a work; the service allows 10.
    static let tags = 64
    /// Entries on a page of a ranking (reference/pixiv-api.md, "Length").
    static let entriesPerPage = 50
    /// Works that `profile/illusts` takes in one request; more is an error (section 2).
    package static let worksPerRequest = 100
    /// Bytes of an answer; the largest seen is 90 KB, an author of 100,000 works has 2 MB.
    static let answerBytes: Int64 = 16 << 20
    /// The pause after a refusal that names none, in seconds: limits are gone after one to two minutes (section 2, "Limits").
    static let usualPause: Int64 = 120
    /// Characters of the service's own words in an error text.
    static let quotedCharacters = 120
}
