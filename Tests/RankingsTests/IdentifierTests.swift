import Testing

@testable import Rankings

/// Names and keys that are read back.
@Suite struct IdentifierTests {
    @Test(arguments: ["daily", "daily-manga", "daily_r18_ai", "week", "r18g", String(repeating: "a", count: 32)])
    func rankingsHavePlainNames(name: String) {
        #expect(RankingMode(rawValue: name)?.rawValue == name)
    }

    @Test(arguments: [
        "", "Daily", "daily ", " daily", "daily manga", "daily\u{0}", "daily-manga/", "..", ".", "daily/weekly",
        "daily‐manga", "日",
        String(repeating: "a", count: 33),
    ])
    func otherNamesAreNoneOfRankings(name: String) {
        #expect(RankingMode(rawValue: name) == nil)
    }

    @Test func authorsHaveNamesWithoutAnExtension() {
        #expect(FileName.author(UserID(rawValue: 42), name: "Ann / Bob") == "42-Ann ／ Bob")
        #expect(FileName.author(UserID(rawValue: 42), name: "") == "42-untitled")
        #expect(FileName.author(UserID(rawValue: 42), name: "\u{202E}\n..") != "42-")
        let long = FileName.author(UserID(rawValue: Int64.max), name: String(repeating: "風", count: 500))
        #expect(long.utf8.count <= FileName.longest && long.utf8.count > FileName.longest - 4)
        #expect(FileName.author(UserID(rawValue: -1), name: "a") == "0-a")
    }
}
