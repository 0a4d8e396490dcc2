import Rankings
import Testing

@testable import Origin

/// The origin's answers have the shape of the recorded ones: the same keys, the same JSON types.
@Suite struct ShapeTests {
    private static let pixiv = Pixiv(Universe(seed: 1))

    private func answer(_ target: String, _ viewer: Viewer = .anonymous) throws -> JSON {
        try #require(Self.pixiv.get(target, viewer)).json()
    }

    /// Without what no client reads: advertisements, titles for search engines, and translations, whose keys are tags.
    private func plainDifferences(_ ours: JSON, _ theirs: [JSON]) -> [String] {
        Shape.differences(ours, theirs).filter {
            !$0.hasPrefix("$.body.zoneConfig.") && !$0.hasPrefix("$.body.tagTranslation.")
                && !$0.hasPrefix("$.body.extraData.")
        }
    }

    private func recorded(_ paths: String...) throws -> [JSON] {
        try paths.map { try #require(JSON(try payload($0))) }
    }

    @Test func rankings() throws {
        let ours = try answer("/ranking.php?format=json&mode=daily&date=20220501&p=1")
        let theirs = try recorded("web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1.json")
        // `prev` is false on the first page; `next_date` only on the newest day
        #expect(Shape.differences(ours, theirs) == [])
    }

    @Test func authors() throws {
        let plain = try recorded("ajax-user/daydreamer-json-pixiv-ajax-api-docs-9153585.json")
        #expect(Shape.differences(try answer("/ajax/user/1001"), plain) == [])
        let full = try recorded("ajax-user/daydreamer-json-pixiv-ajax-api-docs-9153585-full1.json")
        // the recorded author has no page of their own
        #expect(Shape.differences(try answer("/ajax/user/1001?full=1"), full) == ["$.body.webpage: string"])
    }

    @Test(arguments: [1001, 1002, 1003, 1004]) func listsOfWorks(user: Int) throws {
        let theirs = try recorded(
            "ajax-user-profile-all/CWHer-PixivCrawler-user.json",
            "ajax-user-profile-all/Nandaka-PixivUtil2-all-14095911.json",
            "ajax-user-profile-all/daydreamer-json-pixiv-ajax-api-docs-9153585.json")
        let differences = Shape.differences(try answer("/ajax/user/\(user)/profile/all"), theirs)
        // an author without works: no recording has one, PHP writes [] then as it does for `manga`
        #expect(differences == (user == 1003 ? ["$.body.illusts: array"] : []))
    }

    @Test func works() throws {
        let theirs = try recorded(
            "ajax-illust/Nandaka-PixivUtil2-test-image-info-32039274.json",
            "ajax-illust/daydreamer-json-pixiv-ajax-api-docs-100412238.json")
        #expect(Shape.differences(try answer("/ajax/illust/900000005"), theirs) == [])
    }

    @Test func briefRecords() throws {
        let theirs = try recorded("ajax-illust/Nandaka-PixivUtil2-test-image-info-32039274.json")
        let briefs = try #require(theirs[0]["body"]?["userIllusts"]).children.filter { $0["id"] != nil }
        let ours = try answer(
            "/ajax/user/1001/profile/illusts?ids%5B%5D=900000005&work_category=illust&is_first_page=0")
        let brief = try #require(ours["body"]?["works"]?["900000005"])
        #expect(Shape.differences(brief, briefs) == [])
    }

    @Test func pages() throws {
        let theirs = try recorded("ajax-illust-pages/CWHer-PixivCrawler-93172108.json")
        #expect(Shape.differences(try answer("/ajax/illust/900000005/pages"), theirs) == [])
    }

    @Test func aFullRecord() throws {
        let theirs = try recorded(
            "ajax-illust/Nandaka-PixivUtil2-test-image-info-32039274.json",
            "ajax-illust/Nandaka-PixivUtil2-test-image-info2-67729319.json",
            "ajax-illust/daydreamer-json-pixiv-ajax-api-docs-100412238.json")
        for work in ["fullCaption", "twelvePages", "longAnimation"] {
            #expect(Shape.differences(try answer("/ajax/illust/\(Landmarks.id(work, .pixiv))"), theirs) == [])
        }
    }

    @Test func rankingsForSignedInUsers() throws {
        let theirs = try recorded(
            "web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1.json",
            "web-ranking/LamGC-ContentGrabbingJi-daily-20200601-p2-one-entry-logged-in.json")
        let ours = try answer("/ranking.php?format=json&mode=daily&date=20220501&p=2", .signedIn(Landmarks.visitor))
        #expect(Shape.differences(ours, theirs) == [])
    }

    @Test func searches() throws {
        // The one of illustManga is of a search that goes on after its last page was cut.
        let theirs = try recorded(
            "ajax-search-artworks/Nandaka-PixivUtil2-test-tags-search-exact-last.json",
            "ajax-search-artworks/daydreamer-json-pixiv-ajax-api-docs-genshin.json",
            "ajax-user-illusts-tag/Nandaka-PixivUtil2-tag-not-last-page.json")
        let ours = try answer("/ajax/search/artworks/%E9%A2%A8%E6%99%AF?p=2")
        // newer than the recordings
        #expect(
            plainDifferences(ours, theirs) == [
                "$.body.illustManga.data[].aiType is extra", "$.body.illustManga.lastPage is extra",
            ])
    }

    @Test func bookmarks() throws {
        let theirs = try recorded(
            "ajax-user-bookmarks/CWHer-PixivCrawler-bookmark.json",
            "ajax-user-bookmarks/Nandaka-PixivUtil2-bookmarks.json")
        let ours = try answer(
            "/ajax/user/1000/illusts/bookmarks?tag=&offset=0&limit=48&rest=show", .signedIn(Landmarks.visitor))
        #expect(plainDifferences(ours, theirs) == ["$.body.works[].aiType is extra"])
    }

    @Test func followedAuthors() throws {
        let theirs = try recorded("ajax-user-following/daydreamer-json-pixiv-ajax-api-docs-9153585.json")
        let ours = try answer("/ajax/user/1000/following?offset=0&limit=24&rest=show", .signedIn(Landmarks.visitor))
        #expect(plainDifferences(ours, theirs) == ["$.body.users[].illusts[].aiType is extra"])
    }

    @Test func animations() throws {
        let theirs = try recorded("ajax-ugoira-meta/item4-ugoira-74442143.json")
        let ours = try answer("/ajax/illust/\(Landmarks.id("longAnimation", .pixiv))/ugoira_meta")
        #expect(Shape.differences(ours, theirs) == [])
        let error = try recorded("ajax-error/item4-ugoira-not-an-ugoira-ko.json")
        let still = try answer("/ajax/illust/\(Landmarks.id("twelvePages", .pixiv))/ugoira_meta")
        #expect(Shape.differences(still, error) == [])
    }

    @Test func errors() throws {
        let theirs = try recorded("ajax-error/NebulaeWisdom-anybooru-404-no-such-illust.json")
        for target in ["/ajax/illust/5", "/ajax/illust/5/pages", "/ajax/user/5/profile/all", "/ajax/nothing"] {
            #expect(Shape.differences(try answer(target), theirs) == [])
        }
        let outside = try recorded("web-ranking-error/NebulaeWisdom-anybooru-404-page-out-of-range.json")
        #expect(Shape.differences(try answer("/ranking.php?p=11"), outside) == [])
    }

    @Test func upToAHundredNumbersAtOnce() throws {
        func status(_ count: Int) throws -> Int {
            let ids = (0..<count).map { "ids[]=\(900_000_000 + $0)" }.joined(separator: "&")
            let target = "/ajax/user/1001/profile/illusts?\(ids)&work_category=illustManga&is_first_page=0"
            return try #require(Self.pixiv.get(target)).status
        }
        #expect(try status(100) == 200)
        #expect(try status(101) == 400)
        #expect(try status(0) == 400)
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
        default:
            return []
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
