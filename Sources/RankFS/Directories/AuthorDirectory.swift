import Catalog
import Fuse
import Rankings

/// `users/<id>/`: an author's works, what the author says of himself, and his bookmarks.
struct AuthorDirectory: ListingDirectory {
    let author: UserID
    /// When its listing last changed, in Unix seconds, if that was known.
    private let modified: Int64?

    init(_ author: UserID, modified: Int64? = nil) {
        self.author = author
        self.modified = modified
    }

    var path: TreePath { .author(author) }
    var parent: any TreeDirectory { UsersDirectory() }
    var key: ListingKey? { .author(author) }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if let file = files(in: tree).first(where: { $0.name.utf8.elementsEqual(name) }) { return .node(.file(file)) }
        let bookmarks = BookmarksDirectory(author)
        if tree.source.can(.bookmarks), bookmarks.path.name.utf8.elementsEqual(name) {
            return .directory(bookmarks, in: tree)
        }
        return tree.findPicture(name, .author(author), leastDigits: 1)
    }

    func extras(of listing: Listing, in tree: Tree) -> [NamedNode] {
        let bookmarks = BookmarksDirectory(author)
        let isListed = tree.source.can(.bookmarks) && bookmarks.refusal(in: tree) == nil
        return files(in: tree).map { ($0.name, .file($0)) } + (isListed ? [bookmarks.named] : [])
    }

    /// The files that are made of what the service tells of an author.
    private func files(in tree: Tree) -> [any TreeFile] {
        tree.source.can(.profiles) ? [ProfileFile(author: author), AvatarFile(author: author)] : []
    }

    func modified(in tree: Tree) -> Int64 {
        tree.catalog.listings.loaded(.author(author))?.modified ?? modified ?? tree.newestPublication
    }

    // Opening one that nobody asked about tells whether there is such a number.
    func lifetime(in tree: Tree) -> Lifetime {
        isStored(in: tree) ? (TreeLimits.changing, TreeLimits.changing) : (.zero, .zero)
    }

    func isCertain(in tree: Tree) -> Bool { modified != nil }
}
