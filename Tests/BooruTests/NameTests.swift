import Boards
import Rankings
import TestSupport
import Testing

/// Names of posts, which have no titles.
@Suite struct NameTests {
    private func tags(
        artist: String = "", copyright: String = "", character: String = "", general: String = ""
    )
        -> PostTags
    {
        var tags = PostTags()
        for (text, kind) in [
            (artist, TagKind.artist), (copyright, .copyright), (character, .character), (general, .general),
        ] { tags.add(text) { _ in kind } }
        return tags
    }

    @Test func aNameHasCharactersCopyrightAndArtist() {
        #expect(
            tags(artist: "wlop", copyright: "fate/stay_night", character: "saber_(fate)", general: "sword").name
                == "saber (fate) - fate/stay night - wlop")
        #expect(tags(artist: "wlop").name == "wlop")
        #expect(tags(copyright: "touhou").name == "touhou")
    }

    @Test func whatShowsIsNoName() throws {
        #expect(tags(general: "hat nothing_else").name.isEmpty)
        let post = try #require(
            try danbooru(["tag_string_artist": "", "tag_string_copyright": "", "tag_string_general": "hat"]).post)
        #expect(post.work.title == "5" && post.work.authorName.isEmpty && post.work.tags == ["hat"])
    }

    @Test func manyAreCounted() {
        #expect(tags(character: "a b c d_e f").name == "a, b, c and 2 more")
        #expect(tags(artist: "a b c").artists == "a, b, c")
    }

    @Test func tagsThatOnlySaySomethingOfArtistsAreNone() {
        #expect(tags(artist: "banned_artist somebody").artists == "somebody")
        var circle = tags(artist: "banned_artist")
        circle.add("some_circle") { _ in .circle }
        #expect(circle.artists == "some circle")
    }

    @Test func hostileTagsStayTags() throws {
        let hostile = "../../etc/passwd \u{202E}gnp.exe ___ a\u{0}b \(String(repeating: "x", count: 600))"
        let name = tags(artist: hostile).name
        #expect(name.contains("../../etc/passwd") && !name.contains("xxx") && !name.contains("___"))
        let file = FileName.ranked(1, title: name, fileExtension: "jpg")
        #expect(!file.contains("/") && !file.contains("\u{0}") && !file.contains("\u{202E}") && file.utf8.count <= 200)
        let long = tags(character: (0..<3).map { "\($0)" + String(repeating: "あ", count: 160) }.joined(separator: " "))
        #expect(FileName.ranked(1, title: long.name, fileExtension: "jpg").utf8.count <= 200)
    }

    @Test func tagsAreBoundedAndUnique() {
        let many = tags(general: (0..<2000).map { "t\($0)" }.joined(separator: " "))
        #expect(many.all.count == BooruLimits.tags)
        let twice = tags(artist: "a", copyright: "a", general: "a b")
        #expect(twice.all == ["a", "b"] && twice[.artist] == ["a"])
    }

    @Test func typesOfTheSecondVersionMayBeNumbersOrWords() throws {
        let numbers = ["somebody": 1, "hat": 0, "k-on!": 3, "akiyama_mio": 4, "group": 5, "fixme": 6, "odd": 99]
        let words: [String: Any] = [
            "somebody": "artist", "hat": "odd word", "k-on!": "copyright", "akiyama_mio": "character",
        ]
        for (types, groups) in [(numbers as [String: Any], true), (words, false)] {
            let tags = "akiyama_mio fixme group hat k-on! odd somebody"
            let answer = try json(["posts": [moebooruPost(5, ["tags": tags])], "tags": types])
            let post = try #require(try yandere.entries(in: answer, hosts: hosts(yandere)).first?.post)
            #expect(post.work.title == "akiyama mio - k-on! - somebody")
            #expect(post.tags[.general].contains("hat") && post.tags[.general].contains("odd"))
            #expect((post.tags[.circle] == ["group"]) == groups && (post.tags[.meta] == ["fixme"]) == groups)
            #expect(Set(post.work.tags) == Set(tags.split(separator: " ").map(String.init)))
        }
        // Another site has given the numbers behind the fourth to other types.
        let other = try json(["posts": [moebooruPost(5, ["tags": "group"])], "tags": ["group": 5]])
        let posts = try konachan.entries(in: other, hosts: hosts(konachan))
        #expect(posts.first?.post?.tags[.general] == ["group"])
    }
}
