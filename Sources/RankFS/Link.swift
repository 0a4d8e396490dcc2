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

    /// The path below the mount point.
    var path: String {
        switch self {
        case .dated(let mode, let day): "\(DateDirectory(of: mode, day).path)/\(day)"
        case .random: Self.randomName
        case .recent(let picture): "recent/\(picture.name)"
        case .followed(let author): "following/\(Self.name(of: author))"
        case .named(let name, _): "users/@\(name)"
        case .bookmarks: "bookmarks"
        }
    }

    var parent: Node {
        switch self {
        case .dated(let mode, let day): .dates(DateDirectory(of: mode, day))
        case .random, .bookmarks: .root
        case .recent: .recent
        case .followed: .following
        case .named: .users
        }
    }

    static let randomName = "random.jpg"

    /// `42-Name`.
    static func name(of author: NamedAuthor) -> String {
        FileName.author(author.id, name: author.name)
    }
}
