import Rankings
import Testing

@testable import Origin

/// What Moebooru finds, ignores and refuses.
@Suite(.timeLimit(.minutes(2))) struct MoebooruAnswerTests {
    private let booru = Booru.yandere
    private let day = "date:2024-04-30"

    @Test(arguments: [("", "sqe"), ("rating:s", "s"), ("rating:safe", "s"), ("-rating:e", "sq")])
    func ratings(tags: String, expected: String) throws {
        let posts = try booru.json("/post.json?tags=\(day)+\(tags)&limit=1000").children
        #expect(Set(posts.compactMap { $0["rating"]?.string }) == Set(expected.map { "\($0)" }))
    }

    @Test func tagsAndMetatags() throws {
        #expect(try booru.ids("/post.json?tags=\(day)").count == 40)
        for page in [99, Int.max] { #expect(try booru.ids("/post.json?tags=\(day)&page=\(page)").isEmpty) }
        let first = Landmarks.id("plain", .yandere)
        #expect(try booru.ids("/post.json?tags=id:\(first)") == [first])
        #expect(try booru.ids("/post.json?tags=\(day)+no_such:metatag").isEmpty)
        #expect(try booru.ids("/post.json?tags=\(day)+no_such_tag").isEmpty)
        let mark = Landmarks.id("hostileTags", .yandere)
        #expect(try booru.ids("/post.json?tags=\(day)+k-on!+%5E_%5E+con+...+-rf+100%25_real").contains(mark))
        let refused = booru.get("/post.json?tags=a+b+c+d+e+f+g")
        #expect(refused.status == 500)
        #expect(try refused.json().keys == ["success", "reason"])
    }

    @Test func addressesOfTheSites() throws {
        let id = Landmarks.id("hostileTags", .konachan)
        let record = try #require(try Booru.konachan.json("/post.json?tags=id:\(id)").children.first)
        let digest = try #require(record["md5"]?.string)
        let url = try #require(record["file_url"]?.string)
        #expect(url.hasPrefix("https://konachan.net/image/\(digest)/Konachan.com%20-%20\(id)%20"))
        #expect(url.split(separator: "/", omittingEmptySubsequences: false).count == 6, "no slash of a tag")
        let plain = Landmarks.id("plain", .yandere)
        let other = try #require(try booru.json("/post.json?tags=id:\(plain)").children.first)
        #expect(other["file_url"]?.string?.hasPrefix("https://files.yande.re/image/") == true)
        #expect(other["preview_url"]?.string?.hasPrefix("https://assets.yande.re/data/preview/") == true)
        #expect(booru.get("/post/show/\(plain)").status == 404)
    }
}
