import HTTP
import Rankings
package import Sourcing
import Synchronization

/// Checks the assumptions about the service: a page of a ranking, a record, and parts of one picture.
///
/// It follows the rules of a mount (the gate, the `Referer` header) and needs no account. It sends eight requests; it repeats an
/// API request once if the answer is not JSON. After a host failed to answer, it sends that host no further request.
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
            }, gate: means.gate, base: means.apiURL, session: SessionKeeper(nil),
            time: means.time, wallClock: { means.now })
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

    /// The bytes requested of a picture's beginning: 64 KB.
    static let part: Int64 = 64 << 10
    /// The bytes requested of a picture's end: the two that end a JPEG.
    static let end: Int64 = 2

    /// Sends the requests one after the other and judges the answers.
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

// MARK: - Service judgements

/// The judgement of a page of a ranking.
enum RankingJudgement {
    /// A work that needs no account, with the path of its picture as the ranking states it.
    struct Example {
        let work: WorkID
        let picture: PicturePath
    }

    /// The first entry that is not masked and has a picture of its own.
    static func example(in answer: Result<WebAPI.Answer, SourceError>) -> Example? {
        guard case .success(let answer) = answer else { return nil }
        return answer.json["contents"].elements.lazy.compactMap { entry -> Example? in
            guard !isMasked(entry), let work = WorkDecoding.ranked(entry)?.work, work.withheld == nil,
                let picture = entry["url"].text.flatMap({ PicturePath(url: $0) })
            else { return nil }
            return Example(work: work.id, picture: picture)
        }.first
    }

    /// Judges an answer.
    ///
    /// - Parameters:
    ///   - answer: The first page of the newest daily ranking, requested without an account.
    ///   - now: The current time in Unix seconds, which gives the newest day of the calendar.
    /// - Returns: Each assumption that the program relies on.
    static func assumptions(of answer: Result<WebAPI.Answer, SourceError>, now: Int64) -> [Assumption] {
        let name = "ranking without an account"
        switch answer {
        case .failure(let error): return [Assumption.failed(name, error)]
        case .success(let answer) where answer.status != 200:
            return [Assumption(name, .changed, "status \(answer.status)")]
        case .success(let answer):
            let entries = answer.json["contents"].elements
            let first = Assumption(
                name, holds: !entries.isEmpty,
                "\(entries.count) entries, \(entries.count(where: isMasked)) of them masked")
            let fields = FieldList.ranking.compare("fields of a ranking", with: [answer.json])
            return [first, fields] + (entries.isEmpty ? [] : judge(answer.json, entries, now: now))
        }
    }

    private static func judge(_ root: JSON, _ entries: [JSON], now: Int64) -> [Assumption] {
        let plain = entries.filter { !isMasked($0) }
        var report = [day(root, now: now), pages(root, entries)]
        do throws(SourceError) {
            let page = try RankingAnswer.page(of: root, mode: PixivRankings.daily, day: nil, page: 1)
            report.append(
                Assumption(
                    "entries that are understood", holds: page.unreadable == 0,
                    "\(page.entries.count) of \(page.entries.count + page.unreadable)"))
        } catch {
            report.append(Assumption("entries that are understood", .changed, error.briefly))
        }
        guard !plain.isEmpty else {
            return report + [Assumption("fields of an entry", .unknown, "every entry is masked")]
        }
        report.append(FieldList.entry.compare("fields of an entry", with: plain))
        let paths = plain.map { $0["url"].text.flatMap { PicturePath(url: $0) } }
        report.append(
            Assumption(
                "addresses of pictures", holds: !paths.contains(nil),
                "\(paths.count { $0 != nil }) of \(paths.count) have the known form"))
        let agreeing = zip(plain, paths).count { $0["illust_upload_timestamp"].number == $1?.uploaded }
        report.append(
            Assumption(
                "time of upload in the address", holds: agreeing == plain.count,
                "in \(agreeing) of \(plain.count) it is the entry's own, as a time in Japan"))
        return report
    }

    private static func day(_ root: JSON, now: Int64) -> Assumption {
        let name = "day of the newest ranking"
        guard let day = root["date"].text.flatMap({ Day(compact: $0) }) else {
            return Assumption(name, .changed, "it is not told as eight digits")
        }
        let late = PixivSource.facts.days(of: PixivRankings.daily).newest(at: now).ordinal - day.ordinal
        // The ranking appears around noon in Japan, sometimes hours later.
        let text =
            switch late {
            case 0: "the one that appeared last by the calendar"
            case 1: "the one before, which is usual around noon in Japan"
            default: "\(late) days before the one that should have appeared last; is this clock right?"
            }
        return Assumption(name, holds: late == 0 || late == 1, text)
    }

    private static func pages(_ root: JSON, _ entries: [JSON]) -> Assumption {
        let total = root["rank_total"].number ?? 0
        let next = root["next"].number
        let ranks = entries.compactMap { $0["rank"].number }
        let isFirstPage = ranks.allSatisfy { (1...Int64(PixivLimits.entriesPerPage)).contains($0) }
        return Assumption(
            "paging", holds: isFirstPage && next == 2 && total > PixivLimits.entriesPerPage,
            "ranks \(ranks.min() ?? 0) to \(ranks.max() ?? 0) of \(total) on the first page, "
                + (next.map { "then page \($0)" } ?? "and no further page"))
    }

    /// Whether the entry is a slot that is hidden without an account.
    private static func isMasked(_ entry: JSON) -> Bool {
        entry["mask_reason"].text?.isEmpty == false
    }
}

/// The judgement of a work's record.
enum RecordJudgement {
    static func assumptions(
        of answer: Result<WebAPI.Answer, SourceError>, entry: RankingJudgement.Example
    ) -> [Assumption] {
        let name = "record of a work"
        let body: JSON
        switch answer {
        case .failure(let error): return [Assumption.failed(name, error)]
        case .success(let answer):
            do throws(SourceError) { body = try Envelope.body(of: answer.json) } catch {
                return [Assumption(name, .changed, "status \(answer.status): \(error.briefly)")]
            }
        }
        let isUnderstood = (try? WorkAnswers.details(body, of: entry.work)) != nil
        let regular = body["urls"]["regular"].text.flatMap { PicturePath(url: $0) }
        let original = body["urls"]["original"].text.flatMap { PicturePath(url: $0) }?.originalReference
        return [
            Assumption(name, holds: isUnderstood, isUnderstood ? "it is understood" : "it is not understood"),
            FieldList.record.compare("fields of a record", with: [body]),
            Assumption(
                "1200-pixel rendition from the ranking alone",
                holds: regular?.reference == entry.picture.reference && regular?.folder == .master,
                regular == nil ? "the record names none" : "compared with the one that the record names"),
            Assumption(
                "format of the original in the record", holds: original != nil,
                original == nil ? "the record names no original" : "told by its address"),
        ]
    }
}

/// The judgement of the image host's answers for one picture; requests not sent are nil.
struct PictureJudgement {
    let isSecure: Bool
    /// The answer to a HEAD of the whole picture.
    var whole: Result<HTTPResponse, HTTPError>?
    var beginning: Result<HTTPResponse, HTTPError>?
    /// The picture's last two bytes.
    var ending: Result<HTTPResponse, HTTPError>?
    /// The answer to a HEAD without the `Referer` header.
    var stranger: Result<HTTPResponse, HTTPError>?
    /// The answer to a HEAD of the small preview.
    var preview: Result<HTTPResponse, HTTPError>?

    init(isSecure: Bool) {
        self.isSecure = isSecure
    }

    var assumptions: [Assumption] {
        guard case .success(let head)? = whole.map({ $0.map(\.head) }) else {
            return [Assumption.failed("length of a picture by HEAD", whole)]
        }
        var report: [Assumption] = []
        if isSecure { report.append(ServiceExaminer.protocolAssumption("protocol of the image host", head)) }
        let told = head.length.value
        report.append(
            Assumption(
                "length of a picture by HEAD", holds: head.status == 200 && length.map { $0 > 0 } == true,
                "status \(head.status), "
                    + (told != nil
                        ? "with a length"
                        : length != nil
                            ? "without a length, as one answer in ten is; a part tells it" : "without a length")))
        report.append(.validator("validator of a picture", head))
        report += [part(toldByHead: told), format, stranger(head), previewAssumption]
        return report
    }

    /// The length of the whole picture in bytes, as declared by HEAD or else by a part.
    var length: Int64? {
        if case .success(let response)? = whole, let told = response.head.length.value { return told }
        guard case .success(let response)? = beginning else { return nil }
        return response.head.total
    }

    private func part(toldByHead told: Int64?) -> Assumption {
        let name = "parts of a picture by Range"
        guard case .success(let response)? = beginning else { return Assumption.failed(name, beginning) }
        let total = response.head.total
        let expected = min(ServiceExaminer.part, length ?? ServiceExaminer.part)
        let isWhole = total != nil && (told == nil || total == told)
        return Assumption(
            name, holds: response.head.status == 206 && Int64(response.body.count) == expected && isWhole,
            "status \(response.head.status), \(response.body.count) bytes, "
                + (total == nil
                    ? "without the whole length" : isWhole ? "with the whole length" : "of another length than HEAD's"))
    }

    /// The check of the format: a JPEG (ITU T.81) begins with SOI and ends with EOI.
    private var format: Assumption {
        let name = "format of the 1200-pixel rendition"
        guard case .success(let first)? = beginning else { return Assumption.failed(name, beginning) }
        guard case .success(let last)? = ending else { return Assumption.failed(name, ending) }
        let begins = first.body.starts(with: [0xFF, 0xD8])
        let ends = last.body == [0xFF, 0xD9]
        return Assumption(
            name, holds: begins && ends,
            "\(begins ? "it begins" : "it does not begin") as a JPEG does, \(ends ? "and ends so" : "and ends otherwise")"
        )
    }

    private func stranger(_ head: HTTPAnswer) -> Assumption {
        let name = "header Referer"
        guard case .success(let response)? = stranger else { return Assumption.failed(name, stranger) }
        return Assumption(
            name, holds: head.status == 200,
            "status \(head.status) with it, \(response.head.status) without")
    }

    private var previewAssumption: Assumption {
        let name = "small preview beside it"
        guard case .success(let response)? = preview else { return Assumption.failed(name, preview) }
        return Assumption(name, holds: response.head.status == 200, "status \(response.head.status)")
    }
}
