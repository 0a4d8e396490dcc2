import Rankings
import Synchronization
import TestSupport

/// A source that tells what a test put in, page by page, and counts what it was asked.
final class FakeSource: RankingSource {
    static let perPage = 50

    struct State {
        var rankings: [ListingKey: [ListedWork]] = [:]
        var authors: [UserID: [Work]] = [:]
        var asked: [String] = []
        var failure: SourceError?
        /// Pages from this one on wait until `letPagesCome`.
        var heldFrom: Int?
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var signIn = SignIn.signedOut
        var hits: [String: [Work]] = [:]
        var bookmarks: [Work] = []
        var followed: [NamedAuthor] = []
        var records: [WorkID: Work] = [:]
        var animations: [WorkID: AnimationRecord] = [:]
        var avatar: String?
    }

    let state = Mutex(State())
    let description = SourceDescription.likePixiv
    let worksPerRequest = 100

    /// What was asked, oldest first.
    var asked: [String] { state.withLock { $0.asked } }

    func setRanking(_ mode: RankingMode, _ day: Day, _ entries: [ListedWork]) {
        state.withLock { $0.rankings[.ranking(mode, day)] = entries }
    }

    func setAuthor(_ author: UserID, _ works: [Work]) {
        state.withLock { $0.authors[author] = works }
    }

    /// Lets every question fail, or answers again.
    func setFailure(_ failure: SourceError?) {
        state.withLock { $0.failure = failure }
    }

    /// Pages from this one on wait; from 0 on, authors as well.
    func hold(from page: Int) {
        state.withLock { $0.heldFrom = page }
    }

    /// Answers held pages.
    func letPagesCome() {
        let waiting = state.withLock { state in
            state.heldFrom = nil
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns once so many questions were asked.
    func waitForQuestions(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let enough = state.withLock { state in
                if state.asked.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if enough { continuation.resume() }
        }
    }

    func note(_ question: String) throws(SourceError) {
        let (failure, watchers) = state.withLock { state in
            state.asked.append(question)
            let ready = state.watchers.filter { $0.count <= state.asked.count }
            state.watchers.removeAll { $0.count <= state.asked.count }
            return (state.failure, ready)
        }
        for watcher in watchers { watcher.continuation.resume() }
        if let failure { throw failure }
    }

    private func waitIfHeld(_ page: Int) async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                guard let first = state.heldFrom, page >= first else { return false }
                state.waiting.append(continuation)
                return true
            }
            if !isHeld { continuation.resume() }
        }
    }

    func rankingPage(
        _ mode: RankingMode, day: Day?, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> RankingPage {
        try note("\(mode.rawValue) \(day?.description ?? "newest") \(page)")
        await waitIfHeld(page)
        let rankings = state.withLock { $0.rankings }
        let days = rankings.keys.compactMap { key -> Day? in
            if case .ranking(mode, let day) = key { day } else { nil }
        }
        guard let served = day ?? days.max(), let all = rankings[.ranking(mode, served)] else { throw .notPublished }
        let start = (page - 1) * Self.perPage
        guard start < all.count || page == 1 else { throw .pastTheEnd }
        let entries = Array(all[start..<min(all.count, start + Self.perPage)])
        return RankingPage(
            mode: mode, day: served, page: page, entries: entries, total: all.count,
            hasNext: start + entries.count < all.count, unreadable: 0)
    }

    func authorWorks(_ author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [WorkID] {
        try note("author \(author.rawValue)")
        await waitIfHeld(0)
        guard let works = state.withLock({ $0.authors[author] }) else { throw .notFound }
        return works.map(\.id)
    }

    func works(
        _ ids: [WorkID], of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [Work] {
        try note("works of \(author.rawValue)")
        return state.withLock { $0.authors[author] ?? [] }.filter { ids.contains($0.id) }
    }

    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [String] {
        try note("originals \(work.rawValue)")
        let pages = state.withLock { $0.records[work]?.pageCount } ?? 1
        return (0..<pages).map { "\(work.rawValue)\($0).png" }
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

    func webPage(of work: WorkID) -> String {
        "https://fake.test/artworks/\(work.rawValue)"
    }

    private static func place(of work: WorkID) -> PictureLocation {
        PictureLocation(
            url: "https://img.test/\(work.rawValue).jpg", headers: ["Referer: https://fake.test/"],
            fileExtension: "jpg")
    }
}
