import Catalog
import Fuse
import Rankings

/// `recent/`: a link to each picture that was read lately.
struct RecentDirectory: TreeDirectory {
    var path: TreePath { .recent }
    var parent: any TreeDirectory { RootDirectory() }
    func isThere(in tree: Tree) -> Bool { tree.configuration.notesRecent }
    func audience(in tree: Tree) -> Audience { .owner }

    func names(in tree: Tree) -> [NamedNode]? {
        tree.catalog.recents.pictures.map { ($0.name, .link(.recent($0))) }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        let picture = tree.catalog.recents.pictures.first { $0.name.utf8.elementsEqual(name) }
        return picture.map { .node(.link(.recent($0))) } ?? .absent(.zero)
    }

    func modified(in tree: Tree) -> Int64 {
        tree.catalog.recents.pictures.first?.opened ?? tree.newestPublication
    }
}
