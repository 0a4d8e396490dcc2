import System
import HTTP
package import Rankings
import Synchronization

/// A source with checks of its own: those that need the raw answers, which its decoders reduce to works.
package protocol ExaminableSource: RankingSource {
    /// Whether the hosts are expected to answer over HTTP/2.
    var expectsMultiplexing: Bool { get }

    /// Judges the answer with the first page of a ranking.
    ///
    /// - Parameters:
    ///   - answer: The whole answer.
    ///   - day: The day of the page; nil if the page cannot be decoded.
    /// - Returns: The fields of its objects, and the checks that only this service allows.
    func judge(ranking answer: JSON, day: Day?) -> [Assumption]

    /// Judges the answer with the record of a work.
    func judge(record answer: JSON) -> [Assumption]

    /// Judges the answer with a list other than a ranking, called `name` in the report.
    func judge(list answer: JSON, named name: String) -> [Assumption]
}

extension ExaminableSource {
    package var expectsMultiplexing: Bool { false }

    package func judge(record answer: JSON) -> [Assumption] { [] }

    package func judge(list answer: JSON, named name: String) -> [Assumption] { [] }
}

/// Checks the assumptions about a service with its ordinary source: the newest ranking, one record, and the pictures of that work.
///
/// It follows the rules of a mount (the rate limit, the headers, the mildest rating) and needs no account. The requests follow one
/// another: seven to a service that reports the length of a ranking, eight to any other, and up to five for lists that need no
/// account and lead on from the work. After the image host failed to answer, it sends that host no further request.
package struct ServiceExaminer: Sendable {
    private let source: any ExaminableSource
    private let means: SourceMeans
    private let seen: Seen
    private let patience: Duration

    /// Makes an examiner; fails for a source that has nothing to examine.
    ///
    /// - Parameters:
    ///   - plugIn: The module of the source.
    ///   - means: The means of sending requests, without a session.
    ///   - patience: The time limit of each step.
    package init?(_ plugIn: any SourcePlugIn, _ means: SourceMeans, patience: Duration) {
        let (seen, send) = (Seen(), means.send)
        var means = means
        means.send = { request throws(Failure) in
            let response = try await send(request)
            seen.last.withLock { $0 = (request.url, response) }
            return response
        }
        guard let source = plugIn.source(means) as? any ExaminableSource else { return nil }
        self.source = source
        self.means = means
        self.seen = seen
        self.patience = patience
    }

    /// The last answer, with the address of its request.
    private final class Seen: Sendable {
        let last = Mutex<(url: String, response: HTTPResponse)?>(nil)
    }

    /// The bytes requested of a picture's beginning: 64 KB.
    private static let part: Int64 = 64 << 10
    /// The longest picture that is requested whole, in bytes: of a page of a hundred works some are shorter.
    private static let longest: Int64 = 8 << 20

    private var deadline: ContinuousClock.Instant { means.time.now() + patience }

    /// Sends the requests and judges the answers.
    package func examine() async -> [Assumption] {
        guard let mode = source.description.rankings.first?.mode else { return [] }
        let name = "newest ranking"
        let first = await page(1, of: .ranking(mode, nil))
        let raw = seen.last.withLock { $0 }
        var report: [Assumption] = []
        if let raw { report += multiplexing("protocol of the API", raw.url, raw.response.head) }
        switch first {
        case .failure(let error):
            return [.failed(name, error)] + report + (answer.map { source.judge(ranking: $0, day: nil) } ?? [])
        case .success(let page):
            let works = page.entries.map(\.work)
            let all = works.count + page.unreadable
            report += [
                Assumption(
                    name, holds: !works.isEmpty,
                    "\(works.count) entries, \(works.count { $0.withheld != nil }) of them withheld"),
                Assumption("entries that are understood", holds: page.unreadable == 0, "\(works.count) of \(all)"),
                day(page.day, mode),
            ]
            if let answer { report += source.judge(ranking: answer, day: page.day) }
            report += await paging(page, mode)
            guard let work = example(among: works) else {
                let reason = "not asked for, for the ranking names no picture that is fit for it"
                return report + ["record of a work", "pictures"].map { Assumption($0, .unknown, reason) }
            }
            let series = works.lazy.compactMap(\.series).first
            return report + (await record(of: work)) + (await pictures(of: work)) + (await lists(work, series))
        }
    }

    /// The JSON of the last answer; nil for an answer that is none, or an error.
    private var answer: JSON? {
        seen.last.withLock { $0?.response }.flatMap {
            $0.head.status == 200 ? try? JSONReader.read($0.body) : nil
        }
    }

    private func multiplexing(_ name: String, _ url: String, _ head: HTTPAnswer) -> [Assumption] {
        guard source.expectsMultiplexing, url.hasPrefix("https://") else { return [] }
        return [Assumption(name, holds: head.version == "2", "HTTP/\(head.version)")]
    }

    // MARK: - The ranking

    private func page(_ page: Int, of listing: ListingKey) async -> Result<ListingPage, Failure> {
        seen.last.withLock { $0 = nil }
        return await Result { () async throws(Failure) in try await source.page(of: listing, page, deadline: deadline) }
    }

    private func day(_ day: Day?, _ mode: RankingMode) -> Assumption {
        guard let day else { return .failed("day of the newest ranking", .unreadable("it has no day")) }
        let late = source.description.days(of: mode).newest(at: means.wallClock()).ordinal - day.ordinal
        // A ranking may appear hours after its time.
        let text =
            switch late {
            case 0: "the one that appeared last by the calendar"
            case 1: "the one before, which is usual while a new one is made"
            default: "\(late) days before the one that should have appeared last; is this clock right?"
            }
        return Assumption("day of the newest ranking", holds: late == 0 || late == 1, text)
    }

    /// Judges the end of the ranking: by its length where the service reports one, otherwise by two further pages.
    private func paging(_ first: ListingPage, _ mode: RankingMode) async -> [Assumption] {
        let paging = source.description.paging
        if let total = first.total {
            let ranks = first.entries.compactMap(\.rank)
            return [
                Assumption(
                    "paging",
                    holds: first.hasNext == (total > paging.entries) && ranks.allSatisfy { $0 <= paging.entries },
                    "ranks \(ranks.min() ?? 0) to \(ranks.max() ?? 0) of \(total) on the first page, "
                        + (first.hasNext ? "then a further page" : "and no further page"))
            ]
        }
        let second = await page(2, of: .ranking(mode, first.day))
        let known = Set(first.entries.map(\.work.id))
        return [
            Self.page("second page", second) { page in
                let repeated = page.entries.count { known.contains($0.work.id) }
                return repeated > 0
                    ? (false, "\(repeated) of its \(page.entries.count) entries were on the first")
                    : (first.hasNext, "\(page.entries.count) further entries, after \(known.count)")
            },
            Self.page("page behind the last", await page(paging.most, of: .ranking(mode, first.day))) {
                (false, "it has \($0.entries.count) entries")
            },
        ]
    }

    private static func page(
        _ name: String, _ result: Result<ListingPage, Failure>, judge: (ListingPage) -> (holds: Bool, text: String)
    ) -> Assumption {
        switch result {
        case .failure(.pastTheEnd): return Assumption(name, .kept, "there is none")
        case .failure(let error): return .failed(name, error)
        case .success(let page):
            let (holds, text) = judge(page)
            return Assumption(name, holds: holds, text)
        }
    }

    // MARK: - One work

    private func location(_ work: Work, _ rendition: Rendition) -> PictureLocation? {
        source.location(of: work.id, picture: work.picture, page: 0, rendition: rendition)
    }

    /// The first work with a picture; where listings report sizes, the one with the shortest original, at best with a sample.
    private func example(among works: [Work]) -> Work? {
        let shown = works.filter { $0.withheld == nil && location($0, .regular) != nil }
        guard source.description.tellsSizes else { return shown.first }
        let sized = shown.compactMap { work -> (work: Work, size: Int64, isSampled: Bool)? in
            guard let original = location(work, .original), let size = original.size, size <= Self.longest else {
                return nil
            }
            // The still of an animation stands in for a sample.
            return (work, size, work.kind != .animation && location(work, .regular)?.url != original.url)
        }
        let sampled = sized.filter(\.isSampled)
        return (sampled.isEmpty ? sized : sampled).min { $0.size < $1.size }?.work
    }

    private func record(of work: Work) async -> [Assumption] {
        let name = "record of a work"
        seen.last.withLock { $0 = nil }
        let report: [Assumption]
        do throws(Failure) {
            let record = try await source.details(of: work.id, deadline: deadline).work
            let isSame = record.picture == work.picture
            report = [
                Assumption(name, .kept, "it is understood"),
                Assumption(
                    "pictures in the record", holds: isSame,
                    isSame ? "those of the ranking" : "others than those of the ranking"),
            ]
        } catch {
            report = [.failed(name, error)]
        }
        return report + (answer.map { source.judge(record: $0) } ?? [])
    }

    /// Judges the lists that lead on from a work, as far as the service has them, and a series.
    private func lists(_ work: Work, _ series: Int64?) async -> [Assumption] {
        let lists: [(name: String, kind: ListingKind, number: Int64?)] = [
            ("what is hot", .hot, 1), ("a series", .series, series), ("related works", .related, work.id.rawValue),
            ("tags of an author", .authorTags, work.author.rawValue),
            ("pools of a post", .poolsOfPost, work.id.rawValue),
        ]
        var report: [Assumption] = []
        for list in lists where source.has(list.kind) {
            guard let number = list.number else { continue }
            let (judged, first) = await self.list(ListingKey(list.kind, number), list.name)
            report += judged
            guard let first else { continue }
            let (name, inner) =
                list.kind == .authorTags
                ? ("works with a tag", "\(ListingKind.authorTag.facts.word)/\(number)/\(first.name)")
                : ("posts of a pool", "\(ListingKind.pool.facts.word)/\(first.id.rawValue)")
            if let key = ListingKey(text: inner) { report += await self.list(key, name).judged }
        }
        return report
    }

    /// Judges the first page of a list, and returns the first of its names, if it has names.
    private func list(_ key: ListingKey, _ name: String) async -> (judged: [Assumption], first: NamedAuthor?) {
        let page = await page(1, of: key)
        let judged = Self.page(name, page) { page in
            (
                page.unreadable == 0 && (key.listsNames || page.hasNext || !page.entries.isEmpty),
                "\(page.entries.count) entries"
                    + (page.entries.last?.rank.map { ", the last one is number \($0)" } ?? "")
            )
        }
        let fields = answer.map { source.judge(list: $0, named: name) } ?? []
        return ([judged] + fields, key.listsNames ? (try? page.get())?.authors.first : nil)
    }

    // MARK: - Its pictures

    /// Judges the original where the ranking reports its digest, otherwise the screen-sized picture, and the smaller pictures.
    private func pictures(of work: Work) async -> [Assumption] {
        guard let regular = location(work, .regular) else { return [] }
        let original = location(work, .original).flatMap { $0.digest == nil ? nil : $0 }
        let picture = original ?? regular
        let beginning = await get(.get, picture, range: 0..<min(Self.part, picture.size ?? Self.part))
        var report = [part(picture, beginning)]
        // The host cannot be reached; an answer that is wrong may be one to parts alone.
        if report[0].verdict == .unknown { return report }
        var total: Int64?
        if case .success(let first) = beginning {
            total = first.head.total
            report.append(.validator("validator of a picture", first.head))
            report += original == nil ? [await format(picture, first)] : await bytes(picture)
        }
        if regular.url != picture.url || original == nil {
            let head = await get(.head, regular)
            report.append(length("picture by HEAD", head, known: regular.url == picture.url ? total : regular.size))
            if case .success(let response) = head {
                report += multiplexing("protocol of the image host", regular.url, response.head)
                if let header = regular.headers.first {
                    report.append(await withoutHeaders(header, regular, response.head.status))
                }
            }
        }
        if let small = location(work, .small) {
            report.append(length("preview by HEAD", await get(.head, small), known: small.size))
        }
        return report
    }

    private func part(_ picture: PictureLocation, _ result: Result<HTTPResponse, Failure>) -> Assumption {
        let name = "parts of a picture by Range"
        guard case .success(let response) = result else { return .failed(name, result) }
        let total = response.head.total
        let expected = min(Self.part, picture.size ?? total ?? Self.part)
        let isTotal = total != nil && picture.size ?? total == total
        return Assumption(
            name, holds: response.head.status == 206 && response.body.count == expected && isTotal,
            "status \(response.head.status), \(response.body.count) of \(expected) bytes, "
                + (isTotal
                    ? "with the whole length"
                    : total == nil ? "without the whole length" : "of another length than the listed one"))
    }

    private func get(
        _ method: HTTPRequest.Method, _ picture: PictureLocation, range: Range<Int64>? = nil, limit: Int64 = part
    ) async -> Result<HTTPResponse, Failure> {
        await Result { () async throws(Failure) in
            try await means.send(
                HTTPRequest(
                    method: method, url: picture.url, headers: picture.headers,
                    range: range.map { ($0.lowerBound, $0.upperBound - 1) },
                    transferClass: method == .head ? .metadata : .bulk, deadline: deadline, bodyLimit: limit,
                    purpose: method == .head ? .size : .picture))
        }
    }

    /// Judges the first and the last bytes: a JPEG (ITU T.81) begins with SOI and ends with EOI.
    private func format(_ picture: PictureLocation, _ first: HTTPResponse) async -> Assumption {
        let name = "format of a picture"
        guard let total = first.head.total, total > 2 else { return .failed(name, nil) }
        let ending = await get(.get, picture, range: total - 2..<total)
        guard case .success(let last) = ending else { return .failed(name, ending) }
        let begins = first.body.starts(with: [0xFF, 0xD8])
        let ends = last.body == [0xFF, 0xD9]
        return Assumption(
            name, holds: begins && ends,
            "\(begins ? "it begins" : "it does not begin") as a JPEG does, \(ends ? "and ends so" : "and ends otherwise")"
        )
    }

    /// Judges length and digest: no byte of such a picture is returned to a reader unless both match.
    private func bytes(_ picture: PictureLocation) async -> [Assumption] {
        let names = ["listed length of a picture", "listed MD5 of a picture"]
        let whole = await get(.get, picture, limit: picture.size ?? Self.longest)
        guard case .success(let response) = whole else { return names.map { .failed($0, whole) } }
        let isWhole = Int64(response.body.count) == picture.size
        let isRight = MD5.hex(response.body) == picture.digest
        let isFine = response.head.status == 200
        return [
            Assumption(
                names[0], holds: isFine && isWhole,
                "status \(response.head.status), "
                    + (isWhole ? "as many bytes as listed" : "another number of bytes than listed")),
            Assumption(names[1], holds: isFine && isRight, isRight ? "the bytes have it" : "the bytes have another"),
        ]
    }

    /// Judges the length that an answer to HEAD declares, by the length that the ranking or a part reports.
    private func length(_ name: String, _ result: Result<HTTPResponse, Failure>, known: Int64?) -> Assumption {
        guard case .success(let response) = result else { return .failed(name, result) }
        let length = response.head.length
        let holds = length.map { $0 > 0 && $0 == known ?? $0 } ?? !source.description.tellsSizes
        return Assumption(
            name, holds: response.head.status == 200 && holds,
            "status \(response.head.status), "
                + (length == nil
                    ? holds ? "without a length, as one answer in ten is; a part tells it" : "without a length"
                    : known == nil
                        ? "with a length, which nothing else tells"
                        : holds ? "with the known length" : "of another length than the known one"))
    }

    /// Compares the answers to a HEAD with the headers of the source and without them.
    private func withoutHeaders(_ header: String, _ picture: PictureLocation, _ status: Int) async -> Assumption {
        var plain = picture
        plain.headers = []
        let name = "header \(header.prefix { $0 != ":" })"
        let answer = await get(.head, plain)
        guard case .success(let response) = answer else { return .failed(name, answer) }
        return Assumption(name, holds: status == 200, "status \(status) with it, \(response.head.status) without")
    }
}
