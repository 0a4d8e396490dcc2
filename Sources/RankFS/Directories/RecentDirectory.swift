import Catalog
import Fuse
import Rankings

/// `recent/`: the pictures that were read lately, each under a further name.
///
/// They are those of stored listings: nobody is asked. What is read here is not read anew.
struct RecentDirectory: TreeDirectory {
    var path: TreePath { .recent }
    var parent: any TreeDirectory { RootDirectory() }
    func isThere(in tree: Tree) -> Bool { tree.configuration.notesRecent }
    func audience(in tree: Tree) -> Audience { .owner }
    /// The kernel asks for a name at each open, which so tells that it was opened here.
    var longestName: Duration { .zero }
    var listsSeen: Bool { true }

    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode] {
        let places = await tree.catalog.recents.places()
        return places.compactMap { place in
            tree.shownPicture(place.listing, place.index).map { (place.picture.name, $0) }
        }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        .unknown { () async throws(Failure) in
            guard let (listing, index) = await tree.catalog.recents.place(named: name),
                let node = tree.shownPicture(listing, index)
            else { return .absent(.zero) }
            tree.desktops.noteFound(node, as: .recent, by: caller)
            return .node(node)
        }
    }

    func modified(in tree: Tree) -> Int64 {
        tree.catalog.recents.pictures.first?.opened ?? tree.newestPublication
    }
}

extension Tree {
    /// A picture of a listing if it is shown now.
    fileprivate func shownPicture(_ listing: Listing, _ index: Int) -> Node? {
        let node = Node.picture(listing, Int32(clamping: index))
        return listing.entry(at: index)?.isHidden == false && node.refusal(in: self) == nil ? node : nil
    }
}
