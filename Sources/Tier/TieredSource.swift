import Catalog
import Digests
import ImageHost
import ObjectStore
import Rankings
import Synchronization

/// A source whose answers machines share: what one of them was told is not asked of the service again.
///
/// Rankings, lists of authors' works and records of works are shared. The service tells those more who have signed in, whatever they ask:
/// what it tells them is shared only on request, and then with the same user's machines alone.
struct TieredSource: RankingSource {
    let source: any RankingSource
    let shared: SharedDocuments
    /// For what only signed-in users see; nil unless that was asked for.
    let own: @Sendable (UserID) -> SharedDocuments?

    /// Where an answer is shared, and for whom: nobody's answers get among another one's.
    private struct Share: Sendable {
        let documents: SharedDocuments
        /// Whom the documents stand for.
        let signIn: SignIn
        let began: ContinuousClock.Instant

        init(_ documents: SharedDocuments, signIn: SignIn) {
            self.documents = documents
            self.signIn = signIn
            began = documents.now
        }

        /// When the service is to have answered: what went by on the way to it is not taken from its time.
        func moved(_ deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
            deadline + began.duration(to: documents.now)
        }
    }

    /// Nil where an answer is not shared.
    private func share(needsSignIn: Bool = false) -> Share? {
        guard !RequestSharing.isRefused else { return nil }
        let signIn = source.signIn
        let documents = needsSignIn || signIn != .signedOut ? signIn.user.flatMap { own($0) } : shared
        return documents.map { Share($0, signIn: signIn) }
    }

    /// Whether an answer that has just come is of the one whom the documents stand for, who may have signed in or out meanwhile.
    private func stillHolds(_ share: Share) -> Bool { source.signIn == share.signIn }

    // MARK: - Rankings

    func rankingPage(
        _ mode: RankingMode, day: Day?, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> RankingPage {
        guard let share = share(needsSignIn: description.needsSignIn(mode)) else {
            return try await source.rankingPage(mode, day: day, page: page, deadline: deadline)
        }
        guard let day else {
            return try await newestPage(mode, page: page, share, deadline: deadline)
        }
        return try await rankingPage(mode, day, page, share) { () async throws(SourceError) in
            try await source.rankingPage(mode, day: day, page: page, deadline: share.moved(deadline))
        }
    }

    private func rankingPage(
        _ mode: RankingMode, _ day: Day, _ page: Int, _ share: Share,
        ask: @Sendable () async throws(SourceError) -> RankingPage
    ) async throws(SourceError) -> RankingPage {
        guard let document = share.documents.day(mode, day) else { return try await ask() }
        let days = description.days(of: mode)
        let answer = try await document.value("page/\(page)") { asked, now in
            AnswerAge.isFresh(day, days, asked: asked, now: now)
        } mayKeep: {
            stillHolds(share)
        } ask: { () async throws(SourceError) -> PageAnswer<RankingPageRecord> in
            do throws(SourceError) {
                let found = try await ask()
                // Another day is no answer to share.
                guard found.day == day else { throw .notPublished }
                return PageAnswer(page: RankingPageRecord(found))
            } catch .pastTheEnd {
                return PageAnswer(page: nil)
            }
        }
        guard let record = answer.page else { throw .pastTheEnd }
        return record.page(page, mode, day)
    }

    /// Which day is the newest is one answer, its page another: it is the first page of that day for everybody.
    private func newestPage(
        _ mode: RankingMode, page: Int, _ share: Share, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> RankingPage {
        let ask = { @Sendable () async throws(SourceError) -> RankingPage in
            try await source.rankingPage(mode, day: nil, page: page, deadline: share.moved(deadline))
        }
        guard let newest = share.documents.document("newest", mode.rawValue) else { return try await ask() }
        let days = description.days(of: mode)
        let told = ToldPage()
        let ordinal = try await newest.value("day") { asked, now in
            AnswerAge.holds(asked, AnswerAge.newest, now)
        } isPossible: { ordinal, now in
            (days.first...max(days.first, AnswerAge.newestDay(days, at: now))).contains(Day(ordinal: ordinal))
        } mayKeep: {
            stillHolds(share)
        } ask: { () async throws(SourceError) -> Int in
            let found = try await ask()
            told.page.withLock { $0 = found }
            if stillHolds(share), let document = share.documents.day(mode, found.day) {
                await document.offer("page/\(page)", PageAnswer(page: RankingPageRecord(found)))
            }
            return found.day.ordinal
        }
        // Whoever was told the day has been told its page.
        if let page = told.page.withLock({ $0 }) { return page }
        let day = Day(ordinal: ordinal)
        return try await rankingPage(mode, day, page, share) { () async throws(SourceError) in
            try await source.rankingPage(mode, day: day, page: page, deadline: share.moved(deadline))
        }
    }

    // MARK: - Authors and works

    func authorWorks(
        _ author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [WorkID] {
        try await value("authors", "\(author.rawValue)", "works", AnswerAge.author, deadline) {
            (deadline) async throws(SourceError) in
            try await source.authorWorks(author, deadline: deadline)
        }
    }

    func works(
        _ ids: [WorkID], of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [Work] {
        // The same works are asked for together wherever the list is the same.
        let name = XXH3.hex(Array(ids.map { "\($0.rawValue)" }.joined(separator: ",").utf8))
        let works: [Work] = try await value(
            "authors", "\(author.rawValue)-\(name)", "records", AnswerAge.author, deadline
        ) { (deadline) async throws(SourceError) in
            try await source.works(ids, of: author, deadline: deadline)
        }
        return works.map(\.bounded)
    }

    func artistPage(
        _ artist: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        let name = XXH3.hex(Array(artist.utf8))
        let answer = try await value("artists", name, "\(artist)/\(page)", AnswerAge.author, deadline) {
            (deadline) async throws(SourceError) -> PageAnswer<WorkPage> in
            do throws(SourceError) {
                return PageAnswer(page: try await source.artistPage(artist, page: page, deadline: deadline))
            } catch .pastTheEnd { return PageAnswer(page: nil) }
        }
        guard var found = answer.page else { throw .pastTheEnd }
        found.works = found.works.map(\.bounded)
        return found
    }

    func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> WorkDetails {
        var details = try await value("works", "\(work.rawValue)", "details", AnswerAge.record, deadline) {
            (deadline) async throws(SourceError) in try await source.details(of: work, deadline: deadline)
        }
        details.work = details.work.bounded
        return details
    }

    func animation(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> AnimationRecord {
        try await value("works", "\(work.rawValue)", "animation", AnswerAge.record, deadline) {
            (deadline) async throws(SourceError) in try await source.animation(of: work, deadline: deadline)
        }
    }

    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [String] {
        try await value("works", "\(work.rawValue)", "originals", AnswerAge.record, deadline) {
            (deadline) async throws(SourceError) in try await source.originals(of: work, deadline: deadline)
        }
    }

    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> AuthorProfile {
        try await value("authors", "\(author.rawValue)", "profile", AnswerAge.author, deadline) {
            (deadline) async throws(SourceError) in try await source.profile(of: author, deadline: deadline)
        }
    }

    private func value<Value: Codable & Sendable>(
        _ kind: String, _ name: String, _ part: String, _ seconds: Int64, _ deadline: ContinuousClock.Instant,
        ask: @Sendable (ContinuousClock.Instant) async throws(SourceError) -> Value
    ) async throws(SourceError) -> Value {
        guard let share = share(), let document = share.documents.document(kind, name) else {
            return try await ask(deadline)
        }
        return try await document.value(
            part, isFresh: { AnswerAge.holds($0, seconds, $1) }, mayKeep: { stillHolds(share) }
        ) { () async throws(SourceError) in try await ask(share.moved(deadline)) }
    }
}

/// A page that the service has told, for whoever asked for something else.
private final class ToldPage: Sendable {
    let page = Mutex<RankingPage?>(nil)
}

extension SharedDocuments {
    /// What is known of a day's ranking: its pages, and how large its pictures are.
    func day(_ mode: RankingMode, _ day: Day) -> SharedDocument? {
        document("days", mode.rawValue, day.description)
    }
}

// MARK: - What is not shared

extension TieredSource {
    var description: SourceDescription { source.description }
    var modes: [RankingMode] { source.modes }
    var signIn: SignIn { source.signIn }
    var worksPerRequest: Int { source.worksPerRequest }
    var worksPerSearchPage: Int { source.worksPerSearchPage }
    var worksPerBookmarksPage: Int { source.worksPerBookmarksPage }
    var worksPerArtistPage: Int { source.worksPerArtistPage }
    var authorsPerPage: Int { source.authorsPerPage }
    /// Nobody knows yet whether that host will be asked for anything.
    var imageHost: PictureLocation? { nil }

    func searchPage(
        _ words: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        try await source.searchPage(words, page: page, deadline: deadline)
    }

    func bookmarksPage(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        try await source.bookmarksPage(of: user, page: page, deadline: deadline)
    }

    func followedAuthors(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorPage {
        try await source.followedAuthors(of: user, page: page, deadline: deadline)
    }

    func files(of work: Work) -> [WorkPicture]? { source.files(of: work) }

    func originalCandidates(of work: Work) -> [String] { source.originalCandidates(of: work) }

    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        source.location(of: work, picture: picture, page: page, rendition: rendition)
    }

    func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)? { source.avatar(reference) }

    func webPage(of work: WorkID) -> String { source.webPage(of: work) }

    func webPage(of author: UserID) -> String { source.webPage(of: author) }
}

// MARK: - Answers

/// A page of a ranking as documents have it.
struct RankingPageRecord: Codable, Sendable {
    var entries: [ListedWork]
    var total: Int?
    var hasNext: Bool
    var unreadable: Int

    init(_ page: RankingPage) {
        entries = page.entries
        total = page.total
        hasNext = page.hasNext
        unreadable = page.unreadable
    }

    /// The page that it was, with numbers that nothing trips over.
    func page(_ number: Int, _ mode: RankingMode, _ day: Day) -> RankingPage {
        RankingPage(
            mode: mode, day: day, page: number,
            entries: entries.map { entry in
                var entry = entry
                entry.rank = entry.rank.map { min(max($0, 1), Self.mostRanks) }
                entry.previousRank = entry.previousRank.map { min(max($0, 1), Self.mostRanks) }
                entry.work = entry.work.bounded
                return entry
            }, total: total.map { min(max($0, 0), Self.mostRanks) }, hasNext: hasNext, unreadable: max(0, unreadable))
    }

    /// More than any ranking has.
    private static let mostRanks = 1_000_000
}

/// An answer that may be that there is none: such a page lies behind the last one.
struct PageAnswer<Page: Codable & Sendable>: Codable, Sendable {
    var page: Page?
}

extension Work {
    /// The record with numbers as a service would tell them.
    var bounded: Work {
        var work = self
        work.width = min(max(width, 0), Self.mostPixels)
        work.height = min(max(height, 0), Self.mostPixels)
        work.pageCount = min(max(pageCount, 0), Self.mostPages)
        return work
    }

    private static let mostPixels = 1_000_000
    private static let mostPages = 10_000
}

// MARK: - Sizes

/// Sizes of pictures, in the documents of the listings that show them.
struct TierSizes: SharedSizes {
    let documents: @Sendable (ListingKey) -> SharedDocument?

    func known(of pictures: [PictureID], in listing: ListingKey) async -> [Int64] {
        guard let document = documents(listing) else { return pictures.map { _ in 0 } }
        return await document.numbers(pictures.map { "size/\($0.key)" }).map { size in
            size.map { (1...PictureLimits.largest).contains($0) ? $0 : 0 } ?? 0
        }
    }

    func size(
        of picture: PictureID, in listing: ListingKey, ask: @Sendable () async -> PictureSize
    ) async -> PictureSize {
        guard let document = documents(listing) else { return await ask() }
        do throws(SourceError) {
            // A picture that is uploaded anew is another one.
            let size = try await document.value("size/\(picture.key)", isFresh: { _, _ in true }) {
                () async throws(SourceError) -> Int64 in
                switch await ask() {
                case .size(let size): return size
                case .notTold: throw .pastTheEnd
                case .failed(let error): throw error
                }
            }
            return (1...PictureLimits.largest).contains(size) ? .size(size) : await ask()
        } catch {
            return error == .pastTheEnd ? .notTold : .failed(error)
        }
    }
}
