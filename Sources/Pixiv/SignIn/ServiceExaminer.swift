import HTTP
import Rankings
package import Sourcing
import Synchronization

/// Asks the service for what this program takes for granted of it: a page of a ranking, a record, and parts of one picture.
///
/// By the rules of a mount (the gate, the header that tells where a request comes from), without an account. Eight requests; an API answer
/// that is no JSON is asked for once more. Where a host does not answer, it is not asked again.
package struct ServiceExaminer: Sendable {
    private let send: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    private let api: WebAPI
    private let seen = Seen()
    private let images: String
    private let isSecure: (api: Bool, images: Bool)
    private let now: Int64
    private let patience: Duration
    private let time: TimeSource

    package init(_ means: ExaminationMeans) {
        send = means.send
        let (seen, send) = (seen, send)
        api = WebAPI(
            send: { request throws(HTTPError) in
                let response = try await send(request)
                seen.head.withLock { $0 = response.head }
                return response
            }, base: means.apiURL, session: SessionKeeper(nil), wallClock: { means.now })
        images = means.imageURL
        isSecure = (means.apiURL.hasPrefix("https://"), means.imageURL.hasPrefix("https://"))
        now = means.now
        patience = means.patience
        time = means.time
    }

    /// The head of the API's last answer.
    private final class Seen: Sendable {
        let head = Mutex<HTTPAnswer?>(nil)
    }

    /// The 64 KB that are asked of a picture.
    static let part: Int64 = 64 << 10
    /// The end that is asked for: the two bytes that end a JPEG.
    static let end: Int64 = 2

    /// Asks, one request after the other, and judges.
    package func examine() async -> [Assumption] {
        let ranking = await ask(PixivSource.plainRanking)
        var report = RankingJudgement.assumptions(of: ranking, now: now)
        if isSecure.api, let head = seen.head.withLock({ $0 }) {
            report.append(Self.protocolAssumption("protocol of the API", head))
        }
        guard let entry = RankingJudgement.example(in: ranking) else {
            return report + [
                Assumption("record of a work", .unknown, "not asked for, for the ranking names none"),
                Assumption("pictures", .unknown, "not asked for, for the ranking names none"),
            ]
        }
        let record = await ask(PixivRoutes.details(of: entry.work))
        report += RecordJudgement.assumptions(of: record, entry: entry)
        return report + (await examinePicture(entry.picture))
    }

    private func ask(_ path: String) async -> Result<WebAPI.Answer, SourceError> {
        do throws(SourceError) {
            return .success(try await api.ask(path, deadline: time.now() + patience))
        } catch {
            return .failure(error)
        }
    }

    // MARK: - One picture

    private func examinePicture(_ picture: PicturePath) async -> [Assumption] {
        guard let path = picture.regularPath(page: 0) else {
            return [
                Assumption("pictures", .changed, "the ranking's address of a picture leads to no 1200-pixel rendition")
            ]
        }
        var look = PictureJudgement(isSecure: isSecure.images)
        look.whole = await get(.head, path)
        guard case .success = look.whole else { return look.assumptions }
        look.beginning = await get(.get, path, range: 0..<Self.part)
        if let length = look.length, length > Self.end {
            look.ending = await get(.get, path, range: length - Self.end..<length)
        }
        look.stranger = await get(.head, path, headers: [])
        if let preview = picture.smallPath(page: 0) { look.preview = await get(.head, preview) }
        return look.assumptions
    }

    private func get(
        _ method: HTTPRequest.Method, _ path: String, range: Range<Int64>? = nil, headers: [String] = [WebAPI.referer]
    ) async -> Result<HTTPResponse, HTTPError> {
        do throws(HTTPError) {
            return .success(
                try await send(
                    HTTPRequest(
                        method: method, url: images + path, headers: headers,
                        range: range.map { ($0.lowerBound, $0.upperBound - 1) },
                        transferClass: method == .head ? .metadata : .bulk, deadline: time.now() + patience,
                        bodyLimit: Self.part, purpose: method == .head ? .size : .picture)))
        } catch {
            return .failure(error)
        }
    }

    static func protocolAssumption(_ name: String, _ head: HTTPAnswer) -> Assumption {
        Assumption(name, holds: head.version == "2", "HTTP/\(head.version)")
    }
}
