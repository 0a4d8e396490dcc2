package import Rankings

/// Searches, lists of signed-in users and full records.
extension PixivSource {
    package var worksPerSearchPage: Int { PixivLimits.worksPerSearchPage }

    package var worksPerBookmarksPage: Int { PixivLimits.worksPerBookmarksPage }

    package var authorsPerPage: Int { PixivLimits.authorsPerPage }

    package func searchPage(
        _ words: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        // A path with nothing or dots in the words' place is another one.
        guard !words.isEmpty, words != ".", words != ".." else { throw .notFound }
        guard page > 0 else { throw .pastTheEnd }
        return try ListAnswers.search(
            await api(forPage: page).body(PixivRoutes.search(words, page: page), deadline: deadline), page: page)
    }

    package func bookmarksPage(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        guard user.rawValue > 0 else { throw .notFound }
        guard page > 0 else { throw .pastTheEnd }
        let body = try await api(forPage: page).body(PixivRoutes.bookmarks(of: user, page: page), deadline: deadline)
        return try ListAnswers.bookmarks(body, page: page)
    }

    package func followedAuthors(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorPage {
        guard user.rawValue > 0 else { throw .notFound }
        guard page > 0 else { throw .pastTheEnd }
        let body = try await api(forPage: page).body(PixivRoutes.following(of: user, page: page), deadline: deadline)
        return try ListAnswers.following(body, page: page)
    }

    package func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> WorkDetails {
        guard work.rawValue > 0 else { throw .notFound }
        return try WorkAnswers.details(await api.body(PixivRoutes.details(of: work), deadline: deadline), of: work)
    }

    package func animation(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AnimationRecord {
        guard work.rawValue > 0 else { throw .notFound }
        return try WorkAnswers.animation(await api.body(PixivRoutes.animation(of: work), deadline: deadline), of: work)
    }

    package func profile(
        of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorProfile {
        guard author.rawValue > 0 else { throw .notFound }
        return try AuthorAnswers.profile(
            await api.body(PixivRoutes.profile(of: author), deadline: deadline), of: author)
    }
}
