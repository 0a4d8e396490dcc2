import Catalog
import Fuse
import Rankings

/// `users/<id>/bookmarks/`: the public bookmarks of a user, which only signed-in users see.
struct BookmarksDirectory: ListingDirectory {
    let user: UserID

    init(_ user: UserID) {
        self.user = user
    }

    var path: TreePath { .bookmarks(user) }
    var parent: any TreeDirectory { AuthorDirectory(user) }
    var key: ListingKey? { .bookmarks(user) }
    func lifetime(in tree: Tree) -> Lifetime { (.zero, TreeLimits.current) }
    func refusal(in tree: Tree) -> Failure? { tree.refusalOfSession }
    func audience(in tree: Tree) -> Audience { .session }
}

/// `following/`: a link to each author whom the signed-in user follows.
struct FollowingDirectory: ListingDirectory {
    var path: TreePath { .following }
    var parent: any TreeDirectory { RootDirectory() }
    var key: ListingKey? { nil }
    var showsPictures: Bool { false }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.following) }

    func rememberedKey(in tree: Tree) -> ListingKey? {
        tree.source.signIn.user.map { .following($0) }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let key = rememberedKey(in: tree) else { return .refused(.catalog(.needsSignIn)) }
        return name.contains(UInt8(ascii: "-")) ? tree.findEntry(name, key) : .absent(TreeLimits.frozen)
    }

    func modified(in tree: Tree) -> Int64 { tree.newestPublication }
    func lifetime(in tree: Tree) -> Lifetime { (.zero, TreeLimits.current) }
    func refusal(in tree: Tree) -> Failure? { tree.refusalOfSession }
    func audience(in tree: Tree) -> Audience { .session }
    func opens(in tree: Tree) async -> Bool { rememberedKey(in: tree).map(tree.catalog.listings.isStored) ?? false }
}

extension Tree {
    /// Why what a session shows must not be shown now.
    var refusalOfSession: Failure? {
        source.signIn == .signedOut ? .catalog(.needsSignIn) : nil
    }
}
