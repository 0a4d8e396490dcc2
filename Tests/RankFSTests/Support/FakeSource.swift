import Rankings
import TestSupport

/// A source that tells what a test put in, page by page, and counts what it was asked.
final class FakeSource: RankingSource {
    static let perPage = 50

    struct State {
        var rankings: [ListingKey: [ListedWork]] = [:]
        var authors: [UserID: [Work]] = [:]
        var asked: [String] = []
        var failure: Failure?
        /// Pages from this one on wait until `letPagesCome`.
        var heldFrom: Int?
        var signIn = SignIn.signedOut
        /// How often it was looked at, which costs a system call in a mount.
        var signInLooks = 0
        var hits: [String: [Work]] = [:]
        var bookmarks: [Work] = []
        /// New works of followed authors, by kind.
        var feeds: [ListingKind: [Work]] = [:]
        /// The tags of authors, with their works.
        var tags: [UserID: [(name: String, works: [Work])]] = [:]
        /// The tags of the present account's bookmarks, with their works.
        var bookmarkTags: [(name: String, works: [Work])] = []
        var followed: [NamedAuthor] = []
        var records: [WorkID: Work] = [:]
        var animations: [WorkID: AnimationRecord] = [:]
        var avatar: String?
    }

    let state = Watched(State())
    let description = SourceDescription.likePixiv

    /// What was asked, oldest first.
    var asked: [String] { state.withLock { $0.asked } }

    func setRanking(_ mode: RankingMode, _ day: Day, _ entries: [ListedWork]) {
        state.withLock { $0.rankings[.ranking(mode, day)] = entries }
    }

    func setAuthor(_ author: UserID, _ works: [Work]) {
        state.withLock { $0.authors[author] = works }
    }

    func signIn(_ user: UserID, bookmarks: [Int64]) {
        state.withLock { ($0.signIn, $0.bookmarks) = (.signedIn(user), bookmarks.map { Workbench.work($0) }) }
    }

    /// Lets every question fail, or answers again.
    func setFailure(_ failure: Failure?) {
        state.withLock { $0.failure = failure }
    }

    /// Pages from this one on wait; from 0 on, authors as well.
    func hold(from page: Int) {
        state.withLock { $0.heldFrom = page }
    }

    /// Answers held pages.
    func letPagesCome() {
        state.withLock { $0.heldFrom = nil }
    }

    /// Returns once so many questions were asked.
    func waitForQuestions(_ count: Int) async {
        await state.wait { $0.asked.count >= count }
    }

    func note(_ question: String) throws(Failure) {
        let failure = state.withLock { state in
            state.asked.append(question)
            return state.failure
        }
        if let failure { throw failure }
    }

    private func waitIfHeld(_ page: Int) async {
        await state.wait { page < $0.heldFrom ?? .max }
    }

    func page(
        of listing: ListingKey, _ part: ListingPart, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        guard case .number(let page) = part else { return try works(part, of: listing.user) }
        switch listing.kind {
        case .ranking: return try await rankingPage(of: listing, page)
        case .author:
            try note("author \(listing.user.rawValue)")
            await waitIfHeld(0)
            guard let works = state.withLock({ $0.authors[listing.user] }) else { throw .notFound }
            return ListingPage(entries: [], further: works.map(\.id))
        default: return try otherPage(of: listing, page)
        }
    }

    private func rankingPage(of listing: ListingKey, _ page: Int) async throws(Failure) -> ListingPage {
        guard let mode = listing.mode else { throw .notFound }
        let day = listing.ranking?.day
        try note("\(mode.rawValue) \(day?.description ?? "newest") \(page)")
        await waitIfHeld(page)
        let rankings = state.withLock { $0.rankings }
        let days = rankings.keys.compactMap { key in key.ranking.flatMap { $0.mode == mode ? $0.day : nil } }
        guard let served = day ?? days.max(), let all = rankings[.ranking(mode, served)] else { throw .notPublished }
        let start = (page - 1) * Self.perPage
        guard start < all.count || page == 1 else { throw .pastTheEnd }
        let entries = Array(all[start..<min(all.count, start + Self.perPage)])
        return ListingPage(
            entries: entries, day: served, total: all.count, hasNext: start + entries.count < all.count)
    }

    private func works(_ part: ListingPart, of author: UserID) throws(Failure) -> ListingPage {
        guard case .works(let ids) = part else { throw .notFound }
        try note("works of \(author.rawValue)")
        return ListingPage(works: state.withLock { $0.authors[author] ?? [] }.filter { ids.contains($0.id) })
    }

    /// Originals and archives are had under references that tell the format.
    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        switch rendition {
        case .original, .archive:
            guard let format = picture.split(separator: ".").dropFirst().last else { return nil }
            return PictureLocation(
                url: "https://img.test/\(picture)", headers: ["Referer: https://fake.test/"],
                fileExtension: String(format))
        default: return Self.place(of: work)
        }
    }

    private static func place(of work: WorkID) -> PictureLocation {
        PictureLocation(
            url: "https://img.test/\(work.rawValue).jpg", headers: ["Referer: https://fake.test/"],
            fileExtension: "jpg")
    }
}
