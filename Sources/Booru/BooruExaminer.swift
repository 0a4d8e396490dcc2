import Digests
import HTTP
import Rankings
package import Sourcing

/// Checks the assumptions about a board: pages of a day, one post's record, and that post's files.
///
/// It follows the rules of a mount (the gate, the mildest rating) and sends eight requests, one after the other. The original is
/// the smallest of the day's page, requested whole to compare its bytes with the listed digest; after a host failed to answer, it
/// sends that host no further request.
package struct BooruExaminer: Sendable {
    private let source: BooruSource
    private let send: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    private let now: Int64
    private let patience: Duration
    private let time: TimeSource

    /// Makes an examiner.
    ///
    /// - Parameters:
    ///   - engine: The engine of the board.
    ///   - means: The means of sending requests.
    package init(_ engine: any BooruEngine, _ means: ExaminationMeans) {
        send = means.send
        source = BooruSource(
            engine, send: means.send, gate: means.gate, apiURL: means.apiURL, imageURL: means.imageReplacement,
            choices: [:], time: means.time, wallClock: { means.now })
        now = means.now
        patience = means.patience
        time = means.time
    }

    /// The bytes requested of an original's beginning.
    static let part: Int64 = 64 << 10

    /// Sends the requests and judges the answers.
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

/// The judgement of the image hosts' answers for one post; requests not sent are nil.
struct FileJudgement {
    private let files: PostFiles
    /// The first part of the original.
    var beginning: Result<HTTPResponse, HTTPError>?
    /// The original.
    var whole: Result<HTTPResponse, HTTPError>?
    /// The answers to HEADs of the sample and of the preview.
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

    /// The checks of length and digest: no byte of an original is returned unless both match.
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

// MARK: - Booru judgements

/// The judgement of a day's pages.
struct DayJudgement {
    let engine: any BooruEngine
    /// The requested rating.
    let step: RatingScale.Step
    let hosts: PictureHosts
    /// The requested day, in Unix seconds.
    let moments: Range<Int64>

    /// The longest original that is requested whole, in bytes: of a page of a hundred some are shorter.
    static let longest: Int64 = 8 << 20

    /// The entries of an answer; nil for an answer without a list.
    private func entries(in answer: Result<JSON, SourceError>) -> [PostEntry]? {
        guard case .success(let json) = answer else { return nil }
        return try? engine.entries(in: json, hosts: hosts)
    }

    /// The readable posts of an answer; nil for an answer without a list.
    func posts(in answer: Result<JSON, SourceError>) -> [BooruPost]? {
        entries(in: answer)?.compactMap(\.post)
    }

    /// The post with the shortest original among those of the mildest rating; posts with a sample come first.
    func example(in answer: Result<JSON, SourceError>) -> BooruPost? {
        let fitting = (posts(in: answer) ?? []).filter { post in
            guard let files = post.files, post.withheld == nil, post.rating.map({ $0 <= step.rating }) == true,
                let size = files.original.size
            else { return false }
            return size <= Self.longest
        }
        let sampled = fitting.filter { $0.files?.sample != nil }
        return (sampled.isEmpty ? fitting : sampled).min {
            ($0.files?.original.size ?? 0) < ($1.files?.original.size ?? 0)
        }
    }

    // MARK: - The first page

    func assumptions(of answer: Result<JSON, SourceError>) -> [Assumption] {
        let name = "list of a day"
        let json: JSON
        switch answer {
        case .failure(let error): return [.failed(name, error)]
        case .success(let found): json = found
        }
        guard let entries = entries(in: answer) else {
            return [Assumption(name, .changed, "the answer has no list of posts")]
        }
        let posts = entries.compactMap(\.post)
        let isList = !posts.isEmpty && entries.count <= engine.postsPerPage
        let first = Assumption(
            name, holds: isList, "\(entries.count) entries, \(engine.postsPerPage) at most were asked for")
        guard !posts.isEmpty else { return [first] }
        let fields = engine.fields(of: json).map { kind in
            kind.objects.isEmpty
                ? Assumption(kind.name, .unknown, "there is none") : kind.list.compare(kind.name, with: kind.objects)
        }
        return [first] + fields + [
            understood(entries), told(posts), addresses(posts), rating(posts), day(posts), order(posts),
        ]
    }

    private func understood(_ entries: [PostEntry]) -> Assumption {
        let strange = entries.count { $0 == .unreadable }
        return Assumption(
            "posts that are understood", holds: strange == 0, "\(entries.count - strange) of \(entries.count)")
    }

    private func told(_ posts: [BooruPost]) -> Assumption {
        let told = posts.count { $0.files != nil }
        let all = told + posts.count { $0.withheld == Withholding.unproven }
        return Assumption(
            "size and MD5 of originals", holds: told == all && told > 0, "told of \(told) of \(all)")
    }

    private func addresses(_ posts: [BooruPost]) -> Assumption {
        let strange = posts.count { $0.withheld == Withholding.elsewhere }
        let hidden = posts.count { $0.withheld != nil && $0.withheld != Withholding.unproven } - strange
        return Assumption(
            "hosts of originals", holds: strange == 0,
            "\(posts.count - strange - hidden) on known ones, \(strange) elsewhere, \(hidden) without an address")
    }

    private func rating(_ posts: [BooruPost]) -> Assumption {
        let unknown = posts.count { $0.rating == nil }
        let milder = posts.count { post in post.rating.map { $0 <= step.rating } == true }
        return Assumption(
            "rating of what was asked for", holds: milder == posts.count,
            "\(milder) of \(posts.count) are \(step.word) as asked for"
                + (unknown > 0 ? ", \(unknown) have an unknown letter" : ""))
    }

    private func day(_ posts: [BooruPost]) -> Assumption {
        let inside = posts.count { post in post.created.map { moments.contains($0) } == true }
        return Assumption(
            "day of the posts", holds: inside == posts.count,
            "\(inside) of \(posts.count) were made on the day asked for")
    }

    private func order(_ posts: [BooruPost]) -> Assumption {
        let scores = posts.compactMap(\.score)
        let isFalling = zip(scores, scores.dropFirst()).allSatisfy { $0 >= $1 }
        return Assumption(
            "order by score", holds: isFalling && scores.count == posts.count,
            scores.count < posts.count
                ? "\(posts.count - scores.count) posts tell no score"
                : isFalling ? "the best are first" : "worse posts come before better ones")
    }

    // MARK: - Further pages

    /// Judges the second page: after a full page it has other posts, after a page far from full it has none.
    func further(after first: Result<JSON, SourceError>, _ second: Result<JSON, SourceError>) -> Assumption {
        let name = "second page"
        let before = entries(in: first) ?? []
        let posts: [BooruPost]
        switch second {
        case .failure(.pastTheEnd): posts = []
        case .failure(let error): return .failed(name, error)
        case .success:
            guard let found = self.posts(in: second) else {
                return Assumption(name, .changed, "the answer has no list of posts")
            }
            posts = found
        }
        let known = Set(before.compactMap { $0.post?.id })
        let repeated = posts.count { known.contains($0.id) }
        guard repeated == 0 else {
            return Assumption(name, .changed, "\(repeated) of its \(posts.count) posts were on the first")
        }
        let mayGoOn = before.count * 2 >= engine.postsPerPage
        return Assumption(
            name, holds: mayGoOn || posts.isEmpty,
            posts.isEmpty
                ? "it is empty, after \(before.count) entries"
                : "\(posts.count) further posts, after \(before.count) entries")
    }

    /// Judges a page far after the last.
    func end(_ answer: Result<JSON, SourceError>) -> Assumption {
        let name = "page behind the last"
        switch answer {
        case .failure(.pastTheEnd): return Assumption(name, .kept, "it is refused as one")
        case .failure(let error): return .failed(name, error)
        case .success:
            guard let entries = entries(in: answer) else {
                return Assumption(name, .changed, "the answer has no list of posts")
            }
            return Assumption(
                name, holds: entries.isEmpty, entries.isEmpty ? "it is empty" : "it has \(entries.count) entries")
        }
    }
}

/// The judgement of a post's record, compared with the list.
struct PostRecordJudgement {
    let engine: any BooruEngine
    let hosts: PictureHosts
    let post: BooruPost

    func assumptions(of answer: Result<JSON, SourceError>) -> [Assumption] {
        let name = "record of a post"
        let json: JSON
        switch answer {
        case .failure(let error): return [.failed(name, error)]
        case .success(let found): json = found
        }
        guard let record = try? engine.record(in: json, hosts: hosts).entry.post, record.id == post.id else {
            return [Assumption(name, .changed, "it is not understood, or that of another post")]
        }
        let isSame = record.files == post.files
        return [
            Assumption(name, .kept, "it is understood"),
            Assumption(
                "files in the record", holds: isSame, isSame ? "those of the list" : "others than those of the list"),
        ]
    }
}
