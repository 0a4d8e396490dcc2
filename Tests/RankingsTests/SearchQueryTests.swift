import Rankings
import TestSupport
import Testing

/// The options in the name of a search: which tail is one, and its one key.
@Suite struct SearchQueryTests {
    @Test(arguments: [
        "words", "a,b", "a, since=2026-10", "a,since=2026-13", "a,since=2026-1", "a,since=2026", "a,since=2026-02-30",
        "a,kind=novel", "a,kind=UGOIRA", "a,Kind=ugoira", "a,kind=", "a,kind", "a,size=0", "a,size=-5", "a,size=007",
        "a,size=100000", "a,size=99999999999999999999", "a,shape=round", "a,match=part", "a,order=popular",
        "a,kind=a=b",
        "a,kind=ugoira,b", "a,kind=ugoira,", ",kind=ugoira", " ,kind=ugoira", "kind=ugoira", "", ",",
    ])
    func everythingElseIsWords(name: String) {
        let query = SearchQuery(name)
        #expect(query.isPlain && query.words == name && query.text == name)
    }

    @Test func aTailOfOptionsIsOne() {
        let query = SearchQuery("a,b c,since=2026-10,kind=ugoira,size=3000,shape=landscape,match=tag,until=2026-11-05")
        #expect(query.words == "a,b c" && !query.isPlain)
        #expect(
            query[.kind] == "ugoira" && query[.size] == "3000" && query[.shape] == "landscape" && query[.match] == "tag"
        )
        #expect(query.since == Day("2026-10-01") && query.until == Day("2026-11-05"))
        #expect(SearchQuery("a,kind=novel,kind=manga").words == "a,kind=novel", "only the tail")
        #expect(SearchQuery("a,kind=illust,kind=manga").words == "a,kind=illust", "each option once")
        for (month, last) in [("2024-02", "2024-02-29"), ("2026-02", "2026-02-28"), ("2026-12", "2026-12-31")] {
            #expect(SearchQuery("a,until=\(month)").until == Day(last))
        }
    }

    @Test func theOrderOfOptionsIsNoDifference() {
        let spellings = [
            "a,since=2026-10,kind=ugoira,size=9", "a,size=9,kind=ugoira,since=2026-10",
            "a,kind=ugoira,size=9,since=2026-10",
        ]
        #expect(Set(spellings.map { ListingKey.search($0) }).count == 1)
        #expect(Set(spellings.map { SearchQuery($0).text }).count == 1)
        // Each spelling is a path of its own, and the key leads to itself.
        #expect(Set(spellings.map { TreePath("search/\($0)").text }).count == 3)
        let key = ListingKey.search(spellings[0])
        #expect(ListingKey(text: key.text) == key && ListingKey(of: key.path) == key)
        #expect(ListingKey(of: TreePath("search/\(spellings[1])")) == key)
        #expect(ListingKey.search("a,since=2026-11,kind=ugoira,size=9") != key)
        #expect(ListingKey.artist("a,size=9,kind=ugoira").words == "a,size=9,kind=ugoira", "names are no searches")
    }

    @Test func whatAServiceLacksStaysWords() {
        let query = SearchQuery(SearchQuery("a,size=9,kind=ugoira").text, knowing: [.since, .size])
        #expect(query.words == "a,kind=ugoira" && query[.size] == "9" && query[.kind] == nil)
    }
}
