/// An origin of rankings: a service, an archive, or the embedded origin.
///
/// Five methods send requests: one for a part of a listing, and one for each kind of record. All others are pure.
///
/// ## Concurrency
///
/// All methods may be called from any task at once. Cancelling the calling task cancels the request.
package protocol RankingSource: Sendable {
    /// The facts of the source that hold for every user.
    var description: SourceDescription { get }

    /// The session of the source and its user; may change at any time.
    var signIn: SignIn { get }

    /// One part of a listing.
    ///
    /// - Parameters:
    ///   - listing: The listing, of a kind that the description names; without a day, the newest day of a ranking.
    ///   - part: The part.
    ///   - deadline: The moment at which the method gives up, whatever the state of the network.
    /// - Returns: The entries of the part. The day of a ranking's page is the requested one.
    /// - Throws: `Failure`: `.notPublished` for a day that the service does not have yet, `.pastTheEnd` for a page after
    ///   the last, `.needsSignIn` for a listing that needs a valid session, `.notFound` for one that the service does not have.
    func page(
        of listing: ListingKey, _ part: ListingPart, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage

    /// The full record of a work.
    func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> WorkDetails

    /// The frames of an animation.
    func animation(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> AnimationRecord

    /// References to the originals of all pages, in page order, for `location` with the rendition `original`.
    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> [String]

    /// The profile of an author, as the service reports it.
    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(Failure) -> AuthorProfile

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

    /// The location of an author's picture, with its upload time in Unix seconds.
    func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)?

    /// An address on the image host that costs the host nothing, used to open connections; nil where that is of no use.
    var imageHost: PictureLocation? { get }
}

/// Defaults for a source that has rankings alone; kinds and abilities outside its description are never requested.
extension RankingSource {
    package var signIn: SignIn { .signedOut }

    package func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> WorkDetails {
        throw .notFound
    }

    package func animation(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> AnimationRecord { throw .notFound }

    package func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> [String] {
        throw .notFound
    }

    package func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(Failure) -> AuthorProfile {
        throw .notFound
    }

    package func files(of work: Work) -> [WorkPicture]? { nil }

    package func originalCandidates(of work: Work) -> [String] { [] }

    package func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)? { nil }

    package var imageHost: PictureLocation? { nil }
}

// MARK: - Abilities

extension RankingSource {
    /// The modes that can be listed in the present sign-in state, without the limited ones.
    package var modes: [RankingMode] { description.modes(isSignedIn: signIn != .signedOut) }

    /// Whether a ranking can be requested in the present sign-in state.
    package func has(_ mode: RankingMode) -> Bool {
        description[mode] != nil && modes.contains(description.whole(of: mode))
    }

    package func has(_ kind: ListingKind) -> Bool { description.has(kind) }

    package func can(_ ability: SourceAbility) -> Bool { description.can(ability) }

    /// The web page of a work, for people.
    package func webPage(of work: WorkID) -> String { description.webPage(work) }

    /// One page of a listing, from 1.
    package func page(
        of listing: ListingKey, _ number: Int, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        try await page(of: listing, .number(number), deadline: deadline)
    }
}
