package import HTTP
package import Rankings
package import Sourcing

/// An image board as a source of rankings.
///
/// ## Concurrency
///
/// A value of immutable parts; all methods may be called from any task at once.
package struct BooruSource: RankingSource {
    let engine: any BooruEngine
    let api: BooruAPI
    let hosts: PictureHosts
    /// The most daring rating that is shown.
    let step: RatingScale.Step?

    /// - Parameters:
    ///   - engine: How the board is asked.
    ///   - means: How to ask; `imageURL` replaces scheme and host of every picture's address.
    package init(_ engine: any BooruEngine, _ means: SourceMeans) {
        let client = means.client
        self.init(
            engine, send: { request throws(HTTPError) in try await client.send(request) },
            apiURL: means.apiURL, imageURL: means.imageURL, choices: means.choices, wallClock: means.wallClock)
    }

    /// The same with anything that sends requests.
    package init(
        _ engine: any BooruEngine, send: @escaping @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse,
        apiURL: String?, imageURL: String?, choices: [String: String], wallClock: @escaping @Sendable () -> Int64
    ) {
        self.engine = engine
        let access = engine.description.access
        step = engine.scale.step(choices[RatingScale.option])
        api = BooruAPI(
            engine: engine, base: apiURL ?? engine.apiURL(upTo: step),
            api: PacedAPI(send: send, service: engine.description.title, wallClock: wallClock))
        hosts = PictureHosts(
            access.hosts, home: String(access.apiURL.drop { $0 != ":" }.dropFirst(3)), replacement: imageURL)
    }

    package var description: SourceDescription { engine.description }

    package var worksPerSearchPage: Int { engine.postsPerPage }

    package var worksPerArtistPage: Int { engine.postsPerPage }

    package func webPage(of work: WorkID) -> String { engine.webPage(of: work) }

    // MARK: - Pictures

    package func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        guard page == 0, let files = PostReference.files(picture, hosts: hosts) else { return nil }
        let file: PostFile? =
            switch rendition {
            case .original: files.original
            case .regular: files.regular
            case .small: files.small
            case .archive, .webp, .gif, .matroska, .avatar, .normalThumbnail, .largeThumbnail: nil
            }
        return file.map { file in
            PictureLocation(
                url: hosts.address(of: file.place), headers: [], fileExtension: file.fileExtension, size: file.size,
                digest: file == files.original ? files.md5 : nil)
        }
    }

    package func files(of work: Work) -> [WorkPicture]? {
        guard work.withheld == nil, let files = PostReference.files(work.picture, hosts: hosts) else { return [] }
        let original = WorkPicture("original", rendition: .original, reference: work.picture)
        guard let regular = files.regular, regular.place != files.original.place else { return [original] }
        return [original, WorkPicture("sample", rendition: .regular, reference: work.picture)]
    }

    /// The listing tells the format: there is one candidate.
    package func originalCandidates(of work: Work) -> [String] {
        work.withheld == nil && !work.picture.isEmpty ? [work.picture] : []
    }

    package func originals(of work: WorkID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [String] {
        originalCandidates(of: try await details(of: work, deadline: deadline).work)
    }
}
