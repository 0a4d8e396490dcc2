import Testing

@testable import Rankings

/// Names and keys that are read back.
@Suite struct IdentifierTests {
    @Test func everyRankingThatTheServicePublishesHasAName() {
        var names: [String] = []
        for mode in RankingMode.everyone + RankingMode.signedIn {
            for content in [nil] + RankingMode.Content.allCases.map(Optional.some) {
                let name = content.map { "\(mode.name)-\($0.rawValue)" } ?? mode.name
                guard let read = RankingMode(rawValue: name) else { continue }
                #expect(read.rawValue == name && read.content == content)
                #expect(read.ofAllContents == mode)
                #expect(read.needsSignIn == mode.needsSignIn && read.isAI == mode.isAI)
                names.append(name)
            }
        }
        #expect(
            names == [
                "daily", "daily-illust", "daily-manga", "daily-ugoira", "weekly", "weekly-illust", "weekly-manga",
                "weekly-ugoira", "monthly", "monthly-illust", "monthly-manga", "male", "male-illust", "male-manga",
                "female", "female-illust", "female-manga", "rookie", "rookie-illust", "rookie-manga", "original",
                "daily_ai", "daily_r18", "daily_r18-illust", "daily_r18-manga", "daily_r18-ugoira", "weekly_r18",
                "weekly_r18-illust", "weekly_r18-manga", "weekly_r18-ugoira", "male_r18", "male_r18-illust",
                "male_r18-manga", "female_r18", "female_r18-illust", "female_r18-manga", "r18g", "daily_r18_ai",
            ])
    }

    @Test(arguments: [
        "", "-", "daily-", "-manga", "daily--manga", "daily-manga-", "daily-manga-manga", "Daily", "daily-Manga",
        "daily_manga", "daily-all", "daily-novel", "monthly-ugoira", "original-manga", "daily_ai-manga", "r18g-illust",
        "daily_r18_ai-illust", "male-ugoira", "daily manga", " daily", "daily\u{0}", "daily-manga/", "yearly",
        "daily‐manga",
    ])
    func otherNamesAreNoRankings(name: String) {
        #expect(RankingMode(rawValue: name) == nil)
    }

    @Test func theFirstDayDoesNotDependOnTheContent() throws {
        let manga = try #require(RankingMode(rawValue: "daily-manga"))
        #expect(Day.first(of: manga) == Day.first(of: .daily))
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

    @Test func placesHaveThreeDigitsAtLeast() {
        #expect(
            [0, 1, 99, 100, 999, 1000, -5].map(FileName.number) == ["000", "001", "099", "100", "999", "1000", "000"])
    }
}
