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
        /// The times that had passed before each of them.
        var waited: [Duration] = []
    }

    let newest: Day
    let state = Mutex(State())
    let description = SourceDescription.likePixiv

    init(newest: Day) { self.newest = newest }

    var signIn: SignIn { state.withLock { $0.signIn } }
    var asked: Int { state.withLock { $0.deadlines.count } }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    func page(
        of listing: ListingKey, _ part: ListingPart, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        guard let mode = listing.mode, description[mode] != nil else {
            return ListingPage(entries: [], further: [WorkID(rawValue: 1)])
        }
        let meanwhile = state.withLock { state in
            state.deadlines.append(deadline)
            state.waited.append(RequestUrgency.waited)
            return state.meanwhile
        }
        meanwhile?()
        return ListingPage(entries: [], day: listing.ranking?.day ?? newest, total: 0)
    }

    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? { nil }
}
