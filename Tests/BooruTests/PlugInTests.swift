import Boards
import Rankings
import Sourcing
import Testing

/// What is true of the sources whoever asks them.
@Suite struct PlugInTests {
    private static let plugIns: [any SourcePlugIn] = [
        DanbooruEngine(), MoebooruEngine(.yandere), MoebooruEngine(.konachan),
    ]

    /// What else they are, the table of the documentation shows (`SourceListTests`).
    @Test func theyAreAskedAsTheyWish() {
        for plugIn in Self.plugIns {
            let facts = plugIn.description
            #expect(facts === plugIn.description && plugIn.headers.isEmpty && plugIn.accounts == nil)
            for url in [facts.access.apiURL, facts.access.imageURL] {
                #expect(facts.access.hosts.contains(String(url.dropFirst("https://".count))))
            }
        }
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
