/// Where rankings come from: a service, an archive, the embedded origin.
///
/// ## Concurrency
///
/// All methods may be called from any task at once. Cancelling the calling task cancels the request.
package protocol RankingSource: Sendable {
    /// What is true of it whoever asks.
    var description: SourceDescription { get }

    /// The modes that can be listed with the present sign-in state, without the limited ones.
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

    /// Whose session the source has; may change at any time.
    var signIn: SignIn { get }

    /// One page of a search, newest first.
    ///
    /// - Throws: `.pastTheEnd` behind the last page.
    func searchPage(
        _ words: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage

    /// Entries on a full page of a search.
    var worksPerSearchPage: Int { get }

    /// One page of a user's public bookmarks, newest first.
    ///
    /// - Throws: `.needsSignIn` without a valid session.
    func bookmarksPage(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage

    /// Entries on a full page of bookmarks.
    var worksPerBookmarksPage: Int { get }

    /// One page of the authors whom a user follows.
    ///
    /// - Throws: `.needsSignIn` without a valid session.
    func followedAuthors(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorPage

    /// Entries on a full page of followed authors.
    var authorsPerPage: Int { get }

    /// The full record of a work.
    func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> WorkDetails

    /// The frames of an animation.
    func animation(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> AnimationRecord

    /// What the service tells about an author.
    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> AuthorProfile

    /// References to every page's original, in page order: for `location` with the rendition `original`.
    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [String]

    /// One page of the works of an artist who is known by name alone, newest first.
    ///
    /// - Throws: `.pastTheEnd` behind the last page; `.notFound` for a name that the service does not take.
    func artistPage(
        _ artist: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage

    /// Entries on a full page of an artist's works.
    var worksPerArtistPage: Int { get }

    /// The files of a work's directory where its record tells them all: the original, and what was made of it.
    ///
    /// - Returns: Nil where the service has to be asked for them.
    func files(of work: Work) -> [WorkPicture]?

    /// References under which the originals of a work may be had, likeliest first, where only asking the image host tells.
    ///
    /// A pure function of a listed work's record; all pages of a work have the same format. Empty for withheld works.
    func originalCandidates(of work: Work) -> [String]

    /// Where a rendition of a page is to be had; a pure function of the work's record.
    ///
    /// - Parameters:
    ///   - work: The work.
    ///   - picture: The reference of a record, of `originals`, of `originalCandidates` or of an animation's archive.
    ///   - page: The page, from 0.
    ///   - rendition: `original` needs a reference that tells the format, `archive` one of an archive.
    /// - Returns: Nil for what the reference does not tell, and for withheld works.
    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation?

    /// An address on the image host that costs it nothing, for making connections; nil if there is no use in that.
    var imageHost: PictureLocation? { get }

    /// Where the picture of an author is, with its upload time in Unix seconds.
    func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)?

    /// The web page of a work, for people.
    func webPage(of work: WorkID) -> String

    /// The web page of an author, for people.
    func webPage(of author: UserID) -> String
}

extension RankingSource {
    package var imageHost: PictureLocation? { nil }
}

// MARK: - Defaults

/// A source need not have more than rankings; what its description does not name is never asked for.
extension RankingSource {
    package var signIn: SignIn { .signedOut }

    package var modes: [RankingMode] { description.modes(isSignedIn: signIn != .signedOut) }

    /// Whether a ranking can be asked for with the present sign-in state.
    package func has(_ mode: RankingMode) -> Bool {
        description[mode] != nil && modes.contains(description.whole(of: mode))
    }

    package func can(_ ability: SourceAbility) -> Bool { description.can(ability) }

    package func authorWorks(
        _ author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [WorkID] {
        throw .notFound
    }

    package func works(
        _ ids: [WorkID], of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [Work] {
        throw .notFound
    }

    package var worksPerRequest: Int { 100 }

    package func searchPage(
        _ words: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        throw .notFound
    }

    package var worksPerSearchPage: Int { 60 }

    package func artistPage(
        _ artist: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        throw .notFound
    }

    package var worksPerArtistPage: Int { 100 }

    package func files(of work: Work) -> [WorkPicture]? { nil }

    package func bookmarksPage(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        throw .needsSignIn
    }

    package var worksPerBookmarksPage: Int { 48 }

    package func followedAuthors(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorPage {
        throw .needsSignIn
    }

    package var authorsPerPage: Int { 24 }

    package func details(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkDetails {
        throw .notFound
    }

    package func animation(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AnimationRecord {
        throw .notFound
    }

    package func profile(
        of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorProfile {
        throw .notFound
    }

    package func originals(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [String] {
        throw .notFound
    }

    package func webPage(of author: UserID) -> String {
        ""
    }

    package func originalCandidates(of work: Work) -> [String] { [] }

    package func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)? { nil }
}
