import Rankings
import Testing

@testable import Origin

/// The origin's answers have the shape of the recorded ones: the same keys, the same JSON types.
@Suite struct ShapeTests {
    private static let pixiv = Pixiv(Universe(seed: 1))

    private func answer(_ target: String, _ viewer: Viewer = .anonymous) throws -> JSON {
        try #require(Self.pixiv.get(target, viewer)).json()
    }

    /// A request, the recorded answers, and the known differences.
    struct Row: Sendable, CustomTestStringConvertible {
        let target: String
        var viewer = Viewer.anonymous
        /// Files in the recordings of the module that decodes them, without their ending.
        let recorded: [String]
        var differences: [String] = []
        var testDescription: String { target }

        /// Parts of a list that no client reads: advertisements, titles for search engines, and translations, whose keys are tags.
        func ignores(_ difference: String) -> Bool {
            !target.hasPrefix("/ajax/illust/")
                && ["zoneConfig", "tagTranslation", "extraData"].contains { difference.hasPrefix("$.body.\($0).") }
        }
    }

    private static let visitor = Viewer.signedIn(Landmarks.visitor)

    private static func work(_ name: String) -> String { "/ajax/illust/\(Landmarks.id(name, .pixiv))" }

    private static let lists: [Row] = [
        // `prev` is false on the first page; `next_date` only on the newest day
        Row(
            target: "/ranking.php?format=json&mode=daily&date=20220501&p=1",
            recorded: ["web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1"]),
        Row(
            target: "/ranking.php?format=json&mode=daily&date=20220501&p=2", viewer: visitor,
            recorded: [
                "web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1",
                "web-ranking/LamGC-ContentGrabbingJi-daily-20200601-p2-one-entry-logged-in",
            ]),
        // The one of illustManga is of a search that goes on after its last page was cut; ours is newer.
        Row(
            target: "/ajax/search/artworks/%E9%A2%A8%E6%99%AF?p=2",
            recorded: [
                "ajax-search-artworks/Nandaka-PixivUtil2-test-tags-search-exact-last",
                "ajax-search-artworks/daydreamer-json-pixiv-ajax-api-docs-genshin",
                "ajax-user-illusts-tag/Nandaka-PixivUtil2-tag-not-last-page",
            ],
            differences: [
                "$.body.illustManga.data[].aiType is extra", "$.body.illustManga.lastPage is extra",
            ]),
        Row(
            target: "/ajax/user/1000/illusts/bookmarks?tag=&offset=0&limit=48&rest=show", viewer: visitor,
            recorded: [
                "ajax-user-bookmarks/CWHer-PixivCrawler-bookmark", "ajax-user-bookmarks/Nandaka-PixivUtil2-bookmarks",
            ],
            differences: ["$.body.works[].aiType is extra"]),
        Row(
            target: "/ajax/user/1000/following?offset=0&limit=24&rest=show", viewer: visitor,
            recorded: ["ajax-user-following/daydreamer-json-pixiv-ajax-api-docs-9153585"],
            differences: ["$.body.users[].illusts[].aiType is extra"]),
    ]

    private static let authors: [Row] =
        [
            Row(target: "/ajax/user/1001", recorded: ["ajax-user/daydreamer-json-pixiv-ajax-api-docs-9153585"]),
            // the recorded author has no page of their own
            Row(
                target: "/ajax/user/1001?full=1",
                recorded: ["ajax-user/daydreamer-json-pixiv-ajax-api-docs-9153585-full1"],
                differences: ["$.body.webpage: string"]),
        ]
        + [1001, 1002, 1003, 1004].map { user in
            Row(
                target: "/ajax/user/\(user)/profile/all",
                recorded: [
                    "CWHer-PixivCrawler-user", "Nandaka-PixivUtil2-all-14095911",
                    "daydreamer-json-pixiv-ajax-api-docs-9153585",
                ].map { "ajax-user-profile-all/\($0)" },
                // an author without works: no recording has one, PHP writes [] then as it does for `manga`
                differences: user == 1003 ? ["$.body.illusts: array"] : [])
        }

    private static let works: [Row] =
        ["/ajax/illust/900000005", work("fullCaption"), work("twelvePages"), work("longAnimation")].map {
            Row(
                target: $0,
                recorded: [
                    "ajax-illust/Nandaka-PixivUtil2-test-image-info-32039274",
                    "ajax-illust/Nandaka-PixivUtil2-test-image-info2-67729319",
                    "ajax-illust/daydreamer-json-pixiv-ajax-api-docs-100412238",
                ])
        } + [
            Row(target: "/ajax/illust/900000005/pages", recorded: ["ajax-illust-pages/CWHer-PixivCrawler-93172108"]),
            Row(target: work("longAnimation") + "/ugoira_meta", recorded: ["ajax-ugoira-meta/item4-ugoira-74442143"]),
            Row(target: work("twelvePages") + "/ugoira_meta", recorded: ["ajax-error/item4-ugoira-not-an-ugoira-ko"]),
        ]

    private static let errors: [Row] =
        ["/ajax/illust/5", "/ajax/illust/5/pages", "/ajax/user/5/profile/all", "/ajax/nothing"].map {
            Row(target: $0, recorded: ["ajax-error/NebulaeWisdom-anybooru-404-no-such-illust"])
        } + [
            Row(
                target: "/ranking.php?p=11",
                recorded: ["web-ranking-error/NebulaeWisdom-anybooru-404-page-out-of-range"])
        ]

    @Test(arguments: lists + authors + works + errors) func asRecorded(row: Row) throws {
        let theirs = try row.recorded.map { try #require(JSON(try payload("\($0).json"))) }
        let found = Shape.differences(try answer(row.target, row.viewer), theirs).filter { !row.ignores($0) }
        #expect(found == row.differences)
    }

    @Test func briefRecords() throws {
        let recorded = try #require(JSON(try payload("ajax-illust/Nandaka-PixivUtil2-test-image-info-32039274.json")))
        let briefs = try #require(recorded["body"]?["userIllusts"]).children.filter { $0["id"] != nil }
        let ours = try answer(
            "/ajax/user/1001/profile/illusts?ids%5B%5D=900000005&work_category=illust&is_first_page=0")
        let brief = try #require(ours["body"]?["works"]?["900000005"])
        #expect(Shape.differences(brief, briefs) == [])
    }
}

/// Compares a value with recorded ones, place by place.
enum Shape {
    static func differences(_ ours: JSON, _ recorded: [JSON], path: String = "$") -> [String] {
        let name = typeName(ours)
        guard recorded.contains(where: { typeName($0) == name }) else { return ["\(path): \(name)"] }
        switch ours {
        case .array(let elements):
            let known = recorded.flatMap(\.children)
            if known.isEmpty { return [] }
            return unique(elements.flatMap { differences($0, known, path: path + "[]") })
        case .object(let members):
            let known = recorded.filter { typeName($0) == "object" }
            if members.contains(where: { Int($0.name) != nil }) {
                let values = known.flatMap(\.children)
                return unique(members.flatMap { differences($0.value, values, path: path + ".<id>") })
            }
            var found = members.flatMap { member -> [String] in
                let values = known.compactMap { $0[member.name] }
                let place = "\(path).\(member.name)"
                return values.isEmpty ? ["\(place) is extra"] : differences(member.value, values, path: place)
            }
            for key in known.first.map(keys) ?? [] where known.allSatisfy({ $0[key] != nil }) && ours[key] == nil {
                found.append("\(path).\(key) is missing")
            }
            return found
        default: return []
        }
    }

    private static func keys(_ node: JSON) -> [String] {
        node.members.map(\.name)
    }

    private static func unique(_ texts: [String]) -> [String] {
        Array(Set(texts)).sorted()
    }

    private static func typeName(_ node: JSON) -> String {
        switch node {
        case .object: "object"
        case .array: "array"
        case .string: "string"
        case .integer, .real: "number"
        case .bool: "bool"
        case .null: "null"
        }
    }
}
