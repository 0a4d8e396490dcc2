import HTTP
package import Rankings
package import Sourcing

/// pixiv's web API (`ranking.php` and the routes below `/ajax`) as a source of rankings.
///
/// ## Concurrency
///
/// A value of immutable parts; any task may call any method.
package struct PixivSource: RankingSource {
    let api: WebAPI
    private let images: String

    /// Makes the source of a mount.
    ///
    /// - Parameters:
    ///   - means: The means of sending requests; `imageURL` replaces scheme and host of both image hosts.
    ///   - session: The user's session, sent to the API only, never to the image host.
    package init(_ means: SourceMeans, session: SessionKeeper = SessionKeeper(nil)) {
        api = WebAPI(
            send: means.send, base: means.apiURL ?? Self.apiURL, session: session, wallClock: means.wallClock)
        images = means.imageURL ?? Self.imageURL
    }

    package var description: SourceDescription { Self.facts }

    package var signIn: SignIn { api.session.signIn }

    /// The API with the priority of a page: further pages come after directories that the user opens.
    ///
    /// File managers that count entries read every directory that they show to its end (Semantics, "Folder manners").
    func api(forPage page: Int) -> WebAPI {
        var api = api
        api.priority = page > 1 ? .shown : .reader
        return api
    }

    package var worksPerRequest: Int { PixivLimits.worksPerRequest }

    package func rankingPage(
        _ mode: RankingMode, day: Day?, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> RankingPage {
        let (name, kind) = PixivRankings.query(of: mode)
        let content = kind.map { "&content=\($0.rawValue)" } ?? ""
        let date = day.map { "&date=\($0.compact)" } ?? ""
        let path = "/ranking.php?format=json&mode=\(name)\(content)\(date)&p=\(page)"
        let answer = try await api(forPage: page).ask(
            path, forMembers: Self.facts.needsSignIn(mode), deadline: deadline)
        switch answer.status {
        case 404: throw RankingAnswer.nothing(page: page)
        case 401: throw .needsSignIn
        case 200: return try RankingAnswer.page(of: answer.json, mode: mode, day: day, page: page)
        default:
            let message = Envelope.error(in: answer.json) ?? ""
            throw .unreadable(
                "pixiv refused a ranking with status \(answer.status): \(ForeignText.quoted(message)).")
        }
    }

    package func authorWorks(_ author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [WorkID]
    {
        guard author.rawValue > 0 else { throw .notFound }
        let body = try await api.body("/ajax/user/\(author.rawValue)/profile/all", deadline: deadline)
        return try AuthorAnswers.allWorks(body)
    }

    package func works(
        _ ids: [WorkID], of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [Work] {
        guard author.rawValue > 0 else { throw .notFound }
        var found: [WorkID: Work] = [:]
        var rest = ids[...]
        while !rest.isEmpty {
            let some = rest.prefix(worksPerRequest)
            rest = rest.dropFirst(worksPerRequest)
            // The service requires the brackets, encoded, and `work_category`.
            let query = some.map { "ids%5B%5D=\($0.rawValue)&" }.joined()
            let path = "/ajax/user/\(author.rawValue)/profile/illusts?\(query)work_category=illustManga&is_first_page=0"
            let list = AuthorAnswers.works(try await api.body(path, deadline: deadline))
            if list.works.isEmpty, list.unreadable > 0 {
                throw .unreadable("None of \(list.unreadable) works of author \(author.rawValue) could be understood.")
            }
            for work in list.works { found[work.id] = work }
        }
        return ids.compactMap { found[$0] }
    }

    package func originals(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [String] {
        guard work.rawValue > 0 else { throw .notFound }
        let body = try await api.body("/ajax/illust/\(work.rawValue)/pages", deadline: deadline)
        return try AuthorAnswers.originals(body, of: work).compactMap(\.originalReference)
    }

    package func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        if rendition == .archive { return archive(picture, of: work) }
        guard let path = PicturePath(reference: picture), path.work == work else { return nil }
        let rendered =
            switch rendition {
            case .regular: path.regularPath(page: page)
            case .small: path.smallPath(page: page)
            case .original: path.originalPath(page: page)
            case .archive, .webp, .gif, .matroska, .avatar, .normalThumbnail, .largeThumbnail: nil as String?
            }
        return rendered.map { location($0, fileExtension: rendition == .original ? path.fileExtension : "jpg") }
    }

    private func archive(_ reference: String, of work: WorkID) -> PictureLocation? {
        guard let path = ArchivePath(reference: reference), path.work == work else { return nil }
        return location(path.path, fileExtension: "zip")
    }

    package func avatar(_ reference: String) -> (location: PictureLocation, uploaded: Int64)? {
        AvatarPath(reference: reference).map { (location($0.path, fileExtension: $0.fileExtension), $0.uploaded) }
    }

    package func originalCandidates(of work: Work) -> [String] {
        guard work.withheld == nil, let path = PicturePath(reference: work.picture), path.work == work.id else {
            return []
        }
        return path.originalCandidates(ofAnimation: work.kind == .animation)
    }

    package func webPage(of work: WorkID) -> String {
        "https://www.pixiv.net/artworks/\(work.rawValue)"
    }

    package func webPage(of author: UserID) -> String {
        "https://www.pixiv.net/users/\(author.rawValue)"
    }

    package var imageHost: PictureLocation? { location("/", fileExtension: "") }

    private func location(_ path: String, fileExtension: String) -> PictureLocation {
        PictureLocation(url: images + path, headers: [WebAPI.referer], fileExtension: fileExtension)
    }
}

// MARK: - Works

/// Searches, lists of signed-in users and full records.
extension PixivSource {
    package var worksPerSearchPage: Int { PixivLimits.worksPerSearchPage }

    package var worksPerBookmarksPage: Int { PixivLimits.worksPerBookmarksPage }

    package var authorsPerPage: Int { PixivLimits.authorsPerPage }

    package func searchPage(
        _ words: String, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        // A path with no words, or with dots in their place, is another path.
        guard !words.isEmpty, words != ".", words != ".." else { throw .notFound }
        guard page > 0 else { throw .pastTheEnd }
        return try ListAnswers.search(
            await api(forPage: page).body(PixivRoutes.search(words, page: page), deadline: deadline), page: page)
    }

    package func bookmarksPage(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> WorkPage {
        guard user.rawValue > 0 else { throw .notFound }
        guard page > 0 else { throw .pastTheEnd }
        let body = try await api(forPage: page).body(PixivRoutes.bookmarks(of: user, page: page), deadline: deadline)
        return try ListAnswers.bookmarks(body, page: page)
    }

    package func followedAuthors(
        of user: UserID, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorPage {
        guard user.rawValue > 0 else { throw .notFound }
        guard page > 0 else { throw .pastTheEnd }
        let body = try await api(forPage: page).body(PixivRoutes.following(of: user, page: page), deadline: deadline)
        return try ListAnswers.following(body, page: page)
    }

    package func details(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> WorkDetails {
        guard work.rawValue > 0 else { throw .notFound }
        return try WorkAnswers.details(await api.body(PixivRoutes.details(of: work), deadline: deadline), of: work)
    }

    package func animation(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AnimationRecord {
        guard work.rawValue > 0 else { throw .notFound }
        return try WorkAnswers.animation(await api.body(PixivRoutes.animation(of: work), deadline: deadline), of: work)
    }

    package func profile(
        of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> AuthorProfile {
        guard author.rawValue > 0 else { throw .notFound }
        return try AuthorAnswers.profile(
            await api.body(PixivRoutes.profile(of: author), deadline: deadline), of: author)
    }
}
