package import Rankings

/// Paths and keys that tests name often, and the product never.
extension TreePath {
    package static let artists = TreePath.folder(.artist)
    package static let works = TreePath.folder(.work)
    package static let searches = TreePath.folder(.search)
    /// The signed-in user's own bookmarks.
    package static let ownBookmarks = TreePath.own(.bookmarks)

    package static func bookmarks(_ user: UserID) -> TreePath { ListingKey.bookmarks(user).path }
    /// The works of an artist; each spelling of the name is a path of its own.
    package static func artist(_ name: String) -> TreePath { .listing(.artist, name) }
    /// The results of a search; each spelling of the words is a path of its own.
    package static func search(_ words: String) -> TreePath { .listing(.search, words) }
}

extension ListingKey {
    package static func artist(_ name: String) -> Self { named(.artist, name) }
    package static func search(_ words: String) -> Self { named(.search, words) }
    package static func bookmarks(_ user: UserID) -> Self { Self(.bookmarks, user.rawValue) }
    package static func following(_ user: UserID) -> Self { Self(.following, user.rawValue) }

    private static func named(_ kind: ListingKind, _ name: String) -> Self {
        guard let key = ListingKey(of: .listing(kind, name)) else { preconditionFailure("\(kind) has numbers") }
        return key
    }
}
