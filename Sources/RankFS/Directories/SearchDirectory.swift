import Catalog
import Fuse
import Rankings

/// `search/`: what was searched for.
struct SearchesDirectory: TreeDirectory {
    var path: TreePath { .searches }
    var parent: any TreeDirectory { RootDirectory() }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.search) }
    func audience(in tree: Tree) -> Audience { .owner }

    func names(in tree: Tree) -> [NamedNode]? {
        let searches = tree.catalog.listings.opened.compactMap { key -> String? in
            if case .search(let words) = key { words.text } else { nil }
        }
        return searches.sorted().map { SearchDirectory($0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        EntryName.searchWords(name).map { .directory(SearchDirectory($0)) } ?? .absent(TreeLimits.frozen)
    }
}

/// `search/<words>/`: the works that a search finds; each spelling of the words is a directory, all show one listing.
struct SearchDirectory: ListingDirectory {
    let words: String

    init(_ words: String) {
        self.words = words
    }

    var path: TreePath { .search(words) }
    var parent: any TreeDirectory { SearchesDirectory() }
    var key: ListingKey? { .search(NormalizedName(words)) }
    func audience(in tree: Tree) -> Audience { .owner }
}
