import Foundation
import TestSupport
import Testing

extension MountSuite {
    /// Real input, a recorded day of the real service, replayed; Semantics: "Extended attributes".
    @Suite struct ReplayTests {
        @Test func aRecordedDayIsShownAsRecorded() async throws {
            let payloads = TestPrograms.root.appending(path: "Tests/PixivTests/Payloads").path
            try await withMount(origin: ["--replay", payloads]) { workplace, origin, mount in
                let recording = "\(payloads)/web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1.json"
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
