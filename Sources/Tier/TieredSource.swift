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
    /// Returns the documents of answers for an audience; nil for answers that are not shared.
    let documents: @Sendable (AnswerAudience) -> SharedDocuments?

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

        /// Sends a request to the service with a moved deadline: the time spent before it is not taken from its time, but from that for
        /// its turn.
        func ask<Answer: Sendable>(
            by deadline: ContinuousClock.Instant,
            _ send: @Sendable (ContinuousClock.Instant) async throws(Failure) -> Answer
        ) async throws(Failure) -> Answer {
            let waited = began.duration(to: documents.now)
            let answer: Result<Answer, Failure> = await RequestUrgency.$waited.withValue(waited) {
                await Result { () async throws(Failure) in try await send(deadline + waited) }
            }
            return try answer.get()
        }
    }

    /// Returns the share of an answer about a listing, or of a record; nil if the answer is not shared.
    private func share(of listing: ListingKey? = nil) -> Share? {
        let signIn = source.signIn
        return description.audience(of: listing, signIn).flatMap(documents).map { Share($0, signIn: signIn) }
    }

    /// Returns whether the sign-in is still that of the documents: the user may have signed in or out during the request.
    private func stillHolds(_ share: Share) -> Bool { source.signIn == share.signIn }

    // MARK: - Listings

    func page(
        of listing: ListingKey, _ part: ListingPart, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        guard listing.kind.facts.sharedUnder != nil, let share = share(of: listing) else {
            return try await source.page(of: listing, part, deadline: deadline)
        }
        if let mode = listing.mode, listing.ranking == nil {
            return try await newestPage(mode, part, share, deadline: deadline)
        }
        return try await page(of: listing, part, share, deadline: deadline)
    }

    private func page(
        of listing: ListingKey, _ part: ListingPart, _ share: Share, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        guard let document = share.documents.document(of: listing, part) else {
            return try await ask(listing, part, share, deadline)
        }
        let answer = try await document.value(listing.name(of: part)) { asked, now in
            AnswerAge.isFresh(listing, description.days, asked: asked, now: now)
        } mayKeep: {
            stillHolds(share)
        } ask: { () async throws(Failure) -> PageAnswer in
            do throws(Failure) {
                let found = try await ask(listing, part, share, deadline)
                // The page of another day is not shared.
                guard found.day == listing.ranking?.day else { throw .notPublished }
                return PageAnswer(page: found)
            } catch .pastTheEnd {
                return PageAnswer(page: nil)
            }
        }
        guard let page = answer.page else { throw .pastTheEnd }
        return page.bounded(on: listing.ranking?.day)
    }

    /// Returns a page of the newest day.
    ///
    /// Two answers are shared: the newest day, and that day's page, which is the same for all readers.
    private func newestPage(
        _ mode: RankingMode, _ part: ListingPart, _ share: Share, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        guard let newest = share.documents.document(["newest", mode.rawValue]) else {
            return try await ask(.ranking(mode, nil), part, share, deadline)
        }
        let days = description.days(of: mode)
        let told = Mutex<ListingPage?>(nil)
        let ordinal = try await newest.value("day") { asked, now in
            AnswerAge.holds(asked, AnswerAge.newest, now)
        } isPossible: { ordinal, _, now in
            (days.first...max(days.first, AnswerAge.newestDay(days, at: now))).contains(Day(ordinal: ordinal))
        } mayKeep: {
            stillHolds(share)
        } ask: { () async throws(Failure) -> Int in
            let found = try await ask(.ranking(mode, nil), part, share, deadline)
            guard let day = found.day else { throw .unreadable("the newest ranking has no day") }
            told.withLock { $0 = found }
            let listing = ListingKey.ranking(mode, day)
            if stillHolds(share), let document = share.documents.document(of: listing, part) {
                await document.offer(listing.name(of: part), PageAnswer(page: found))
            }
            return day.ordinal
        }
        // The request for the newest day has returned its page as well.
        if let page = told.withLock({ $0 }) { return page }
        return try await page(of: .ranking(mode, Day(ordinal: ordinal)), part, share, deadline: deadline)
    }

    /// Requests a page from the service.
    private func ask(
        _ listing: ListingKey, _ part: ListingPart, _ share: Share, _ deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        try await share.ask(by: deadline) { deadline async throws(Failure) in
            try await source.page(of: listing, part, deadline: deadline)
        }
    }

    // MARK: - Records

    func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> WorkDetails {
        var details = try await value("works", "details", AnswerAge.record, work, deadline, source.details)
        details.work = details.work.bounded
        return details
    }

    func animation(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> AnimationRecord {
        try await value("works", "animation", AnswerAge.record, work, deadline, source.animation)
    }

    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> [String] {
        try await value("works", "originals", AnswerAge.record, work, deadline, source.originals)
    }

    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(Failure) -> AuthorProfile {
        try await value("authors", "profile", AnswerAge.profile, author, deadline, source.profile)
    }

    private func value<ID: RawRepresentable<Int64> & Sendable, Value: JSONCoded>(
        _ kind: String, _ part: String, _ seconds: Int64, _ id: ID, _ deadline: ContinuousClock.Instant,
        _ ask: @escaping @Sendable (ID, ContinuousClock.Instant) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard let share = share(), let document = share.documents.document([kind, "\(id.rawValue)"]) else {
            return try await ask(id, deadline)
        }
        return try await document.value(
            part, isFresh: { AnswerAge.holds($0, seconds, $1) }, mayKeep: { stillHolds(share) }
        ) { () async throws(Failure) in
            try await share.ask(by: deadline) { deadline async throws(Failure) in try await ask(id, deadline) }
        }
    }
}

extension SharedDocuments {
    /// Returns the document of a part of a listing; nil for a listing that is not shared.
    ///
    /// A document is a page, so that a long listing is not written anew with each of its pages. The first pages of a day share one
    /// document with its sizes: many machines open a day at the same moment, and each of them waits for one object in place of ten.
    /// Records of works are named by a hash of their numbers: the same works are requested together wherever the list is the same.
    func document(of listing: ListingKey, _ part: ListingPart) -> SharedDocument? {
        if listing.isTogether(part) { return sizes(of: listing) }
        let name =
            switch part {
            case .number(let number), .named(let number, _): "\(number)"
            case .works(let ids): XXH3.hex(Array(ids.map { "\($0.rawValue)" }.joined(separator: ",").utf8))
            }
        return Self.place(of: listing, page: "-\(name)").flatMap { document($0) }
    }

    /// Returns the document of a day's first pages and of the sizes of its pictures.
    func sizes(of listing: ListingKey) -> SharedDocument? { Self.place(of: listing).flatMap { document($0) } }

    /// Returns a document of the previews of a day's pictures.
    func previews(of listing: ListingKey, _ number: Int) -> SharedDocument? {
        Self.place(of: listing, page: "\(ObjectKind.previews)\(number)").flatMap { document($0, .previews) }
    }

    /// Returns the key of a listing's first document; those of further pages begin with it.
    func key(of listing: ListingKey) -> ObjectKey? { Self.place(of: listing).flatMap { key($0) } }

    /// Returns the name of a listing's document.
    ///
    /// No name is the folder of another one: stores that keep objects as files do not take both.
    private static func place(of listing: ListingKey, page: String = "") -> [String]? {
        guard let folder = listing.kind.facts.sharedUnder else { return nil }
        return switch listing.subject {
        case .day(let mode, let day): day.map { [folder, mode.rawValue, "\($0)\(page)"] }
        case .number(let number): [folder, "\(number)\(page)"]
        case .name(let name): [folder, XXH3.hex(Array(name.text.utf8)) + page]
        }
    }
}

extension ListingKey {
    /// The most pages of a day in one document: some rankings have ten in all, a month of a board a hundred.
    private static let mostTogether = 10

    /// Returns whether a page is stored in one document with others.
    fileprivate func isTogether(_ part: ListingPart) -> Bool {
        guard ranking != nil, case .number(let number) = part else { return false }
        return number <= Self.mostTogether
    }

    /// Returns the name of a page in its document, with the text of a listing that has its document under a hash.
    fileprivate func name(of part: ListingPart) -> String {
        if case .number(let number) = part, isTogether(part) { return "page/\(number)" }
        return words.map { "page/\($0)" } ?? "page"
    }
}

// MARK: - Answers that are not shared

extension TieredSource {
    var description: SourceDescription { source.description }
    var signIn: SignIn { source.signIn }
    /// Nil: the image host may not be needed at all.
    var imageHost: PictureLocation? { nil }

    func files(of work: Work) -> [WorkPicture]? { source.files(of: work) }

    func originalCandidates(of work: Work) -> [String] { source.originalCandidates(of: work) }

    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        source.location(of: work, picture: picture, page: page, rendition: rendition)
    }

    func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)? { source.avatar(reference) }
}

// MARK: - Answers

/// An answer with a page, or with none for a page after the last one.
struct PageAnswer: JSONRecord {
    static let blank = PageAnswer()
    static let members: [JSONField<PageAnswer>] = [.init("page", \.page)]

    var page: ListingPage?
}

extension ListingPage {
    /// The stored page of a day, if the listing has one, with its numbers limited to safe ranges.
    func bounded(on day: Day?) -> ListingPage {
        var page = self
        page.day = day
        page.total = total.map { min(max($0, 0), Self.mostEntries) }
        page.lastPage = lastPage.map { min(max($0, 0), Self.mostEntries) }
        page.unreadable = max(0, unreadable)
        page.entries = entries.map { entry in
            var entry = entry
            entry.rank = entry.rank.map { min(max($0, 1), Self.mostEntries) }
            entry.previousRank = entry.previousRank.map { min(max($0, 1), Self.mostEntries) }
            entry.work = entry.work.bounded
            return entry
        }
        return page
    }

    /// A bound above the ranks and entries of any listing.
    private static let mostEntries = 1_000_000
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
