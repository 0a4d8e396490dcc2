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
