import Catalog
import Rankings
import Synchronization

/// A symbolic link with its kind and target.
enum Link: Hashable, TreeEntry {
    /// A day in its month.
    case dated(RankingMode, Day)
    /// An author that the signed-in user follows.
    case followed(NamedAuthor)
    /// An author under a name that is unique among authors.
    case named(String, UserID)
    /// A work in another mount, as `Bridge` describes it.
    case bridge(WorkID, name: String, target: String)

    /// The path below the mount point.
    var path: TreePath {
        switch self {
        case .dated(let mode, let day): .dayLink(mode, day)
        case .followed(let author): .entry(.following, FileName.author(author.id, name: author.name))
        case .named(let name, _): .authorLink(name)
        case .bridge(let work, let name, _): .entry(.work(work), name)
        }
    }

    // MARK: - Attributes for the kernel

    func lifetime(in tree: Tree) -> Lifetime {
        switch self {
        case .dated(let mode, _): (tree.longest(of: mode), TreeLimits.frozen)
        // Signing out removes the name at once.
        case .followed: (.zero, TreeLimits.current)
        // The other mount comes and goes without notice.
        case .bridge: (.zero, .zero)
        case .named: (TreeLimits.current, TreeLimits.current)
        }
    }

    func refusal(in tree: Tree) -> Failure? {
        switch self {
        case .dated(let mode, _): tree.refusal(of: mode)
        case .followed: tree.refusalOfSession
        case .named, .bridge: nil
        }
    }

    func audience(in tree: Tree) -> Audience {
        switch self {
        case .dated(let mode, _): tree.audience(of: mode)
        case .followed: .owner
        case .named, .bridge: .everybody
        }
    }

    /// The time of the last change, in Unix seconds.
    func modified(in tree: Tree) -> Int64 {
        switch self {
        case .dated(let mode, let day): tree.publication(of: day, in: mode)
        default: tree.newestPublication
        }
    }

    /// Whether its target opens without a request.
    func opens(in tree: Tree) async -> Bool {
        switch self {
        case .dated(let mode, let day): return tree.catalog.listings.isStored(.ranking(mode, day))
        case .followed(let author): return tree.catalog.listings.isStored(.author(author.id))
        case .named(_, let author): return tree.catalog.listings.isStored(.author(author))
        case .bridge: return true
        }
    }

    /// The target of the link.
    var target: String {
        switch self {
        case .followed(let author): "../\(TreePath.author(author.id).text)"
        case .named(_, let author): TreePath.author(author).name
        case .bridge(_, _, let target): target
        case .dated(let mode, let day): "../../../../\(TreePath.day(mode, day).text)"
        }
    }
}

// MARK: - Bridge

extension Tree {
    /// Whether works may have bridges.
    private var hasBridges: Bool { configuration.bridge != nil && source.can(.origins) }

    private func origin(of work: WorkID) -> String? { origins.withLock { $0[work] } }

    /// Whether it is known without a query if a work has a bridge.
    func knowsBridge(of work: WorkID) -> Bool {
        !hasBridges || origin(of: work) != nil
    }

    /// Queries the web page that a work comes from.
    func learnBridge(of work: WorkID) async {
        guard !knowsBridge(of: work) else { return }
        let page = await catalog.records.listedWork(work)?.origin ?? ""
        origins.withLock { $0[work] = page }
    }

    /// Returns the bridge of a work with a known origin; nil if there is none now.
    func bridge(of work: WorkID) -> Bridge? {
        guard hasBridges, let page = origin(of: work), !page.isEmpty else { return nil }
        return configuration.bridge?(page)
    }
}
