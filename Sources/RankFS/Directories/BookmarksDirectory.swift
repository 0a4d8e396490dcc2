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

/// A directory in the root that shows a listing of the signed-in user.
protocol SessionDirectory: ListingDirectory {
    /// The listing of a user.
    func key(of user: UserID) -> ListingKey
}

extension SessionDirectory {
    var parent: any TreeDirectory { RootDirectory() }
    var key: ListingKey? { nil }
    func rememberedKey(in tree: Tree) -> ListingKey? { tree.source.signIn.user.map(key) }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let key = rememberedKey(in: tree) else { return .refused(.catalog(.needsSignIn)) }
        return name.contains(UInt8(ascii: "-")) ? tree.findEntry(name, key) : .absent(TreeLimits.frozen)
    }

    func modified(in tree: Tree) -> Int64 { tree.newestPublication }
    func lifetime(in tree: Tree) -> Lifetime { (.zero, TreeLimits.current) }
    // Another user may sign in.
    var longestName: Duration { TreeLimits.current }
    func refusal(in tree: Tree) -> Failure? { tree.refusalOfSession }
    func audience(in tree: Tree) -> Audience { .session }
    func opens(in tree: Tree) async -> Bool { rememberedKey(in: tree).map(tree.catalog.listings.isStored) ?? false }
}

/// `bookmarks/`: the signed-in user's own, with the pictures of the directory below `users/`: a directory can only be in one place.
struct OwnBookmarksDirectory: SessionDirectory {
    var path: TreePath { .ownBookmarks }
    func key(of user: UserID) -> ListingKey { .bookmarks(user) }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.bookmarks) }
}

/// `following/`: a link to each author whom the signed-in user follows.
struct FollowingDirectory: SessionDirectory {
    var path: TreePath { .following }
    func key(of user: UserID) -> ListingKey { .following(user) }
    var showsPictures: Bool { false }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.following) }
}

extension Tree {
    /// Why what a session shows must not be shown now.
    var refusalOfSession: Failure? {
        source.signIn == .signedOut ? .catalog(.needsSignIn) : nil
    }
}
