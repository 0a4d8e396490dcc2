import Catalog
import System
import Sourcing
import Rankings
import Synchronization

/// A source with answers shared between machines: an answer to one machine is not requested from the service again.
///
/// Rankings, lists of authors' works and records of works are shared. The service returns more to signed-in users in every
/// answer: such answers are shared only if the user requests it, and then with the same user's machines alone.
struct TieredSource: RankingSource {
    let source: any RankingSource
    let shared: SharedDocuments
    /// Returns the documents of answers for a signed-in user; nil unless the configuration enables them.
    let own: @Sendable (UserID) -> SharedDocuments?

    /// The documents that share an answer, and their audience: answers for different users are never mixed.
    private struct Share: Sendable {
        let documents: SharedDocuments
        /// The sign-in that the documents belong to.
        let signIn: SignIn
        let began: ContinuousClock.Instant

        init(_ documents: SharedDocuments, signIn: SignIn) {
            self.documents = documents
            self.signIn = signIn
            began = documents.now
        }

        /// Returns the service's deadline: the time spent before the request is not taken from its time.
        func moved(_ deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
            deadline + began.duration(to: documents.now)
        }
    }

    /// Returns the share of an answer; nil if the answer is not shared.
    private func share(needsSignIn: Bool = false) -> Share? {
        guard !RequestSharing.isRefused else { return nil }
        let signIn = source.signIn
        let documents = needsSignIn || signIn != .signedOut ? signIn.user.flatMap { own($0) } : shared
        return documents.map { Share($0, signIn: signIn) }
    }

    /// Returns whether the sign-in is still that of the documents: the user may have signed in or out during the request.
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
                // The page of another day is not shared.
                guard found.day == day else { throw .notPublished }
                return PageAnswer(page: RankingPageRecord(found))
            } catch .pastTheEnd {
                return PageAnswer(page: nil)
            }
        }
        guard let record = answer.page else { throw .pastTheEnd }
        return record.page(page, mode, day)
    }

    /// Returns a page of the newest day.
    ///
    /// Two answers are shared: the newest day, and that day's page, which is the same for all readers.
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
        // The request for the newest day has returned its page as well.
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
        // The same works are requested together wherever the list is the same.
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

/// A page that the service returned with the answer to another request.
private final class ToldPage: Sendable {
    let page = Mutex<RankingPage?>(nil)
}

extension SharedDocuments {
    /// Returns the document of a day's ranking: its pages, and the sizes of its pictures.
    func day(_ mode: RankingMode, _ day: Day) -> SharedDocument? {
        document("days", mode.rawValue, day.description)
    }
}

// MARK: - Answers that are not shared

extension TieredSource {
    var description: SourceDescription { source.description }
    var modes: [RankingMode] { source.modes }
    var signIn: SignIn { source.signIn }
    var worksPerRequest: Int { source.worksPerRequest }
    var worksPerSearchPage: Int { source.worksPerSearchPage }
    var worksPerBookmarksPage: Int { source.worksPerBookmarksPage }
    var worksPerArtistPage: Int { source.worksPerArtistPage }
    var authorsPerPage: Int { source.authorsPerPage }
    /// Nil: the image host may not be needed at all.
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

/// A page of a ranking as stored in documents.
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

    /// Returns the stored page, with its numbers limited to safe ranges.
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

    /// A bound above the ranks of any ranking.
    private static let mostRanks = 1_000_000
}

/// An answer with a page, or with none for a page after the last one.
struct PageAnswer<Page: Codable & Sendable>: Codable, Sendable {
    var page: Page?
}

extension Work {
    /// The record with its numbers limited to the range of a service's answers.
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
            // A picture that is uploaded again has a new identifier.
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
