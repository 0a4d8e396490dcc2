import Catalog
import Rankings

/// Which directories there are: a new one has its line here.
enum DirectoryKinds {
    /// What the root lists, in this order, as far as it is there.
    static let top: [Node] = [
        .directory(RankingsDirectory()), .directory(DatesDirectory(.all)), .directory(UsersDirectory()),
        .directory(ArtistsDirectory()), .directory(WorksDirectory()), .directory(SearchesDirectory()),
        .directory(RecentDirectory()),
        .file(RandomPicture()), .directory(OwnBookmarksDirectory()), .directory(FollowingDirectory()),
    ]

    /// The directory that shows a listing.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - modified: When it last changed, in Unix seconds, if that is known.
    /// - Returns: The directory, whether there is such a listing or not.
    static func directory(showing key: ListingKey, modified: @autoclosure () -> Int64? = nil) -> any ListingDirectory {
        switch key {
        case .ranking(let mode, let day): DayDirectory(mode, day)
        case .author(let author): AuthorDirectory(author, modified: modified())
        case .artist(let name): ArtistDirectory(name.text)
        case .work(let work): WorkDirectory(work)
        case .search(let words): SearchDirectory(words.text)
        case .bookmarks(let user): BookmarksDirectory(user)
        case .following: FollowingDirectory()
        }
    }
}
