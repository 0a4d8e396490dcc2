import Rankings
import TestSupport

/// Sessions, searches, bookmarks and records.
extension FakeSource {
    func set(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
    }

    var signIn: SignIn {
        state.withLock { state in
            state.signInLooks += 1
            return state.signIn
        }
    }

    func otherPage(of listing: ListingKey, _ page: Int) throws(Failure) -> ListingPage {
        let size = description.entries(of: listing.kind)
        switch listing.kind {
        case .search:
            let words = listing.words ?? ""
            try note("search \(words) \(page)")
            return Self.page(state.withLock { $0.hits[words] ?? [] }, page, of: size)
        case .bookmarks, .bookmarksPrivate:
            try note("\(listing.kind.facts.word) \(listing.user.rawValue) \(page)")
            guard case .signedIn = signIn else { throw .needsSignIn }
            return Self.page(state.withLock { $0.bookmarks }, page, of: size)
        case .authorTags:
            try note(listing.text)
            guard let tags = state.withLock({ $0.tags[listing.user] }) else { throw .notFound }
            let named = tags.enumerated().map { NamedAuthor(id: UserID(rawValue: Int64($0) + 1), name: $1.name) }
            return ListingPage(authors: named, total: named.count, hasNext: false)
        case .authorTag:
            try note("\(listing.text) \(page)")
            let tags = state.withLock {
                $0.tags.flatMap { author, tags in tags.map { ("\(author.rawValue)/\($0.name)", $0.works) } }
            }
            return Self.page(tags.first { $0.0 == listing.words }?.1 ?? [], page, of: size)
        case .bookmarkTags, .bookmarkTag:
            try note("\(listing.text) \(page)")
            guard let user = signIn.user?.rawValue, listing.words?.hasPrefix("\(user)/") ?? (listing.number == user)
            else { throw .needsSignIn }
            let tags = state.withLock { $0.bookmarkTags }
            guard listing.kind == .bookmarkTags else {
                return Self.page(tags.first { listing.words == "\(user)/\($0.name)" }?.works ?? [], page, of: size)
            }
            let named = tags.enumerated().map { NamedAuthor(id: UserID(rawValue: Int64($0) + 1), name: $1.name) }
            return ListingPage(authors: named, total: named.count, hasNext: false)
        case .feed, .feedR18:
            try note("\(listing.text) \(page)")
            guard case .signedIn = signIn else { throw .needsSignIn }
            return Self.page(state.withLock { $0.feeds[listing.kind] ?? [] }, page, of: size)
        case .following:
            try note("followed \(listing.user.rawValue) \(page)")
            guard case .signedIn = signIn else { throw .needsSignIn }
            return ListingPage(authors: state.withLock { $0.followed }, total: nil, hasNext: false)
        default: throw .notFound
        }
    }

    private static func page(_ works: [Work], _ page: Int, of size: Int) -> ListingPage {
        let shown = works.dropFirst((page - 1) * size)
        return ListingPage(works: Array(shown.prefix(size)), total: works.count, hasNext: shown.count > size)
    }

    func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> WorkDetails {
        try note("details \(work.rawValue)")
        guard let record = state.withLock({ $0.records[work] }) else { throw .notFound }
        var details = WorkDetails(work: record)
        details.caption = "Words — “ü”"
        return details
    }

    func animation(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> AnimationRecord {
        try note("animation \(work.rawValue)")
        guard let animation = state.withLock({ $0.animations[work] }) else { throw .notFound }
        return animation
    }

    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> [String] {
        try note("originals \(work.rawValue)")
        let pages = state.withLock { $0.records[work]?.pageCount } ?? 1
        return (0..<pages).map { "\(work.rawValue)\($0).png" }
    }

    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(Failure) -> AuthorProfile {
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
}
