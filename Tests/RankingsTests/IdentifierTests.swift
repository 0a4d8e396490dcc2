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

    @Test func keysOfPicturesAreReadBack() {
        for work in [0, 1, 97_973_029, Int64.max, .min] {
            for rendition in Rendition.allCases {
                for page in [0, 1, 199] {
                    let picture = PictureID(
                        work: WorkID(rawValue: work), page: page, rendition: rendition, uploaded: 1_589_900_000)
                    #expect(PictureID(key: picture.key) == picture)
                }
            }
        }
        #expect(PictureID(key: "97973029_p0_regular_1589900000")?.work == WorkID(rawValue: 97_973_029))
    }

    @Test(arguments: [
        "", "_", "___", "1_p0_regular", "1_p0_regular_2_3", "1_0_regular_2", "1_q0_regular_2", "1_p_regular_2",
        "1_p0_huge_2", "1_p0_Regular_2", "_p0_regular_2", "1_p0_regular_", "x_p0_regular_2", "1_p0_regular_2 ",
        " 1_p0_regular_2", "+1_p0_regular_2", "01_p0_regular_2", "1_p00_regular_2", "1_p+0_regular_2",
        "1_p0_regular_+2", "-0_p0_regular_2", "9223372036854775808_p0_regular_2", "1_p0_regular_2\n", "１_p0_regular_2",
        "../1_p0_regular_2", "1_p0_regular_2\u{0}",
    ])
    func otherTextsAreNoKeys(text: String) {
        #expect(PictureID(key: text) == nil)
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
