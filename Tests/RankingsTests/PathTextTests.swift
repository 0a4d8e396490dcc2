import Testing

@testable import Rankings

/// Names begin with marks that combine with the slash, dash or dot before them, and are spelt in several ways.
@Suite struct PathTextTests {
    @Test(arguments: [
        ("a/b", ["a", "b"]), ("/\u{301}a//b/", ["\u{301}a", "b"]), ("a/\u{301}", ["a", "\u{301}"]), ("", []),
        ("//", []),
    ])
    func namesLieBetweenSlashes(path: String, names: [String]) {
        #expect(path.pathNames.map { Array($0.utf8) } == names.map { Array($0.utf8) })
    }

    @Test func whatIsBelowADirectoryIsToldByBytes() {
        #expect("/m/\u{301}a/b".way(from: "/m") == "\u{301}a/b")
        #expect("/m".way(from: "/m")?.isEmpty == true)
        #expect("/mm".way(from: "/m") == nil && "/".way(from: "/m") == nil)
        #expect("/e\u{301}/a".way(from: "/\u{e9}") == nil, "another name to the kernel")
        #expect("--to=\u{301}a".rest(after: "--to=") == "\u{301}a" && "--t".rest(after: "--to=") == nil)
        #expect("/\u{301}a".isAbsolutePath && !"\u{301}/".isAbsolutePath && !"".isAbsolutePath)
    }

    @Test func everySpellingOfANameIsOneKey() {
        let (composed, decomposed) = ("ガンダム", "カ\u{3099}ンタ\u{3099}ム")
        for make in [ListingKey.search, ListingKey.artist] {
            let keys = [composed, decomposed].map { make($0) }
            #expect(keys[0] == keys[1])
            for key in keys {
                #expect(key.path.name.utf8.elementsEqual(composed.utf8))
                #expect(key.text.utf8.elementsEqual(keys[0].text.utf8))
            }
        }
        #expect(ListingKey(text: "search/\(decomposed)")?.text.utf8.elementsEqual("search/\(composed)".utf8) == true)
        #expect(TreePath("search/\(decomposed)").text.utf8.elementsEqual("search/\(decomposed)".utf8), "as it is spelt")
    }
}
