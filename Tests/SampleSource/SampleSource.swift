import HTTP
package import Rankings
import Sourcing

/// Asks the sample's service, which answers in lines: number, title, extension, upload, and bytes, between tabs.
package struct SampleSource: RankingSource {
    private let send: @Sendable (HTTPRequest) async throws(Failure) -> HTTPResponse
    private let api: String
    private let images: String

    init(_ means: SourceMeans) {
        send = means.send
        let access = SamplePlugIn().description.access
        api = means.apiURL ?? access.apiURL
        images = means.imageURL ?? access.imageURL
    }

    package var description: SourceDescription { SamplePlugIn().description }

    static func path(_ mode: String, _ day: Day?, page: Int) -> String {
        "/popular?mode=\(mode)\(day.map { "&date=\($0)" } ?? "")&page=\(page)"
    }

    package func page(
        of listing: ListingKey, _ part: ListingPart, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        guard let mode = listing.mode, case .number(let page) = part else { throw .notFound }
        let path = Self.path(mode.rawValue, listing.ranking?.day, page: page)
        let lines = try await lines(at: path, deadline: deadline)
        // The first one names the day; the end is a page without more.
        guard let served = lines.first.flatMap({ Day($0) }) else { throw page > 1 ? .pastTheEnd : .notPublished }
        let perPage = description.paging.entries
        let posts = lines.dropFirst().map(post)
        let entries = posts.enumerated().compactMap { place, work in
            work.map { ListedWork(rank: (page - 1) * perPage + place + 1, previousRank: nil, work: $0) }
        }
        return ListingPage(
            entries: entries, day: served, hasNext: posts.count == perPage, unreadable: posts.count - entries.count)
    }

    /// A reference is what the address and the size follow from: `12.png 4711`.
    package func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? {
        let parts = picture.split(separator: " ")
        guard page == 0, parts.count == 2, let size = Int64(parts[1]), let dot = parts[0].firstIndex(of: ".") else {
            return nil
        }
        switch rendition {
        case .regular, .original:
            let fileExtension = String(parts[0][parts[0].index(after: dot)...])
            return PictureLocation(url: "\(images)/\(parts[0])", headers: [], fileExtension: fileExtension, size: size)
        case .small:
            return PictureLocation(url: "\(images)/small/\(parts[0][..<dot]).jpg", headers: [], fileExtension: "jpg")
        case .archive, .webp, .gif, .matroska, .avatar, .normalThumbnail, .largeThumbnail: return nil
        }
    }

    /// The listing tells the format: there is one candidate.
    package func originalCandidates(of work: Work) -> [String] { [work.picture] }

    // MARK: -

    private func post(_ line: String) -> Work? {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 5, let number = Int64(fields[0]), let uploaded = Int64(fields[3]) else { return nil }
        return Work(
            id: WorkID(rawValue: number), title: fields[1], author: UserID(rawValue: 0), authorName: "", tags: [],
            kind: .illustration, width: 0, height: 0, pageCount: 1, uploaded: uploaded, views: nil, ratings: nil,
            picture: "\(number).\(fields[2]) \(fields[4])", withheld: nil)
    }

    private func lines(at path: String, deadline: ContinuousClock.Instant) async throws(Failure) -> [String] {
        do throws(Failure) {
            let response = try await send(
                HTTPRequest(
                    url: api + path, headers: [], priority: .reader, transferClass: .metadata, deadline: deadline,
                    bodyLimit: 1 << 20, purpose: .api))
            guard response.head.status == 200 else { return [] }
            return String(decoding: response.body, as: UTF8.self).split(separator: "\n").map(String.init)
        } catch .timedOut {
            throw .timedOut
        } catch {
            throw .unreachable("\(error)")
        }
    }
}
