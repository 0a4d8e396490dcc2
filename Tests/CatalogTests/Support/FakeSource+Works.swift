import Rankings
import TestSupport

/// Searches, bookmarks, records and originals.
extension FakeSource {
    func otherPage(of listing: ListingKey, _ page: Int) async throws(Failure) -> ListingPage {
        let size = description.entries(of: listing.kind)
        switch listing.kind {
        case .search:
            let words = listing.words ?? ""
            try await record(.search(words, page))
            let (hits, unreadable) = state.withLock { ($0.hits[words] ?? [], $0.unreadable) }
            return Self.page(hits, page, of: size, unreadable)
        case .bookmarks:
            try await record(.bookmarks(listing.user, page))
            return Self.page(state.withLock { $0.bookmarks }, page, of: size, 0)
        case .related:
            try await record(.related(listing.work))
            guard let all = state.withLock({ $0.related[listing.work] }) else { throw .notFound }
            return ListingPage(
                works: all.prefix(size).map { Self.work($0, title: "Near \($0)") },
                further: all.dropFirst(size).map { WorkID(rawValue: $0) })
        case .feed:
            try await record(.feed(page))
            let all = state.withLock { $0.feed }
            // Past the end the last page comes again.
            let shown = all.dropFirst((min(page, max(1, (all.count + size - 1) / size)) - 1) * size).prefix(size)
            return ListingPage(works: shown.map { Self.work($0, title: "New \($0)") }, hasNext: !shown.isEmpty)
        case .following:
            try await record(.followed(page))
            let all = state.withLock { $0.followed }
            let shown = all.dropFirst((page - 1) * size)
            if page > 1, shown.isEmpty { throw .pastTheEnd }
            return ListingPage(authors: Array(shown.prefix(size)), total: all.count, hasNext: shown.count > size)
        default: throw .notFound
        }
    }

    private static func page(_ numbers: [Int64], _ page: Int, of size: Int, _ unreadable: Int) -> ListingPage {
        let shown = numbers.dropFirst((page - 1) * size)
        return ListingPage(
            works: shown.prefix(size).map { work($0, title: "Hit \($0)") }, total: numbers.count,
            hasNext: shown.count > size, unreadable: unreadable)
    }

    func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> WorkDetails {
        try await record(.details(work))
        let known = state.withLock { $0.records[work] }
        var details = WorkDetails(work: known ?? Self.work(work.rawValue, title: "Told"))
        details.caption = "Words"
        return details
    }

    func animation(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> AnimationRecord {
        try await record(.animation(work))
        guard let found = state.withLock({ $0.animations[work] }) else { throw .notFound }
        return found
    }

    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(Failure) -> [String] {
        try await record(.originals(work))
        guard let found = state.withLock({ $0.references[work] }) else { throw .notFound }
        return found
    }

    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(Failure) -> AuthorProfile {
        try await record(.profile(author))
        let known = state.withLock { $0.profiles[author] }
        return known ?? AuthorProfile(id: author, name: "Ann", avatar: "face/\(author.rawValue)")
    }

    func originalCandidates(of work: Work) -> [String] {
        ["jpg", "png", "gif"].map { "\(work.picture).\($0)" }
    }

    /// Originals and archives are had under references that tell the format, as in a real source.
    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        let format = picture.split(separator: ".").last.map(String.init) ?? ""
        switch rendition {
        case .original:
            guard ["jpg", "png", "gif"].contains(format) else { return nil }
            return Self.location("\(picture)/p\(page)", format)
        case .archive: return format == "zip" ? Self.location(picture, format) : nil
        default: return Self.location("\(picture)/\(work.rawValue)" + (page > 0 ? "/\(page)" : ""), "jpg")
        }
    }

    private static func location(_ path: String, _ fileExtension: String) -> PictureLocation {
        PictureLocation(
            url: "https://images.test/\(path)", headers: ["Referer: https://fake.test/"], fileExtension: fileExtension)
    }
}

extension ListingKey {
    /// A list of a kind, of the number 5.
    static func sample(_ kind: ListingKind) -> ListingKey {
        guard let key = ListingKey(text: "\(kind.facts.word)/5\(kind.facts.form == .name ? "/a" : "")") else {
            preconditionFailure("\(kind)")
        }
        return key
    }

    /// Whether its pages tell ranks.
    var isRanked: Bool { [.ranked, .lastFirst].contains(kind.facts.order) }
}

extension Result<ListingPage, Failure> {
    /// A page of works with these numbers, which are their ranks in lists with ranks.
    static func page(
        _ key: ListingKey, _ numbers: some Sequence<Int64>, title: String = "T", total: Int? = nil,
        hasNext: Bool = false
    ) -> Self {
        let entries = numbers.map { number in
            ListedWork(
                rank: key.isRanked ? Int(number) : nil, previousRank: nil, work: FakeSource.work(number, title: title))
        }
        return .success(ListingPage(entries: entries, total: total, hasNext: hasNext))
    }
}
