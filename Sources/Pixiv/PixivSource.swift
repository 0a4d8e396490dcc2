package import HTTP
package import Rankings

/// pixiv's web API as a source of rankings.
package struct PixivSource: RankingSource {
    /// The hosts that pixiv's requests may go to.
    package static let hosts: Set<String> = ["www.pixiv.net", "i.pximg.net", "s.pximg.net"]

    /// - Parameters:
    ///   - client: Sends the API requests.
    ///   - gate: Paces them.
    ///   - apiURL: Replaces `https://www.pixiv.net`; no trailing slash.
    ///   - imageURL: Replaces scheme and host of `i.pximg.net` and `s.pximg.net`; no trailing slash.
    package init(client: HTTPClient, gate: any RequestGate, apiURL: String?, imageURL: String?) {
        fatalError("written by the owner of Pixiv: \(client) \(gate) \(apiURL ?? "") \(imageURL ?? "")")
    }

    package var name: String { "pixiv" }

    package var modes: [RankingMode] { RankingMode.everyone }

    package var worksPerRequest: Int { 100 }

    package func rankingPage(
        _ mode: RankingMode, day: Day?, page: Int, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> RankingPage {
        fatalError("written by the owner of Pixiv: \(mode)")
    }

    package func authorWorks(_ author: UserID, deadline: ContinuousClock.Instant) async throws(SourceError) -> [WorkID] {
        fatalError("written by the owner of Pixiv: \(author)")
    }

    package func works(
        _ ids: [WorkID], of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [Work] {
        fatalError("written by the owner of Pixiv: \(ids)")
    }

    package func originals(
        of work: WorkID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> [PictureLocation] {
        fatalError("written by the owner of Pixiv: \(work)")
    }

    package func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        fatalError("written by the owner of Pixiv: \(work)")
    }

    package func webPage(of work: WorkID) -> String {
        fatalError("written by the owner of Pixiv: \(work)")
    }
}
