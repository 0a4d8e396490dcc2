import Foundation
import Testing

extension MountSuite {
    /// Real input, a recorded day of the real service, replayed; Semantics: "Extended attributes".
    @Suite struct ReplayTests {
        @Test func aRecordedDayIsShownAsRecorded() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, ["--replay", Workplace.payloads])
                let mount = try Mount(workplace, of: origin)
                let recording = "\(Workplace.payloads)/web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1.json"
                let answer =
                    try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: recording))) as? [String: Any]
                let contents = try #require(answer?["contents"] as? [[String: Any]])
                let directory = mount.day("daily", "2022-05-01")
                let names = try mount.names(directory)
                #expect(names.count == 49)
                #expect(!names.contains { $0.hasPrefix("036-") })
                #expect(contents.count == 49)
                for (name, fields) in zip(names, contents) {
                    try expectAgreement(of: "\(directory)/\(name)", with: fields)
                }
                #expect(
                    try read("\(directory)/\(names[0])").get().count
                        == Int(status(of: "\(directory)/\(names[0])").st_size))
            }
        }

        /// A recorded answer of a directory that opens by name: what asks for it, and what comes for all further pages.
        private struct RecordedList {
            let door: String
            let route: String
            let payload: String
            var further = (route: "", body: "")
            /// The beginnings of the names, in order, of the body.
            let names: @Sendable ([String: Any]) -> [String]
        }

        private static func numbers(_ list: Any?, _ field: String = "id") -> [String] {
            // A month without bookmarks is not listed.
            (list as? [[String: Any]] ?? []).filter { $0["count"] as? Int != 0 }
                .compactMap { $0[field].map { "\($0)-" } }
        }

        private static let recorded = [
            RecordedList(
                door: "series/66844", route: "/ajax/series/66844?p=1",
                payload: "ajax-series/NateScarlet-pixiv-66844-p1",
                further: (
                    "/ajax/series/66844", "{\"page\":{\"series\":[],\"total\":250},\"thumbnails\":{\"illust\":[]}}"
                )
            ) { numbers(($0["page"] as? [String: Any])?["series"], "order") },
            RecordedList(
                door: "series/5", route: "/ajax/series/5?p=1", payload: "ajax-series/Magelon-png-PixivApi-p1",
                further: ("/ajax/series/5", "{\"page\":{\"series\":[],\"total\":18},\"thumbnails\":{\"illust\":[]}}")
            ) {
                numbers(($0["page"] as? [String: Any])?["series"], "order").map { $0.count < 3 ? "00\($0)" : "0\($0)" }
            },
            RecordedList(
                door: "feed", route: "/ajax/follow_latest/illust?p=1&",
                payload: "ajax-follow-latest/daydreamer-json-pixiv-ajax-api-docs",
                further: ("/ajax/follow_latest/", "{\"page\":{\"ids\":[]},\"thumbnails\":{\"illust\":[]}}")
            ) { (($0["page"] as? [String: Any])?["ids"] as? [Int] ?? []).map { "\($0)-" } },
            RecordedList(
                door: "related/9", route: "/ajax/illust/9/recommend/init",
                payload: "ajax-illust-recommend-init/Magelon-png-PixivApi",
                further: ("/ajax/illust/recommend/illusts", "{\"illusts\":[]}")
            ) { numbers($0["illusts"]) },
            RecordedList(
                door: "collections/35931581765300027379", route: "/ajax/collection/",
                payload: "ajax-collection/Magelon-png-PixivApi-GetCollection"
            ) { _ in (1...15).map { String(format: "%03d-", $0) } },
            RecordedList(
                door: "author-tags/7/風景", route: "/ajax/user/7/illustmanga/tag?",
                payload: "ajax-user-illusts-tag/Magelon-png-PixivApi"
            ) { numbers($0["works"]) },
            RecordedList(
                door: "bookmarks-private", route: "offset=0&limit=48&rest=hide",
                payload: "ajax-user-bookmarks/Magelon-png-PixivApi",
                further: ("rest=hide", "{\"works\":[],\"total\":48}")
            ) { numbers($0["works"]) },
            RecordedList(
                door: "bookmark-tags", route: "/illusts/bookmark/tags",
                payload: "ajax-user-bookmark-tags/Magelon-png-PixivApi"
            ) { numbers($0["public"], "tag").map { String($0.dropLast()) } },
            RecordedList(
                door: "bookmark-months", route: "/bookmark/periods",
                payload: "ajax-user-bookmark-periods/Magelon-png-PixivApi"
            ) { numbers($0["list"], "period").map { String($0.dropLast()) } },
        ]

        @Test func recordedListsAreShownAsRecorded() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let mount = try Mount(workplace, of: origin, options: try workplace.signedIn())
                var rules: [String] = []
                func answer(_ route: String, _ text: String) throws {
                    let rule = ["action": "text", "path": route, "text": text]
                    rules.append(String(decoding: try JSONSerialization.data(withJSONObject: rule), as: UTF8.self))
                }
                for list in Self.recorded {
                    let file = URL(filePath: "\(Workplace.payloads)/\(list.payload).json")
                    var told = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:]
                    // In one line, and without what is not read: no text in a rule is longer than 64 KB.
                    if var body = told["body"] as? [String: Any] {
                        body["tagTranslation"] = nil
                        told["body"] = body
                    }
                    let line = try JSONSerialization.data(withJSONObject: told, options: .withoutEscapingSlashes)
                    try answer(list.route, String(decoding: line, as: UTF8.self))
                    if !list.further.route.isEmpty {
                        try answer(
                            list.further.route, "{\"error\":false,\"message\":\"\",\"body\":\(list.further.body)}")
                    }
                }
                try origin.spoil(rules, in: workplace)
                for list in Self.recorded {
                    let file = URL(filePath: "\(Workplace.payloads)/\(list.payload).json")
                    let told = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
                    let body = told?["body"]
                    let expected = list.names(body as? [String: Any] ?? ["list": body ?? []])
                    let names = try mount.names("\(mount.path)/\(list.door)")
                    #expect(names.count == expected.count && !names.isEmpty, "\(list.door)")
                    for (name, beginning) in zip(names, expected) { #expect(name.hasPrefix(beginning), "\(list.door)") }
                }
            }
        }

        private func expectAgreement(of path: String, with fields: [String: Any]) throws {
            func text(_ key: String) -> String { "\(fields[key] ?? "")" }
            func attribute(_ name: String) -> String? { extendedAttribute("user.\(name)", of: path) }
            let title = try #require(fields["title"] as? String)
            let name = URL(filePath: path).lastPathComponent
            #expect(name.utf8.starts(with: String(format: "%03d-", fields["rank"] as? Int ?? 0).utf8))
            if !title.contains(where: { "/\\:*?\"<>|".contains($0) }) {
                let shown = name.dropFirst(4).dropLast(4)
                #expect(
                    shown
                        == title.precomposedStringWithCanonicalMapping.trimmingCharacters(in: .whitespaces).prefix(
                            while: { _ in true })
                        || title.hasSuffix(".") || title == ".", "\(name) \(title)")
            }
            #expect(attribute("dublincore.title") == title)
            #expect(attribute("dublincore.creator") == text("user_name"))
            #expect(attribute("xdg.tags") == (fields["tags"] as? [String])?.joined(separator: ","))
            #expect(attribute("xdg.origin.url") == "https://www.pixiv.net/artworks/\(text("illust_id"))")
            #expect(attribute("mime_type") == "image/jpeg")
            #expect(attribute("rankfs.work") == text("illust_id"))
            #expect(attribute("rankfs.user") == text("user_id"))
            #expect(attribute("rankfs.rank") == text("rank"))
            #expect(attribute("rankfs.previous_rank") == (text("yes_rank") == "0" ? nil : text("yes_rank")))
            #expect(attribute("rankfs.width") == text("width"))
            #expect(attribute("rankfs.height") == text("height"))
            #expect(attribute("rankfs.views") == text("view_count"))
            #expect(attribute("rankfs.ratings") == text("rating_count"))
            #expect(attribute("rankfs.page") == "0")
            let type = Int(text("illust_type")).flatMap { ["illustration", "manga", "animation"][$0] }
            #expect(attribute("rankfs.type") == type)
            #expect(attribute("rankfs.state") == "absent")
            let uploaded = Date(
                timeIntervalSince1970: (fields["illust_upload_timestamp"] as? NSNumber)?.doubleValue ?? 0)
            #expect(attribute("rankfs.posted") == ISO8601DateFormatter().string(from: uploaded))
            #expect(Int64(try status(of: path).st_mtim.tv_sec) == Int64(uploaded.timeIntervalSince1970))
        }
    }
}
