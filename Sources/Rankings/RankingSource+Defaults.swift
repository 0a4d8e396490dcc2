/// A source need not have more than rankings and authors.
extension RankingSource {
    package var signIn: SignIn { .signedOut }

    package func searchPage(
        _ words: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        throw .notFound
    }

    package var worksPerSearchPage: Int { 60 }

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
