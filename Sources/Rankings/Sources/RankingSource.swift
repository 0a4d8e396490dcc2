/// An origin of rankings: a service, an archive, or the embedded origin.
///
/// ## Concurrency
///
/// All methods may be called from any task at once. Cancelling the calling task cancels the request.
package protocol RankingSource: Sendable {
    /// The facts of the source that hold for every user.
    var description: SourceDescription { get }

    /// The modes that can be listed in the present sign-in state, without the limited ones.
    var modes: [RankingMode] { get }

    /// One page of a ranking.
    ///
    /// - Parameters:
    ///   - mode: The ranking.
    ///   - day: The day, or nil for the newest published one.
    ///   - page: The page, from 1.
    ///   - deadline: The moment at which the method gives up, whatever the state of the network.
    /// - Returns: The page; its day is the requested day.
    /// - Throws: `SourceError`: `.notPublished` for a day that the service does not have yet, `.pastTheEnd` for a page after
    ///   the last.
    func rankingPage(
        _ mode: RankingMode, day: Day?, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> RankingPage

    /// The numbers of all works of an author, newest first; empty for an author without works.
    func authorWorks(_ author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [WorkID]

    /// The records of at most `worksPerRequest` works of one author, in the order of `ids`.
    ///
    /// Works that the service does not return are missing.
    func works(
        _ ids: [WorkID], of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [Work]

    /// The highest number of works that one `works(_:of:deadline:)` call may name.
    var worksPerRequest: Int { get }

    /// The session of the source and its user; may change at any time.
    var signIn: SignIn { get }

    /// One page of a search, newest first.
    ///
    /// - Throws: `.pastTheEnd` after the last page.
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

    /// One page of the authors that a user follows.
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

    /// The profile of an author, as the service reports it.
    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> AuthorProfile

    /// References to the originals of all pages, in page order, for `location` with the rendition `original`.
    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [String]

    /// One page of the works of an artist known by name alone, newest first.
    ///
    /// - Throws: `.pastTheEnd` after the last page; `.notFound` for a name that the service does not accept.
    func artistPage(
        _ artist: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage

    /// Entries on a full page of an artist's works.
    var worksPerArtistPage: Int { get }

    /// The files of a work's directory, where its record names them all: the original, and the files made of it.
    ///
    /// - Returns: Nil where only a request to the service finds them.
    func files(of work: Work) -> [WorkPicture]?

    /// Possible references to the originals of a work, likeliest first, where only a request to the image host confirms one.
    ///
    /// A pure function of a listed work's record; all pages of a work have the same format. Empty for withheld works.
    func originalCandidates(of work: Work) -> [String]

    /// The location of a rendition of a page; a pure function of the work's record.
    ///
    /// - Parameters:
    ///   - work: The work.
    ///   - picture: A reference from a record, from `originals`, from `originalCandidates`, or to an animation's archive.
    ///   - page: The page, from 0.
    ///   - rendition: `original` needs a reference that contains the format, `archive` a reference to an archive.
    /// - Returns: Nil where the reference does not determine a location, and for withheld works.
    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation?

    /// An address on the image host that costs the host nothing, used to open connections; nil where that is of no use.
    var imageHost: PictureLocation? { get }

    /// The location of an author's picture, with its upload time in Unix seconds.
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

/// Defaults for a source that has rankings alone; abilities that its description does not name are never requested.
extension RankingSource {
    package var signIn: SignIn { .signedOut }

    package var modes: [RankingMode] { description.modes(isSignedIn: signIn != .signedOut) }

    /// Whether a ranking can be requested in the present sign-in state.
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
