import HTTP
import Rankings
import TestSupport

/// A source whose answers follow from the question, counted and, if the test wants, held back.
final class FakeSource: RankingSource {
    enum Call: Hashable, Sendable {
        case page(Day?, Int)
        case ids(UserID)
        case works(Int, first: WorkID)
        case search(String, Int)
        case bookmarks(UserID, Int)
        case followed(Int)
        case feed(Int)
        case related(WorkID)
        case details(WorkID)
        case animation(WorkID)
        case profile(UserID)
        case originals(WorkID)
    }

    struct State {
        var calls: [Call] = []
        /// What tells each question that a person waits for it; absent where one does from the beginning.
        var urgencies: [Call: Urgency] = [:]
        var isHeld = false
        var held: [(id: Int, call: Call)] = []
        /// Released before they were asked.
        var released: [Call] = []
        /// Cancelled while they were held.
        var givenUp: Set<Int> = []
        var lastID = 0
        var failure: Failure?
        var failures: [Call: Failure] = [:]
        /// Pages of listings of any kind, in place of those that follow from the question; beyond them there is none.
        var pages: [ListingKey: [Result<ListingPage, Failure>]] = [:]
        /// What was asked for by a reference in place of its name.
        var named: [String] = []
        var newest: Day
        var total: Int? = 500
        var entries = 500
        var missingRanks: Set<Int> = []
        /// By how many ranks the ranking has moved on when page 2 is asked.
        var shift = 0
        var works: [UserID: [WorkID]] = [:]
        /// Works that are named and have no record.
        var lost: Set<WorkID> = []
        /// Hits, newest first.
        var hits: [String: [Int64]] = [:]
        var bookmarks: [Int64] = []
        var followed: [NamedAuthor] = []
        /// New works of followed authors, newest first.
        var feed: [Int64] = []
        /// Works related to a work.
        var related: [WorkID: [Int64]] = [:]
        /// Works as the service knows them where they are not the usual ones.
        var records: [WorkID: Work] = [:]
        var animations: [WorkID: AnimationRecord] = [:]
        var references: [WorkID: [String]] = [:]
        var profiles: [UserID: AuthorProfile] = [:]
        var unreadable = 0
        var signIn = SignIn.signedOut
        /// The question whose answer shows that the session has ended.
        var endsSession: Call?
        /// Ranks that are masked for everybody but signed-in users.
        var masked: Set<Int> = []
    }

    let state: Watched<State>
    let description: SourceDescription

    init(newest: Day, description: SourceDescription = .likePixiv) {
        self.description = description
        state = Watched(State(newest: newest))
    }

    var calls: [Call] { state.withLock { $0.calls } }
    var signIn: SignIn { state.withLock { $0.signIn } }
    var urgencies: [Call: Urgency] { state.withLock { $0.urgencies } }

    func set(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
    }

    /// Lets one held question be answered, also one that is still to come.
    func release(_ call: Call) {
        set { state in
            if let index = state.held.firstIndex(where: { $0.call == call }) {
                state.held.remove(at: index)
            } else {
                state.released.append(call)
            }
        }
    }

    func releaseAll() { set { ($0.isHeld, $0.held) = (false, []) } }

    func waitForCalls(_ count: Int) async {
        await state.wait { $0.calls.count >= count }
    }

    // MARK: - RankingSource

    func page(
        of listing: ListingKey, _ part: ListingPart, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        if case .named(let page, let name) = part {
            set { $0.named.append(name) }
            return try await self.page(of: listing, .number(page), deadline: deadline)
        }
        if let pages = state.withLock({ $0.pages[listing] }) {
            guard case .number(let page) = part else { return ListingPage(works: []) }
            guard page <= pages.count else { throw .pastTheEnd }
            return try pages[page - 1].get()
        }
        guard case .number(let page) = part else { return try await works(part, of: listing.user) }
        switch listing.kind {
        case .ranking:
            let day = listing.ranking?.day
            try await record(.page(day, page))
            return try rankingPage(day, page)
        case .author:
            try await record(.ids(listing.user))
            guard let works = state.withLock({ $0.works[listing.user] }) else { throw .notFound }
            return ListingPage(entries: [], further: works)
        default: return try await otherPage(of: listing, page)
        }
    }

    private func rankingPage(_ day: Day?, _ page: Int) throws(Failure) -> ListingPage {
        try state.withLock { state throws(Failure) in
            let served = day ?? state.newest
            guard served <= state.newest else { throw .notPublished }
            let shift = page > 1 ? state.shift : 0
            let first = (page - 1) * 50 + 1
            guard first <= state.entries else { throw .pastTheEnd }
            let ranks = (first...min(first + 49, state.entries)).filter { !state.missingRanks.contains($0) }
            return ListingPage(
                entries: ranks.map { rank in
                    let number = Int64(served.ordinal) * 1000 + Int64(rank - shift)
                    var work =
                        state.records[WorkID(rawValue: number)] ?? Self.work(number, title: "Title \(rank)")
                    let isSignedIn = if case .signedIn = state.signIn { true } else { false }
                    if state.masked.contains(rank), !isSignedIn { work.withheld = "login_only" }
                    return ListedWork(rank: rank, previousRank: rank + 1, work: work)
                },
                day: served, total: state.total, hasNext: first + 49 < state.entries, unreadable: state.unreadable)
        }
    }

    private func works(_ part: ListingPart, of author: UserID) async throws(Failure) -> ListingPage {
        guard case .works(let ids) = part else { throw .notFound }
        try await record(.works(ids.count, first: ids[0]))
        let (records, lost) = state.withLock { ($0.records, $0.lost) }
        let shown = ids.filter { !lost.contains($0) }
        return ListingPage(works: shown.map { records[$0] ?? Self.work($0.rawValue, title: "Work", author: author) })
    }

    /// A work as lists name it that do not show it.
    static func withheldWork(_ number: Int64) -> Work {
        var work = work(number, title: "-----")
        (work.withheld, work.picture) = ("r18", "")
        return work
    }

    static func work(_ number: Int64, title: String, author: UserID = UserID(rawValue: 7)) -> Work {
        Work(
            id: WorkID(rawValue: number), title: title, author: author, authorName: "Ann", tags: ["a b", "ü", "c,d"],
            kind: .manga, width: 1200, height: 900, pageCount: 3, uploaded: 1_700_000_000 + number % 1000, views: 5,
            ratings: nil, picture: "img/\(number)", withheld: nil)
    }

    func record(_ call: Call) async throws(Failure) {
        let id = state.withLock { state in
            state.calls.append(call)
            state.urgencies[call] = Urgency.current
            state.lastID += 1
            if state.isHeld {
                if let index = state.released.firstIndex(of: call) {
                    state.released.remove(at: index)
                } else {
                    state.held.append((state.lastID, call))
                }
            }
            return state.lastID
        }
        await withTaskCancellationHandler {
            await state.wait { state in !state.held.contains { $0.id == id } }
        } onCancel: {
            set { state in
                guard let index = state.held.firstIndex(where: { $0.id == id }) else { return }
                state.held.remove(at: index)
                state.givenUp.insert(id)
            }
        }
        let failure = state.withLock { state -> Failure? in
            if state.givenUp.remove(id) != nil { return .cancelled }
            if state.endsSession == call, case .signedIn(let user) = state.signIn {
                state.signIn = .expired(user)
                return .needsSignIn
            }
            return state.failure ?? state.failures[call]
        }
        if let failure { throw failure }
    }
}
