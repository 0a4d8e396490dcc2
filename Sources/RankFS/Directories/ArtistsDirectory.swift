import Catalog
import Fuse
import Rankings

/// `artists/`: the artists whose works were listed, where a service knows them by name alone.
struct ArtistsDirectory: TreeDirectory {
    var path: TreePath { .artists }
    var parent: any TreeDirectory { RootDirectory() }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.artists) }

    func names(in tree: Tree) -> [NamedNode]? {
        let artists = tree.catalog.listings.opened.compactMap { key -> String? in
            if case .artist(let name) = key { name.text } else { nil }
        }
        return artists.sorted().map { ArtistDirectory($0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let artist = EntryName.searchWords(name) else { return .absent(TreeLimits.frozen) }
        return tree.findNumbered(.artist(NormalizedName(artist)), as: ArtistDirectory(artist))
    }
}

/// `artists/<name>/`: the works of an artist; each spelling of the name is a directory, all show one listing.
struct ArtistDirectory: ListingDirectory {
    let artist: String

    init(_ artist: String) {
        self.artist = artist
    }

    var path: TreePath { .artist(artist) }
    var parent: any TreeDirectory { ArtistsDirectory() }
    var key: ListingKey? { .artist(NormalizedName(artist)) }

    // Opening one that nobody asked about tells whether there is such a name.
    func lifetime(in tree: Tree) -> Lifetime {
        isStored(in: tree) ? (TreeLimits.changing, TreeLimits.changing) : (.zero, .zero)
    }

    func isCertain(in tree: Tree) -> Bool { isStored(in: tree) }
}
