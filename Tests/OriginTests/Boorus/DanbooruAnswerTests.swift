import Rankings
import Testing

@testable import Origin

/// What Danbooru finds, refuses and limits.
@Suite(.timeLimit(.minutes(2))) struct DanbooruAnswerTests {
    private let day = "date:2024-04-30"
    private let all: Booru

    init() throws {
        all = try Booru(.danbooru) { $0.allRatings = true }
    }

    /// Dates of ranges are midnights: two dots or three, the last date is not in it.
    @Test(arguments: [
        ("2024-04-02", ["2024-04-02"]), ("2024-04-01..2024-04-03", ["2024-04-01", "2024-04-02"]),
        ("2024-04-01...2024-04-03", ["2024-04-01", "2024-04-02"]), ("2024-04-01..2024-04-01", []),
        ("2024-04-31", []), ("2024-04-01..x", []),
    ]) func rangesOfDaysEndAtMidnight(range: String, expected: [String]) throws {
        let posts = try all.json("/posts.json?tags=date:\(range)+order:score&limit=200").children
        #expect(Set(posts.compactMap { $0["created_at"]?.string?.prefix(10) }) == Set(expected.map { $0[...] }))
    }

    /// Safebooru has `g` alone; the words and letters of both generations of ratings are known.
    @Test(arguments: [
        ("", "gsqe", "g"), ("rating:s", "s", ""), ("rating:g,s", "gs", "g"), ("-rating:e,q", "gs", "g"),
        ("rating:safe", "s", ""), ("rating:general", "g", "g"),
    ]) func ratings(tags: String, everywhere: String, onSafebooru: String) throws {
        for (booru, expected) in [(all, everywhere), (Booru.danbooru, onSafebooru)] {
            let posts = try booru.json("/posts.json?tags=\(day)+\(tags)&limit=200").children
            #expect(Set(posts.compactMap { $0["rating"]?.string }) == Set(expected.map { "\($0)" }))
        }
    }

    @Test func aPostThatIsNotForEverybodyHasNoFileOnSafebooru() throws {
        let posts = try all.json("/posts.json?tags=\(day)+rating:s&limit=9").children
        let id = try #require(posts.first { $0["md5"] != nil }?["id"]?.number)
        #expect(try Booru.danbooru.json("/posts/\(id).json")["md5"] == nil)
        #expect(try all.json("/posts/\(id).json")["md5"] != nil)
    }

    @Test func numbersTagsAndTheirLimits() throws {
        let first = Landmarks.id("plain", .danbooru)
        #expect(try Booru.danbooru.ids("/posts.json?tags=id:\(first)") == [first])
        #expect(Booru.danbooru.get("/posts/\(first - 1).json").status == 404)
        #expect(try Booru.danbooru.get("/posts/5x.json").json()["error"]?.string == "ActiveRecord::RecordNotFound")
        #expect(try Booru.danbooru.ids("/posts.json?tags=\(day)&limit=500").count == 200, "no more at a time")
        #expect(try Booru.danbooru.ids("/posts.json?tags=\(day)").count == 20)
        let mark = Landmarks.id("hostileTags", .danbooru)
        let record = try Booru.danbooru.json("/posts/\(mark).json")
        #expect(record["tag_string_artist"]?.string?.contains("artist_(a/b\\c:*?<>|)") == true)
        #expect(try Booru.danbooru.ids("/posts.json?tags=fate%2Fstay_night+\(day)&limit=200").contains(mark))
        // a plus that is not a blank, and a tag with a colon
        #expect(try Booru.danbooru.ids("/posts.json?tags=mashiro_(c%2B%2B_%26_%22%3Cb%3E%22)+\(day)").contains(mark))
        #expect(try Booru.danbooru.ids("/posts.json?tags=re:zero_(2nd_season)+\(day)").contains(mark))
        let busy = try Booru.danbooru.json("/posts.json?tags=\(Landmarks.busyArtist)&limit=200&page=2").children
        #expect(busy.count > 20, "more than a page")
        #expect(busy.allSatisfy { $0["tag_string_artist"]?.string?.contains(Landmarks.busyArtist) == true })
        #expect(try Booru.danbooru.ids("/posts.json?tags=no_such_tag").isEmpty)
        #expect(Booru.danbooru.get("/posts.json?tags=solo+sky+rating:g+\(day)").status == 200)
        for tags in ["solo+sky+cat", "solo+-sky+order:score", "solo+sky+no:such"] {
            let refused = Booru.danbooru.get("/posts.json?tags=\(tags)+\(day)")
            #expect(refused.status == 422, "\(tags)")
            #expect(try refused.json()["error"]?.string == "PostQuery::TagLimitError")
        }
        let slow = Booru.danbooru.get("/posts.json?tags=\(Landmarks.slowTag)")
        #expect(try slow.status == 500 && slow.json()["error"]?.string == "ActiveRecord::QueryCanceled")
    }

    /// `or` is weaker than a blank: a rating behind it is that of its last word, unless there are parentheses.
    @Test func alternatives() throws {
        func posts(_ tags: String) throws -> [JSON] {
            try all.json("/posts.json?tags=\(tags)&limit=200").children
        }
        func ids(_ tags: String) throws -> Set<Int64> { Set(try posts(tags).map { try #require($0["id"]?.number) }) }
        let cats = try ids("cat+rating:g,s+\(day)")
        let skies = try ids("sky+rating:g,s+\(day)")
        #expect(!cats.isEmpty && !skies.isEmpty && cats != skies)
        #expect(try ids("(+cat+or+sky+)+rating:g,s+\(day)") == cats.union(skies))
        #expect(try ids("\(day)+(+cat+OR+sky+)+rating:g,s") == cats.union(skies))
        #expect(try ids("\(day)+(+cat+and+sky+)+rating:g,s") == cats.intersection(skies))
        let last = Set(try posts("\(day)+(+cat+or+sky+rating:g,s+)").compactMap { $0["rating"]?.string })
        #expect(last.isSuperset(of: ["q", "e"]))
        #expect(try ids("\(day)+(+cat+or+no_such_tag+)+rating:g,s") == cats)
        #expect(try ids("\(day)+(+cat+or+sky").isEmpty && ids("\(day)+cat+)").isEmpty)
        #expect(all.get("/posts.json?tags=(+cat+or+sky+or+solo+)").status == 422, "each of them counts")
        #expect(try ids("\(day)+" + String(repeating: "(+", count: 5000)).isEmpty)
    }

    @Test(arguments: [nil, "", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"])
    func whoGivesNoNameIsChallenged(userAgent: String?) throws {
        var booru = Booru.danbooru
        let path = try booru.json("/posts/\(Landmarks.id("plain", .danbooru)).json").path("file_url")
        booru.userAgent = userAgent
        for target in ["/posts.json", path] {
            let answer = booru.get(target)
            #expect(answer.status == 403 && answer["cf-mitigated"] == "challenge")
            #expect(answer["Content-Type"]?.hasPrefix("text/html") == true)
        }
    }
}
