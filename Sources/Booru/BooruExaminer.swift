import Digests
import HTTP
import Rankings
package import Sourcing

/// Asks a board for what this program takes for granted of it: pages of a day, one post's record, and that post's files.
///
/// By the rules of a mount (the rate, the mildest rating), eight requests, one after the other. The original is the smallest of
/// the day's page, asked for whole to hold its bytes against the listed digest; where a host does not answer, it is not asked again.
package struct BooruExaminer: Sendable {
    private let source: BooruSource
    private let send: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    private let now: Int64
    private let patience: Duration
    private let time: TimeSource

    /// - Parameters:
    ///   - engine: How the board is asked.
    ///   - means: How to ask.
    package init(_ engine: any BooruEngine, _ means: ExaminationMeans) {
        send = means.send
        source = BooruSource(
            engine, send: means.send, apiURL: means.apiURL, imageURL: means.imageReplacement, choices: [:],
            wallClock: { means.now })
        now = means.now
        patience = means.patience
        time = means.time
    }

    /// Bytes of the part of an original that is asked for.
    static let part: Int64 = 64 << 10

    /// Asks and judges.
    package func examine() async -> [Assumption] {
        guard let facts = source.description.rankings.first, let step = source.step else { return [] }
        let day = source.description.days(of: facts.mode).newest(at: now)
        let begin = source.description.calendar.begins(day)
        let judgement = DayJudgement(
            engine: source.engine, step: step, hosts: source.hosts,
            moments: begin..<source.description.calendar.begins(day.advanced(by: 1)))
        let first = await page(1, of: day, step)
        var report = judgement.assumptions(of: first)
        guard let posts = judgement.posts(in: first), !posts.isEmpty else { return report }
        report.append(judgement.further(after: first, await page(2, of: day, step)))
        report.append(judgement.end(await page(source.description.paging.most, of: day, step)))
        guard let post = judgement.example(in: first), let files = post.files else {
            let reason = "not asked for, for the day names no file that is small enough"
            return report + ["record of a post", "files"].map { Assumption($0, .unknown, reason) }
        }
        let record = await ask(source.engine.record(of: post.id))
        report += PostRecordJudgement(engine: source.engine, hosts: source.hosts, post: post).assumptions(of: record)
        return report + (await examine(files))
    }

    private func page(_ number: Int, of day: Day, _ step: RatingScale.Step) async -> Result<JSON, SourceError> {
        let terms = [source.engine.term(for: day..<day.advanced(by: 1)), "order:score"] + (step.tag.map { [$0] } ?? [])
        return await ask(source.engine.list(terms, page: number), page: number)
    }

    private func ask(_ path: String, page: Int = 1) async -> Result<JSON, SourceError> {
        do throws(SourceError) {
            return .success(try await source.api.answer(path, page: page, deadline: time.now() + patience).json)
        } catch {
            return .failure(error)
        }
    }

    // MARK: - Files

    private func examine(_ files: PostFiles) async -> [Assumption] {
        var look = FileJudgement(files)
        let limit = files.original.size ?? Self.part
        look.beginning = await get(.get, files.original, range: 0..<min(Self.part, limit), limit: Self.part)
        guard case .success = look.beginning else { return look.assumptions }
        look.whole = await get(.get, files.original, limit: limit)
        if let sample = files.sample { look.sample = await get(.head, sample, limit: Self.part) }
        if let small = files.small { look.small = await get(.head, small, limit: Self.part) }
        return look.assumptions
    }

    private func get(
        _ method: HTTPRequest.Method, _ file: PostFile, range: Range<Int64>? = nil, limit: Int64
    ) async -> Result<HTTPResponse, HTTPError> {
        do throws(HTTPError) {
            return .success(
                try await send(
                    HTTPRequest(
                        method: method, url: source.hosts.address(of: file.place),
                        range: range.map { ($0.lowerBound, $0.upperBound - 1) },
                        transferClass: method == .head ? .metadata : .bulk, deadline: time.now() + patience,
                        bodyLimit: limit, purpose: method == .head ? .size : .picture)))
        } catch {
            return .failure(error)
        }
    }
}

/// What the image hosts' answers for one post say of them; what was not asked for is nil.
struct FileJudgement {
    private let files: PostFiles
    /// The first part of the original.
    var beginning: Result<HTTPResponse, HTTPError>?
    /// The original.
    var whole: Result<HTTPResponse, HTTPError>?
    /// HEADs of the sample and of the preview.
    var sample: Result<HTTPResponse, HTTPError>?
    var small: Result<HTTPResponse, HTTPError>?

    init(_ files: PostFiles) {
        self.files = files
    }

    var assumptions: [Assumption] {
        var report = [part]
        if case .success(let response)? = beginning {
            report.append(.validator("validator of an original", response.head))
        }
        report += bytes
        if let file = files.sample { report.append(length("sample by HEAD", file, sample)) }
        if let file = files.small { report.append(length("preview by HEAD", file, small)) }
        return report
    }

    private var part: Assumption {
        let name = "parts of an original by Range"
        guard case .success(let response)? = beginning else { return .failed(name, beginning) }
        let total = response.head.total
        let expected = min(BooruExaminer.part, files.original.size ?? BooruExaminer.part)
        return Assumption(
            name,
            holds: response.head.status == 206 && response.body.count == expected && total == files.original.size,
            "status \(response.head.status), \(response.body.count) of \(expected) bytes, "
                + (total == nil
                    ? "without the whole length"
                    : total == files.original.size ? "with the listed length" : "of another length than the listed one")
        )
    }

    /// No byte of an original is given out unless both hold.
    private var bytes: [Assumption] {
        let names = ["listed length of an original", "listed MD5 of an original"]
        guard case .success(let response)? = whole else { return names.map { .failed($0, whole) } }
        let isWhole = response.head.status == 200 && Int64(response.body.count) == files.original.size
        let isRight = MD5.hex(response.body) == files.md5
        return [
            Assumption(
                names[0], holds: isWhole,
                "status \(response.head.status), "
                    + (isWhole ? "as many bytes as listed" : "another number of bytes than listed")),
            Assumption(
                names[1], holds: response.head.status == 200 && isRight,
                isRight ? "the bytes have it" : "the bytes have another"),
        ]
    }

    private func length(
        _ name: String, _ file: PostFile, _ result: Result<HTTPResponse, HTTPError>?
    ) -> Assumption {
        guard case .success(let response)? = result else { return .failed(name, result) }
        let told = response.head.length.value
        let isListed = told.map { $0 > 0 && $0 == file.size ?? $0 } ?? false
        return Assumption(
            name, holds: response.head.status == 200 && isListed,
            "status \(response.head.status), "
                + (told == nil
                    ? "without a length"
                    : file.size == nil
                        ? "with a length, which no list tells"
                        : isListed ? "with the listed length" : "of another length than the listed one"))
    }
}
