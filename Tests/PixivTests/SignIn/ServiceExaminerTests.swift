import Foundation
@testable import HTTP
import Rankings
import Sourcing
import Synchronization
import TestSupport
import Testing

@testable import Pixiv

/// `rankfs doctor --service`: what is taken for granted of the service, held against recorded and changed answers.
@Suite(.timeLimit(.minutes(1))) struct ServiceExaminerTests {
    /// Whoever removes a field that is said to be decoded must see it in what is decoded, and nobody the others.
    @Test func theListOfAnEntryIsWhatIsDecoded() throws {
        var plain = try #require((try Payload(Payload.daily).root["contents"] as? [[String: Any]])?.first)
        // Not what stands in for a missing one.
        plain["illust_type"] = "1"
        plain["illust_page_count"] = "3"
        var masked = plain
        masked["mask_reason"] = "login_only"
        masked["url"] = "https://s.pximg.net/common/images/limit_unviewable_s.png"
        try Self.check(.entry, [plain, masked], conditional: ["mask_reason", "total_score"]) {
            WorkAnswers.ranked(try JSONReader.read(bytes($0))).map { String(describing: $0) }
        }
    }

    @Test func theListOfARecordIsWhatIsDecoded() throws {
        let payload = try Payload("ajax-illust/Magelon-png-PixivApi-57826890")
        var plain = payload.root["body"] as? [String: Any] ?? payload.root
        plain["seriesNavData"] = ["title": "a series"]
        plain["aiType"] = 2
        plain["description"] = "some words"
        plain["xRestrict"] = 1
        plain["illustType"] = 1
        plain["pageCount"] = 3
        var masked = plain
        masked["urls"] = (plain["urls"] as? [String: Any])?.mapValues { _ in NSNull() }
        masked["isLoginOnly"] = true
        var elsewhere = plain
        elsewhere["locationMask"] = true
        let id = try #require(plain.text("id").flatMap { Int64($0) })
        try Self.check(.record, [plain, masked, elsewhere], conditional: ["maskReason"]) {
            let body = try JSONReader.read(bytes($0))
            return (try? WorkAnswers.details(body, of: WorkID(rawValue: id))).map { String(describing: $0) }
        }
    }

    @Test func theListOfABriefRecordIsWhatIsDecoded() throws {
        let works = try #require(
            try Payload("ajax-user-illusts-tag/Magelon-png-PixivApi").root.at("body", "works") as? [[String: Any]])
        var plain = try #require(works.first)
        plain["illustType"] = 1
        plain["pageCount"] = 3
        try Self.check(.brief, [plain], conditional: ["seriesId", "maskReason", "isMasked"]) {
            WorkAnswers.brief(try JSONReader.read(bytes($0))).map { String(describing: $0) }
        }
        // Each list recorded in 2026 has these fields, and no others.
        for path in [
            "ajax-series/Magelon-png-PixivApi-p1", "ajax-illust-recommend-init/Magelon-png-PixivApi",
            "ajax-user-illusts-tag/Magelon-png-PixivApi", "ajax-user-bookmarks/Magelon-png-PixivApi",
            "ajax-collection/Magelon-png-PixivApi-GetCollection",
        ] {
            let report = FakeService().source().judge(list: try Payload(path).json, named: "x")
            #expect(
                report.map(\.verdict) == [.kept] && !report.contains { $0.text.contains("new") }, "\(path): \(report)")
        }
    }

    private static func check(
        _ list: FieldList, _ objects: [[String: Any]], conditional: Set<String>,
        decode: ([String: Any]) throws -> String?
    ) throws {
        #expect(list.passedOver.isDisjoint(with: list.decoded.map(\.name)))
        let before = try objects.map(decode)
        #expect(!before.contains(nil))
        for (field, kind) in list.decoded {
            let after = try objects.map { object in try decode(object.filter { $0.key != field }) }
            #expect(after != before, "\(field) is not decoded")
            #expect(try kind.holds(JSONReader.read(bytes(objects[0]))[field]), "\(field)")
        }
        for field in list.passedOver.subtracting(conditional) {
            let after = try objects.map { object in try decode(object.filter { $0.key != field }) }
            #expect(after == before, "\(field) is decoded")
        }
        let report = list.compare("x", with: try objects.map { try JSONReader.read(bytes($0)) })
        #expect(report.verdict == .kept && !report.text.contains("new"), "\(report.text)")
    }

    // MARK: - The whole report

    @Test func aServiceAsItWasKeepsEverything() async throws {
        let service = try ScriptedService()
        let report = await service.report()
        for assumption in report { #expect(assumption.verdict == .kept, "\(assumption.name): \(assumption.text)") }
        #expect(Set(report.map(\.name)).count == report.count && report.count > 20)
        #expect(service.requests.count == 11)
        #expect(
            service.requests.suffix(4).compactMap { $0.url.split(separator: "/").dropFirst(2).first }.allSatisfy {
                $0 == "ajax"
            })
        #expect(service.requests.allSatisfy { !$0.headers.contains { $0.lowercased().hasPrefix("cookie") } })
        #expect(service.requests.count { !$0.headers.contains(WebAPI.referer) } == 1)
        let text = report.map(\.text).joined()
        for entry in service.ranking["contents"] as? [[String: Any]] ?? [] {
            for name in ["title", "user_name"] where (entry.text(name) ?? "").count > 3 {
                #expect(!text.contains(entry.text(name) ?? ""))
            }
        }
    }

    /// What changes, and what is said to be changed (or, with a question mark, unknown) then.
    private static let changes: [(String, @Sendable (inout ScriptedService.Script) -> Void, Set<String>)] = [
        ("field gone", { $0.entries { $0["view_count"] = nil } }, ["fields of an entry"]),
        (
            "field renamed", { $0.entries { $0["work_url"] = $0.removeValue(forKey: "url") } },
            ["newest ranking", "fields of an entry", "time of upload in the address"]
        ),
        (
            "another form of addresses", { $0.entries { $0["url"] = "https://i.pximg.net/v2/1.avif" } },
            ["newest ranking", "time of upload in the address"]
        ),
        (
            "another form of one address", { $0.entry { $0["url"] = "https://i.pximg.net/v2/1.avif" } },
            ["entries that are understood", "time of upload in the address", "record of a work"]
        ),
        (
            "another time of upload", { $0.entries { $0["illust_upload_timestamp"] = 7 } },
            ["time of upload in the address"]
        ),
        ("new field", { $0.entries { $0["sparkle"] = 1 } }, []),
        ("old day", { $0.ranking["date"] = "20220428" }, ["day of the newest ranking"]),
        (
            "no total", { $0.ranking["rank_total"] = nil },
            ["fields of a ranking", "second page", "page behind the last"]
        ),
        ("no further page", { $0.ranking["next"] = false }, ["paging"]),
        ("an account is wanted", { $0.status["/ranking.php"] = 401 }, ["newest ranking"]),
        ("a page of HTML", { $0.texts["/ranking.php"] = "<html>" }, ["newest ranking"]),
        (
            "another picture in the record",
            { $0.record["urls"] = ["regular": "https://i.pximg.net/a", "original": "b"] },
            ["record of a work", "format of the original in the record"]
        ),
        (
            "the picture of another time in the record", { $0.moveRecord() }, ["pictures in the record"]
        ),
        ("no record", { $0.status["/ajax/illust/"] = 404 }, ["record of a work", "related works"]),
        ("a list without works", { $0.lists["/ajax/series/"] = ["page": [:]] }, ["a series"]),
        (
            "lists with a field less",
            { $0.lists["/recommend/"] = ["illusts": [["id": 5, "url": "x"]], "nextIds": []] },
            ["related works", "fields of related works"]
        ),
        ("no tags", { $0.lists["/illustmanga/tags"] = [String: Any]() }, ["tags of an author"]),
        ("no length", { $0.hidesLength = true }, []),
        ("no ranges", { $0.ignoresRanges = true }, ["parts of a picture by Range"]),
        ("no validators", { $0.validators = [] }, ["validator of a picture"]),
        ("another format", { $0.picture = Array(repeating: 7, count: 200_000) }, ["format of a picture"]),
        ("HTTP/1.1", { $0.version = "1.1" }, ["protocol of the API", "protocol of the image host"]),
        (
            "the image host is gone", { $0.imageFailure = .unreachable("no route to 10.0.0.1") },
            ["parts of a picture by Range?"]
        ),
        ("the API is gone", { $0.apiFailure = .timedOut }, ["newest ranking?"]),
    ]

    @Test(arguments: changes.indices) func whatChangedIsSaid(_ index: Int) async throws {
        let (name, change, expected) = Self.changes[index]
        let service = try ScriptedService(change)
        let report = await service.report()
        let told = report.filter { $0.verdict != .kept }.map { $0.name + ($0.verdict == .unknown ? "?" : "") }
        #expect(Set(told) == expected, "\(name): \(report.map { "\($0.verdict) \($0.name): \($0.text)" })")
        #expect(service.requests.count <= 13)
        #expect(!report.contains { $0.text.contains("10.0.0.1") })
        if name == "new field" { #expect(report.contains { $0.text.hasSuffix("new: sparkle") }) }
    }

    @Test func strangeNamesOfFieldsAreCounted() throws {
        let entry = JSON.object([
            .init(name: "a b\u{202e}", value: .null), .init(name: "ok_Field", value: .null),
            .init(name: String(repeating: "x", count: 50), value: .null),
        ])
        let list = FieldList(decoded: [], passedOver: [])
        #expect(list.compare("x", with: [entry]).text.hasSuffix("new: ok_Field, 2 more"))
    }
}

/// API and image host as they were recorded, with what a test changes.
private final class ScriptedService: Sendable {
    struct Script: @unchecked Sendable {
        // @unchecked: dictionaries of Foundation's, changed before the first request and only read afterwards.
        var ranking: [String: Any]
        var record: [String: Any]
        /// The bodies of lists by a part of their paths.
        var lists: [String: Any]
        var status: [String: Int] = [:]
        var texts: [String: String] = [:]
        var picture = [0xFF, 0xD8] + Array(repeating: UInt8(1), count: 199_996) + [0xFF, 0xD9]
        var hidesLength = false
        var ignoresRanges = false
        var validators = ["etag", "last-modified"]
        var version = "2"
        var apiFailure: Failure?
        var imageFailure: Failure?

        /// Changes the first entry alone.
        mutating func entry(_ change: (inout [String: Any]) -> Void) {
            guard var all = ranking["contents"] as? [[String: Any]], !all.isEmpty else { return }
            change(&all[0])
            ranking["contents"] = all
        }

        /// The record names a picture of the same work, uploaded a century earlier.
        mutating func moveRecord() {
            record["urls"] = (record["urls"] as? [String: String])?.mapValues {
                $0.replacingOccurrences(of: "/img/20", with: "/img/19")
            }
        }

        mutating func entries(_ change: (inout [String: Any]) -> Void) {
            ranking["contents"] = (ranking["contents"] as? [[String: Any]] ?? []).map { entry in
                var entry = entry
                change(&entry)
                return entry
            }
        }
    }

    private let script: Script
    private let log = Mutex<[HTTPRequest]>([])

    var requests: [HTTPRequest] { log.withLock { $0 } }
    var ranking: [String: Any] { script.ranking }

    init(_ change: (inout Script) -> Void = { _ in }) throws {
        let ranking = try Payload(Payload.daily).root
        let first = try #require((ranking["contents"] as? [[String: Any]])?.first)
        let payload = try Payload("ajax-illust/Magelon-png-PixivApi-57826890")
        var record = payload.root["body"] as? [String: Any] ?? payload.root
        record["id"] = first.int("illust_id").map(String.init)
        let regular = "https://i.pximg.net/img-master/img/\(reference(try #require(first.text("url"))))_master1200.jpg"
        record["urls"] = [
            "regular": regular,
            "original": regular.replacingOccurrences(of: "img-master", with: "img-original")
                .replacingOccurrences(of: "_master1200.jpg", with: ".png"),
        ]
        func body(_ path: String) throws -> Any { try #require(try Payload(path).root["body"]) }
        var script = Script(
            ranking: ranking, record: record,
            lists: [
                "/ajax/series/": try body("ajax-series/Magelon-png-PixivApi-p1"),
                "/recommend/": try body("ajax-illust-recommend-init/Magelon-png-PixivApi"),
                "/illustmanga/tags": [["tag": "a", "cnt": 3]],
                "/illustmanga/tag?": try body("ajax-user-illusts-tag/Magelon-png-PixivApi"),
            ])
        change(&script)
        self.script = script
    }

    func report() async -> [Assumption] {
        let noon = Int64(Day(compact: "20220502")?.ordinal ?? 0) * 86_400 + 4 * 3600
        let means = SourceMeans(
            send: { request throws(Failure) in try self.answer(request) },
            apiURL: "https://api.test", imageURL: "https://images.test", wallClock: { noon })
        return await ServiceExaminer(PixivPlugIn(), means, patience: .seconds(5))?.examine() ?? []
    }

    private func answer(_ request: HTTPRequest) throws(Failure) -> HTTPResponse {
        log.withLock { $0.append(request) }
        guard request.url.hasPrefix("https://api.test") else { return try picture(request) }
        if let failure = script.apiFailure { throw failure }
        let path = String(request.url.dropFirst("https://api.test".count))
        let list = script.lists.first { path.contains($0.key) }?.value
        let object: [String: Any] =
            path.hasPrefix("/ranking.php")
            ? script.ranking : ["error": false, "message": "", "body": list ?? script.record]
        let status = script.status.first { path.hasPrefix($0.key) }?.value ?? 200
        let text = script.texts.first { path.hasPrefix($0.key) }?.value
        let body = text.map { Array($0.utf8) } ?? (try? bytes(status == 200 ? object : [:])) ?? []
        return HTTPResponse(head: HTTPAnswer(status: status, headers: [], version: script.version), body: body)
    }

    private func picture(_ request: HTTPRequest) throws(Failure) -> HTTPResponse {
        if let failure = script.imageFailure { throw failure }
        let knowsOrigin = request.headers.contains(WebAPI.referer)
        var headers = script.validators.map { (name: $0, value: "x") }
        var body: [UInt8] = []
        var status = knowsOrigin ? 200 : 403
        if let range = request.range, !script.ignoresRanges {
            status = 206
            let last = min(range.last ?? .max, Int64(script.picture.count) - 1)
            headers.append(("content-range", "bytes \(range.first)-\(last)/\(script.picture.count)"))
            body = Array(script.picture[Int(range.first)...Int(last)])
        } else if request.method == .get {
            throw .tooLarge
        } else if !script.hidesLength {
            headers.append(("content-length", "\(script.picture.count)"))
        }
        return HTTPResponse(head: HTTPAnswer(status: status, headers: headers, version: script.version), body: body)
    }
}
