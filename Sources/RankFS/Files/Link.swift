import Catalog
import Fuse
import Rankings
import Synchronization

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

// MARK: - Bridge

/// A way from a work to the same work in another mount.
package struct Bridge: Hashable, Sendable {
    /// The name of the link in the work's directory: that of the other source.
    package let name: String
    /// The absolute path that it leads to.
    package let target: String

    package init(name: String, target: String) {
        self.name = name
        self.target = target
    }
}

/// The pages that works come from, of works whose directories were opened.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class Origins: Sendable {
    /// Works remembered at most; their records are in the database.
    private static let bound = 4096

    private let known = Mutex<[WorkID: String]>([:])

    /// The page of a work; empty for one that comes from nowhere else, nil if it was not looked up.
    func page(of work: WorkID) -> String? {
        known.withLock { $0[work] }
    }

    func remember(_ page: String, of work: WorkID) {
        known.withLock { known in
            if known.count >= Self.bound { known = [:] }
            known[work] = page
        }
    }
}

extension Tree {
    /// Whether works may have bridges.
    private var hasBridges: Bool { configuration.bridge != nil && source.can(.origins) }

    /// Whether it is known at once if a work has a bridge.
    func knowsBridge(of work: WorkID) -> Bool {
        !hasBridges || origins.page(of: work) != nil
    }

    /// Looks up where a work comes from.
    func learnBridge(of work: WorkID) async {
        guard !knowsBridge(of: work) else { return }
        origins.remember(await catalog.records.listedWork(work)?.origin ?? "", of: work)
    }

    /// The bridge of a work whose origin is known; nil if there is none now.
    func bridge(of work: WorkID) -> Bridge? {
        guard hasBridges, let page = origins.page(of: work), !page.isEmpty else { return nil }
        return configuration.bridge?(page)
    }
}
