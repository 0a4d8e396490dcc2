import Catalog
import Fuse
import Rankings

/// A symbolic link: what it is, and where it leads.
enum Link: Hashable, Sendable {
    /// A day in the month that it is in.
    case dated(RankingMode, Day)
    /// An author whom the signed-in user follows.
    case followed(NamedAuthor)
    /// An author by a name that nobody else has.
    case named(String, UserID)
    /// A work in another mount.
    case bridge(WorkID, Bridge)

    /// Where it is below the mount point.
    var path: TreePath {
        switch self {
        case .dated(let mode, let day): .dayLink(mode, day)
        case .followed(let author): .entry(.following, FileName.author(author.id, name: author.name))
        case .named(let name, _): .authorLink(name)
        case .bridge(let work, let bridge): .entry(.work(work), bridge.name)
        }
    }

    var parent: any TreeDirectory {
        switch self {
        case .dated(let mode, let day): DatesDirectory(DateFolder(of: mode, day))
        case .followed: FollowingDirectory()
        case .named: UsersDirectory()
        case .bridge(let work, _): WorkDirectory(work)
        }
    }

    /// Its place among the entries of its directory.
    var order: InodeOrder? {
        if case .dated(_, let day) = self { .day(day) } else { nil }
    }
}

// MARK: - What the kernel is told of it

extension Link {
    func lifetime(in tree: Tree) -> Lifetime {
        switch self {
        case .dated(let mode, _): (tree.longest(of: mode), TreeLimits.frozen)
        // Signing out takes it away at once.
        case .followed: (.zero, TreeLimits.current)
        // The other mount comes and goes unheard.
        case .bridge: (.zero, .zero)
        case .named: (TreeLimits.current, TreeLimits.current)
        }
    }

    func refusal(in tree: Tree) -> Failure? {
        switch self {
        case .dated, .followed: parent.refusal(in: tree)
        case .named, .bridge: nil
        }
    }

    func audience(in tree: Tree) -> Audience {
        switch self {
        case .dated: parent.audience(in: tree)
        case .followed: parent.audience(in: tree).ofContents
        case .named, .bridge: .everybody
        }
    }

    /// When it last changed, in Unix seconds.
    func modified(in tree: Tree) -> Int64 {
        switch self {
        case .dated(let mode, let day): tree.publication(of: day, in: mode)
        default: tree.newestPublication
        }
    }

    /// Whether what it leads to opens without a request.
    func opens(in tree: Tree) async -> Bool {
        switch self {
        case .dated(let mode, let day): return tree.catalog.listings.isStored(.ranking(mode, day))
        case .followed(let author): return tree.catalog.listings.isStored(.author(author.id))
        case .named(_, let author): return tree.catalog.listings.isStored(.author(author))
        case .bridge: return true
        }
    }
}

extension Link {
    /// Where it leads.
    var target: String {
        switch self {
        case .followed(let author): "../\(TreePath.author(author.id).text)"
        case .named(_, let author): TreePath.author(author).name
        case .bridge(_, let bridge): bridge.target
        case .dated(let mode, let day): "../../../../\(TreePath.day(mode, day).text)"
        }
    }
}
