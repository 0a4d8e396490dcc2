import Rankings
import Synchronization

/// Searches, bookmarks, records and originals.
extension FakeSource {
    var worksPerSearchPage: Int { 60 }
    var worksPerBookmarksPage: Int { 48 }

    func searchPage(
        _ words: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        try await record(.search(words, page))
        let (hits, unreadable) = state.withLock { ($0.hits[words] ?? [], $0.unreadable) }
        return Self.page(hits, page, of: worksPerSearchPage, unreadable)
    }

    func bookmarksPage(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        try await record(.bookmarks(user, page))
        return Self.page(state.withLock { $0.bookmarks }, page, of: worksPerBookmarksPage, 0)
    }

    private static func page(_ numbers: [Int64], _ page: Int, of size: Int, _ unreadable: Int) -> WorkPage {
        let shown = numbers.dropFirst((page - 1) * size)
        return WorkPage(
            works: shown.prefix(size).map { work($0, title: "Hit \($0)") }, total: numbers.count,
            hasNext: shown.count > size, unreadable: unreadable)
    }

    func followedAuthors(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorPage {
        try await record(.followed(page))
        let all = state.withLock { $0.followed }
        let shown = all.dropFirst((page - 1) * authorsPerPage)
        if page > 1, shown.isEmpty { throw .pastTheEnd }
        return AuthorPage(
            authors: Array(shown.prefix(authorsPerPage)), hasNext: shown.count > authorsPerPage, total: all.count)
    }

    func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> WorkDetails {
        try await record(.details(work))
        let told = state.withLock { $0.records[work] }
        return WorkDetails(work: told ?? Self.work(work.rawValue, title: "Told"), caption: "Words")
    }

    func animation(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AnimationRecord {
        try await record(.animation(work))
        return try state.withLock { state throws(SourceError) in
            guard let animation = state.animations[work] else { throw .notFound }
            return animation
        }
    }

    func profile(of author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> AuthorProfile {
        try await record(.profile(author))
        return state.withLock {
            $0.profiles[author] ?? AuthorProfile(id: author, name: "Ann", avatar: "face/\(author.rawValue)")
        }
    }

    func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [String] {
        try await record(.originals(work))
        return try state.withLock { state throws(SourceError) in
            guard let references = state.references[work] else { throw .notFound }
            return references
        }
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
