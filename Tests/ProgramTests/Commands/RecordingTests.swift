import Foundation
@testable import HTTP
import Rankings
import Sourcing
import TestSupport
import Testing

@testable import rankfs

/// What `rankfs doctor --service --record` keeps: over every recorded answer there is.
@Suite(.timeLimit(.minutes(2))) struct RecordingTests {
    private static let tests = TestPrograms.root.appending(path: "Tests")

    struct Answer: Sendable, CustomTestStringConvertible {
        let source: String
        let name: String
        let bytes: [UInt8]
        var testDescription: String { name }
    }

    private static func recorded() -> [Answer] {
        ["PixivTests", "BooruTests"].flatMap { target -> [Answer] in
            let folder = tests.appending(path: "\(target)/Payloads")
            let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
            return files.compactMap { $0 as? URL }.filter { $0.pathExtension == "json" }.compactMap { file in
                guard let bytes = try? Array(Data(contentsOf: file)) else { return nil }
                let kind = file.deletingLastPathComponent().lastPathComponent
                let source = target == "PixivTests" ? "pixiv" : kind == "danbooru" ? "danbooru" : "yandere"
                return Answer(source: source, name: "\(kind)/\(file.lastPathComponent)", bytes: bytes)
            }
        }
    }

    private func recording(_ source: String) throws -> AnswerRecording {
        let plugIn = try #require(SourceRegistry.all.first { $0.description.name == source })
        return AnswerRecording(plugIn.description, vocabulary: plugIn.vocabulary)
    }

    @Test func nothingOfAnybodyIsInARecordedAnswer() throws {
        let answers = Self.recorded()
        #expect(answers.count > 40)
        for answer in answers {
            guard let before = try? JSONReader.read(answer.bytes) else { continue }
            var recording = try recording(answer.source)
            let after = recording.redacted(before)
            let shown = after.line
            expectSameShape(before, after, answer.name)
            var found = Found()
            collect(before, field: "", into: &found)
            let own = found.own.union(found.words.subtracting(found.works))
            // The number of a user may be a part of another number: words of their own are told apart.
            let still = own.intersection(shown.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
            #expect(still.isEmpty, "\(answer.name)")
            for pattern in [#"[\w.]+@[\w.]+\.[a-z]{2}"#, #"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"#, "PHPSESSID"] {
                #expect(shown.range(of: pattern, options: .regularExpression) == nil, "\(answer.name): \(pattern)")
            }
        }
    }

    /// Whatever these fields hold is somebody's: what people wrote, and who they are.
    private static let written: Set<String> = [
        "title", "user_name", "userName", "userAccount", "name", "comment", "userComment", "description", "illustTitle",
        "illustComment", "tags", "tag", "romaji", "tag_string", "tag_string_artist", "tag_string_character",
        "tag_string_copyright", "tag_string_general", "author", "uploader_name", "source", "alt", "caption", "webpage",
        "illust_series_title", "translation", "tag_translation",
    ]
    private static let numbered: Set<String> = [
        "user_id", "userId", "authorId", "uploader_id", "creator_id", "approver_id", "illust_series_user_id",
    ]
    /// Short and common words that fields of the service's own have too.
    private static let common: Set<String> = [
        "original", "illust", "manga", "image", "sample", "artist", "general", "character", "copyright", "meta",
        "style",
        "circle", "tags", "true", "false", "null", "https", "http", "title", "name", "user", "description", "comment",
        "series",
        "daily", "page", "posts", "jpeg", "width", "height", "status", "rating", "score", "preview", "pixiv", "twitter",
    ]

    private struct Found {
        /// Numbers of people.
        var own: Set<String> = []
        /// What people wrote.
        var words: Set<String> = []
        /// Numbers of works, which stay, whoever wrote of them.
        var works: Set<String> = []
    }

    private func collect(_ value: JSON, field: String, into found: inout Found) {
        switch value {
        case .string(let text):
            if Self.numbered.contains(field), (Int64(text) ?? 0) > 1000 { found.own.insert(text) }
            if field == "id" { found.works.insert(text) }
            guard Self.written.contains(field) else { return }
            found.words.formUnion(Self.words(of: text))
        case .integer(let number): if Self.numbered.contains(field), number > 1000 { found.own.insert(String(number)) }
        case .array(let elements): for element in elements { collect(element, field: field, into: &found) }
        case .object(let members):
            // Their names are people's words.
            let isKinds = field == "tags" && members.allSatisfy { $0.value.text != nil }
            for member in members {
                if isKinds || field == "tagTranslation" { found.words.formUnion(Self.words(of: member.name)) }
                let isNested = ["tags", "translation"].contains(field) && !member.value.members.isEmpty
                collect(member.value, field: isNested ? "" : member.name, into: &found)
            }
        case .null, .bool, .real: break
        }
    }

    /// What could be somebody's in a text: words that are none of the service's, and numbers too long for a year.
    private static func words(of text: String) -> [String] {
        text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init).filter { word in
            Int64(word) != nil
                ? word.count > 4
                : word.count > 3 && !common.contains(word.lowercased()) && !word.allSatisfy(\.isHexDigit)
        }
    }

    /// A phone number or an address may be a title or a tag, and a tag may have any name.
    @Test func numbersAndNamesAreKeptWhereTheyAreTheServicesOnly() throws {
        let answer = """
            {"createDate": "2022-05-11T00:00:12+09:00", "illust_page_count": "12", "illustId": "57826890",
            "title": "090-1234-5678", "description": "203.0.113.7", "tags": ["09012345678", "2001-02-03"],
            "tagTranslation": {"cat": {"en": "dog"}, "08087654321": {"en": "1.2.3"}, "tags": {"en": "bird"}}}
            """
        var recording = try recording("pixiv")
        let shown = recording.redacted(try JSONReader.read(Array(answer.utf8))).line
        for kept in ["2022-05-11T00:00:12+09:00", "\"12\"", "57826890", "\"en\"", "tagTranslation"] {
            #expect(shown.contains(kept), "\(kept): \(shown)")
        }
        for gone in ["1234", "203", "2001", "cat", "dog", "0808", "1.2.3", "bird"] {
            #expect(!shown.contains(gone), "\(gone): \(shown)")
        }
    }

    private func expectSameShape(_ before: JSON, _ after: JSON, _ name: String) {
        switch (before, after) {
        case (.object(let old), .object(let new)):
            #expect(old.count == new.count, "\(name)")
            for (old, new) in zip(old, new) { expectSameShape(old.value, new.value, name) }
        case (.array(let old), .array(let new)):
            #expect(old.count == new.count, "\(name)")
            for (old, new) in zip(old, new) { expectSameShape(old, new, name) }
        case (.string, .string), (.integer, .integer): break
        default: #expect(before == after, "\(name)")
        }
    }

    @Test func aPageOfHTMLAPictureAndAFailureKeepTheirShapeOnly() throws {
        var recording = try recording("pixiv")
        let deadline = ContinuousClock.now
        var request = HTTPRequest(
            url: "https://www.pixiv.net/ranking.php?format=json&mode=daily&p=1",
            headers: ["Cookie: PHPSESSID=1_secretsecret", "User-Agent: mine"], transferClass: .metadata,
            deadline: deadline,
            bodyLimit: 9)
        let page =
            "<html><head><title>Just a moment</title></head><body><p>_cf_chl_opt Your IP: 203.0.113.7 Ray 8c1f</p></body></html>"
        let headers = [
            ("content-type", "text/html"), ("server", "cloudflare"), ("cf-mitigated", "challenge"),
            ("set-cookie", "__cf_bm=abcdef"), ("cf-ray", "8c1f00-NRT"), ("x-userid", "4711"),
        ].map { (name: $0.0, value: $0.1) }
        let challenge = recording.document(
            of: request, .success(HTTPResponse(head: HTTPAnswer(status: 403, headers: headers), body: Array(page.utf8)))
        )
        .document
        for kept in [
            "_cf_chl_opt", "challenge", "cloudflare", "head title /title /head body",
            "\"/ranking.php?format=json&mode=daily&p=1\"",
        ] {
            #expect(challenge.contains(kept), "\(kept): \(challenge)")
        }
        for gone in ["203.0", "8c1f", "secret", "abcdef", "4711", "mine", "Cookie"] {
            #expect(!challenge.contains(gone), "\(gone): \(challenge)")
        }
        request.range = (0, 9)
        let picture = recording.document(
            of: request,
            .success(HTTPResponse(head: HTTPAnswer(status: 206, headers: []), body: Array(repeating: 0xAB, count: 900)))
        )
        .document
        #expect(picture.contains("\"bytes\": 900") && picture.contains("\"range\": \"0-9\"") && picture.count < 500)
        #expect(recording.document(of: request, .failure(.timedOut)).document.contains("did not answer in time"))
    }

    @Test func recordedAnswersAreStillUnderstood() throws {
        let daily = Self.tests.appending(
            path: "PixivTests/Payloads/web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1.json")
        let json = try JSONReader.read(Array(Data(contentsOf: daily)))
        var recording = try recording("pixiv")
        let after = recording.redacted(json)
        for (old, new) in zip(json["contents"].elements, after["contents"].elements) {
            for field in ["url", "illust_id", "rank", "illust_upload_timestamp", "width", "illust_type"] {
                #expect(old[field] == new[field])
            }
            #expect(old["title"] != new["title"] && old["user_id"] != new["user_id"])
        }
    }

    @Test func theFolderIsItsUsersAloneAndEmptyBefore() throws {
        let scratch = TemporaryFolder()
        let folder = "\(scratch)/record"
        try ServiceReport.makeFolder(folder)
        let request = HTTPRequest(url: "https://www.pixiv.net/", transferClass: .metadata, deadline: .now, bodyLimit: 9)
        try ServiceReport.record([(request, .failure(.offline))], in: folder, try recording("pixiv"), source: "pixiv")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["pixiv-01.json"])
        let modes = [folder, "\(folder)/pixiv-01.json"].map {
            try? FileManager.default.attributesOfItem(atPath: $0)[.posixPermissions] as? Int
        }
        #expect(modes == [0o700, 0o600])
        #expect(throws: ProgramError.self) { try ServiceReport.makeFolder(folder) }
    }
}
