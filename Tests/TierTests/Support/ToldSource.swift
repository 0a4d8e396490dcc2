import Rankings
import Synchronization
import TestSupport

/// A source with one work in each ranking, and a session that comes and goes.
final class ToldSource: RankingSource {
    struct State {
        var signIn = SignIn.signedOut
        /// What happens while the service is asked.
        var meanwhile: (@Sendable () -> Void)?
        /// Deadlines of the questions so far.
        var deadlines: [ContinuousClock.Instant] = []
    }

    let newest: Day
    let state = Mutex(State())
    let description = SourceDescription.likePixiv
    let (worksPerRequest, worksPerSearchPage, worksPerBookmarksPage) = (100, 60, 48)
    let (worksPerArtistPage, authorsPerPage) = (60, 24)

    init(newest: Day) { self.newest = newest }

    var modes: [RankingMode] { RankingMode.everyone }
    var signIn: SignIn { state.withLock { $0.signIn } }
    var asked: Int { state.withLock { $0.deadlines.count } }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    func rankingPage(
        _ mode: RankingMode, day: Day?, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> RankingPage {
        let meanwhile = state.withLock { state in
            state.deadlines.append(deadline)
            return state.meanwhile
        }
        meanwhile?()
        return RankingPage(
            mode: mode, day: day ?? newest, page: page, entries: [], total: 0, hasNext: false, unreadable: 0)
    }

    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> AuthorProfile {
        throw .notFound
    }

    func authorWorks(_ author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [WorkID] {
        [WorkID(rawValue: 1)]
    }

    func works(
        _ ids: [WorkID], of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [Work] { [] }

    func searchPage(
        _ words: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage { throw .notFound }

    func bookmarksPage(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage { throw .notFound }

    func followedAuthors(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorPage { throw .notFound }

    func artistPage(
        _ artist: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage { throw .notFound }

    func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> WorkDetails {
        throw .notFound
    }

    func animation(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> AnimationRecord {
        throw .notFound
    }

    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [String] { [] }

    func files(of work: Work) -> [WorkPicture]? { nil }
    func originalCandidates(of work: Work) -> [String] { [] }
    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? { nil }
    func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)? { nil }
    func webPage(of work: WorkID) -> String { "" }
    func webPage(of author: UserID) -> String { "" }
}
