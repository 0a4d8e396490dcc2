import Rankings
import Synchronization

/// Sessions, searches, bookmarks and records.
extension FakeSource {
    func set(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
    }

    var signIn: SignIn { state.withLock { $0.signIn } }

    /// What members see as well, as long as the service takes the session.
    var modes: [RankingMode] {
        if case .signedIn = signIn { return RankingMode.everyone + RankingMode.signedIn }
        return RankingMode.everyone
    }

    func searchPage(
        _ words: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        try note("search \(words) \(page)")
        return Self.page(state.withLock { $0.hits[words] ?? [] }, page, of: worksPerSearchPage)
    }

    var worksPerSearchPage: Int { 60 }

    func bookmarksPage(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        try note("bookmarks \(user.rawValue) \(page)")
        guard case .signedIn = signIn else { throw .needsSignIn }
        return Self.page(state.withLock { $0.bookmarks }, page, of: 48)
    }

    private static func page(_ works: [Work], _ page: Int, of size: Int) -> WorkPage {
        let shown = works.dropFirst((page - 1) * size)
        return WorkPage(
            works: Array(shown.prefix(size)), total: works.count, hasNext: shown.count > size, unreadable: 0)
    }

    func followedAuthors(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorPage {
        try note("followed \(user.rawValue) \(page)")
        guard case .signedIn = signIn else { throw .needsSignIn }
        return AuthorPage(authors: state.withLock { $0.followed }, hasNext: false)
    }

    func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> WorkDetails {
        try note("details \(work.rawValue)")
        return try state.withLock { state throws(SourceError) in
            guard let record = state.records[work] else { throw .notFound }
            return WorkDetails(work: record, caption: "Words — “ü”")
        }
    }

    func animation(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AnimationRecord {
        try note("animation \(work.rawValue)")
        return try state.withLock { state throws(SourceError) in
            guard let animation = state.animations[work] else { throw .notFound }
            return animation
        }
    }

    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> AuthorProfile {
        try note("profile \(author.rawValue)")
        return AuthorProfile(id: author, name: "Author", avatar: state.withLock { $0.avatar })
    }

    func originalCandidates(of work: Work) -> [String] {
        work.kind == .animation ? ["\(work.id.rawValue)0.png"] : []
    }

    func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)? {
        (
            PictureLocation(
                url: "https://img.test/\(reference)", headers: ["Referer: https://fake.test/"], fileExtension: "jpg"),
            1_600_000_000
        )
    }

    func webPage(of author: UserID) -> String { "https://fake.test/users/\(author.rawValue)" }
}
