/// Where rankings come from: a service, an archive, the embedded origin.
///
/// ## Concurrency
///
/// All methods may be called from any task at once. Cancelling the calling task cancels the request.
package protocol RankingSource: Sendable {
    /// The source's name as in `fsname=`, for example `pixiv`.
    var name: String { get }

    /// The modes that can be listed with the present sign-in state.
    var modes: [RankingMode] { get }

    /// One page of a ranking.
    ///
    /// - Parameters:
    ///   - mode: The ranking.
    ///   - day: The day, or nil for the newest published one.
    ///   - page: The page, from 1.
    ///   - deadline: When to give up, whatever the network does.
    /// - Returns: The page; its day is the one asked for.
    /// - Throws: `SourceError`: `.notPublished` for a day that the service does not have yet, `.pastTheEnd` for a page behind the last.
    func rankingPage(
        _ mode: RankingMode, day: Day?, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> RankingPage

    /// The numbers of all works of an author, newest first; an author without works has none.
    func authorWorks(_ author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [WorkID]

    /// The records of at most `worksPerRequest` works of one author, in the order asked for; works that the service does not tell are missing.
    func works(
        _ ids: [WorkID], of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [Work]

    /// How many works one `works(_:of:deadline:)` call may name.
    var worksPerRequest: Int { get }

    /// The locations of every page's original, in page order.
    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [PictureLocation]

    /// Where a small or regular rendition is to be had; a pure function of the work's record.
    ///
    /// Nil for originals, whose format is not known from the record, and for withheld works.
    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation?

    /// The web page of a work, for people.
    func webPage(of work: WorkID) -> String
}

/// One page of a ranking as the source tells it.
package struct RankingPage: Sendable {
    package var mode: RankingMode
    /// The day that was really served.
    package var day: Day
    package var page: Int
    /// In rank order, gaps left out.
    package var entries: [ListedWork]
    /// How many entries the whole ranking has, if told.
    package var total: Int?
    /// Whether a further page exists.
    package var hasNext: Bool
    /// Entries that could not be understood and were left out.
    package var unreadable: Int

    package init(
        mode: RankingMode, day: Day, page: Int, entries: [ListedWork], total: Int?, hasNext: Bool, unreadable: Int
    ) {
        self.mode = mode
        self.day = day
        self.page = page
        self.entries = entries
        self.total = total
        self.hasNext = hasNext
        self.unreadable = unreadable
    }
}

/// Where to ask for a picture, and how.
package struct PictureLocation: Hashable, Sendable {
    package var url: String
    /// Header lines that this request needs (`Referer: …`); never credentials.
    package var headers: [String]
    /// `jpg`, `png`, `gif`: what the bytes must be.
    package var fileExtension: String

    package init(url: String, headers: [String], fileExtension: String) {
        self.url = url
        self.headers = headers
        self.fileExtension = fileExtension
    }
}

/// Why a source could not answer.
package enum SourceError: Error, Hashable, Sendable {
    /// The day is not published yet, or lies outside what the service keeps.
    case notPublished
    /// The page lies behind the last one.
    case pastTheEnd
    /// Only signed-in users see this.
    case needsSignIn
    /// The service asks to slow down; seconds to wait if it told them.
    case limited(retryAfter: Int64?)
    /// The service says that there is no such thing.
    case notFound
    /// No answer: no route, refused, no name, broken connection.
    case unreachable(String)
    /// No answer in time.
    case timedOut
    /// An answer that makes no sense.
    case unreadable(String)
    /// The asking task was cancelled.
    case cancelled
}
