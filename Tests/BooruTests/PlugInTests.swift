import Boards
import Rankings
import Sourcing
import Testing

/// What is true of the sources whoever asks them.
@Suite struct PlugInTests {
    private static let plugIns: [any SourcePlugIn] = [
        DanbooruEngine(), MoebooruEngine(.yandere), MoebooruEngine(.konachan),
    ]

    @Test func theyAreWhatTheyAreCalled() {
        #expect(Self.plugIns.map(\.description.name) == ["danbooru", "yandere", "konachan"])
        for plugIn in Self.plugIns {
            let facts = plugIn.description
            #expect(
                facts === plugIn.description && facts.tellsSizes && plugIn.headers.isEmpty && plugIn.accounts == nil)
            #expect(facts.abilities == [.origins])
            let further: Set<ListingKind> = facts.name == "danbooru" ? [.favoriteGroup, .hot] : []
            #expect(
                Set(facts.listings.keys).subtracting(further)
                    == [.artist, .work, .search, .family, .favorites, .pool, .poolsOfPost])
            #expect(further.isSubset(of: facts.listings.keys))
            #expect(facts.renditions.map(\.rendition) == [.original, .regular, .small])
            #expect(facts.fileExtensions == ["jpg", "png", "gif", "webp", "avif", "mp4", "webm", "zip"])
            #expect(facts.access.rate == 1 && facts.access.burst == 10)
            #expect(facts.choices.map(\.name) == ["rating"])
            #expect(facts.access.hosts.contains(String(facts.access.apiURL.dropFirst("https://".count))))
            #expect(facts.access.hosts.contains(String(facts.access.imageURL.dropFirst("https://".count))))
        }
        #expect(Self.plugIns[0].description.choices[0].words == ["general", "sensitive", "questionable", "explicit"])
        #expect(Self.plugIns[1].description.choices[0].words == ["safe", "questionable", "explicit"])
        #expect(Self.plugIns.map(\.description.access.connections) == [nil, 4, 4])
        #expect(Self.plugIns.map(\.description.access.tooOften) == [[429], [421, 429, 503], [421, 429, 503]])
    }

    @Test(
        arguments: [
            (0, "https://danbooru.donmai.us/posts/5", 5), (0, "https://safebooru.donmai.us/posts/5?q=touhou#c", 5),
            (0, "http://DANBOORU.donmai.us/posts/5/", 5), (0, "https://danbooru.donmai.us/posts/05", nil),
            (0, "https://danbooru.donmai.us/posts?tags=5", nil), (0, "https://danbooru.donmai.us/artists/5", nil),
            (0, "https://yande.re/post/show/5", nil), (0, "danbooru.donmai.us/posts/5", nil), (0, "", nil),
            (0, "https://danbooru.donmai.us/posts/99999999999999999999", nil),
            (1, "https://yande.re/post/show/5", 5), (1, "https://yande.re/post/show/5/a-b-c", 5),
            (1, "https://konachan.net/post/show/5", nil), (1, "https://yande.re/post?tags=5", nil),
            (1, "https://yande.re/post/show/x", nil), (1, "https://yande.re.evil.example/post/show/5", nil),
            (2, "https://konachan.com/post/show/5/hat", 5), (2, "https://konachan.net/post/show/5", 5),
        ] as [(Int, String, Int64?)])
    func webPagesNameTheirWorks(source: Int, page: String, work: Int64?) {
        #expect(Self.plugIns[source].description.work(page)?.rawValue == work)
    }

    @Test func theyReadTheirOwnWebPages() {
        for plugIn in Self.plugIns {
            #expect(plugIn.description.work(plugIn.description.webPage(WorkID(rawValue: 77)))?.rawValue == 77)
        }
    }
}
