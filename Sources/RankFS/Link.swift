import Catalog
import Rankings

/// A symbolic link: what it is; where it leads is found out when it is read.
enum Link: Hashable, Sendable {
    /// A day in the month that it is in.
    case dated(RankingMode, Day)
    /// A stored picture, another one for each program; nil if nobody has chosen yet.
    case random(to: String?)
    /// What was read lately.
    case recent(RecentPicture)
    /// An author whom the signed-in user follows.
    case followed(NamedAuthor)
    /// An author by a name that nobody else has.
    case named(String, UserID)
    /// The signed-in user's own bookmarks.
    case bookmarks

    var path: String { treePath.text }

    /// The path below the mount point.
    var treePath: TreePath {
        switch self {
        case .dated(let mode, let day): .dayLink(mode, day)
        case .random: .random
        case .recent(let picture): .entry(.recent, picture.name)
        case .followed(let author): .entry(.following, Self.name(of: author))
        case .named(let name, _): .authorLink(name)
        case .bookmarks: .ownBookmarks
        }
    }

    var parent: Node {
        switch self {
        case .dated(let mode, let day): .dates(DateFolder(of: mode, day))
        case .random, .bookmarks: .root
        case .recent: .recent
        case .followed: .following
        case .named: .users
        }
    }

    static let randomName = TreePath.random.name

    /// `42-Name`.
    static func name(of author: NamedAuthor) -> String {
        FileName.author(author.id, name: author.name)
    }
}
