import Catalog
import Fuse
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
    /// A work in another mount.
    case bridge(WorkID, Bridge)

    /// Where it is below the mount point.
    var path: TreePath {
        switch self {
        case .dated(let mode, let day): .dayLink(mode, day)
        case .random: .random
        case .recent(let picture): .entry(.recent, picture.name)
        case .followed(let author): .entry(.following, FileName.author(author.id, name: author.name))
        case .named(let name, _): .authorLink(name)
        case .bookmarks: .ownBookmarks
        case .bridge(let work, let bridge): .entry(.work(work), bridge.name)
        }
    }

    /// As `Node.identity`; `random.jpg` is another inode with each choice, so that what `stat` and `readlink` tell of one agrees.
    var identity: String {
        if case .random(let target?) = self { "\(path.text) \(target)" } else { path.text }
    }

    var parent: any TreeDirectory {
        switch self {
        case .dated(let mode, let day): DatesDirectory(DateFolder(of: mode, day))
        case .random, .bookmarks: RootDirectory()
        case .recent: RecentDirectory()
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
    func isThere(in tree: Tree) -> Bool {
        if case .bookmarks = self { tree.source.can(.bookmarks) } else { true }
    }

    /// The link as a caller finds it by its name.
    func found(in tree: Tree, for caller: Caller) -> LookupResult {
        guard case .random = self else { return .node(.link(self)) }
        return .unknown { .node(.link(.random(to: await tree.randomTarget(for: caller)))) }
    }

    func lifetime(in tree: Tree) -> Lifetime {
        switch self {
        case .dated(let mode, _): (tree.longest(of: mode), TreeLimits.frozen)
        // Signing out takes them away at once.
        case .bookmarks, .followed: (.zero, TreeLimits.current)
        // The other mount comes and goes unheard.
        case .random, .recent, .bridge: (.zero, .zero)
        case .named: (TreeLimits.current, TreeLimits.current)
        }
    }

    func refusal(in tree: Tree) -> Failure? {
        switch self {
        case .dated, .followed: parent.refusal(in: tree)
        case .bookmarks: tree.refusalOfSession
        case .random, .recent, .named, .bridge: nil
        }
    }

    func audience(in tree: Tree) -> Audience {
        switch self {
        case .dated: parent.audience(in: tree)
        case .recent, .followed: parent.audience(in: tree).ofContents
        case .bookmarks: .session
        case .random, .named, .bridge: .everybody
        }
    }

    /// When it last changed, in Unix seconds.
    func modified(in tree: Tree) -> Int64 {
        switch self {
        case .recent(let picture): tree.current(picture).opened
        case .dated(let mode, let day): tree.publication(of: day, in: mode)
        default: tree.newestPublication
        }
    }

    /// Whether what it leads to opens without a request.
    func opens(in tree: Tree) async -> Bool {
        switch self {
        case .dated(let mode, let day): return tree.catalog.listings.isStored(.ranking(mode, day))
        case .bookmarks: return tree.source.signIn.user.map { tree.catalog.listings.isStored(.bookmarks($0)) } ?? false
        case .followed(let author): return tree.catalog.listings.isStored(.author(author.id))
        case .named(_, let author): return tree.catalog.listings.isStored(.author(author))
        case .recent(let picture): return await tree.node(at: picture.path)?.opens(in: tree) ?? false
        case .random, .bridge: return true
        }
    }
}

// MARK: - Where it leads

extension Link {
    /// The target as far as it is known without asking; nil if it has to be chosen.
    ///
    /// The length that `stat` tells is that of what `readlink` gives next: programs that make room by it, NFS servers among
    /// them, refuse a link otherwise.
    func target(in tree: Tree) -> String? {
        switch self {
        case .random(let target): target
        case .recent(let picture): "../\(tree.current(picture).path)"
        case .followed(let author): "../\(TreePath.author(author.id).text)"
        case .named(_, let author): TreePath.author(author).name
        case .bookmarks: tree.source.signIn.user.map { TreePath.bookmarks($0).text } ?? ""
        case .bridge(_, let bridge): bridge.target
        case .dated(let mode, let day): "../../../../\(TreePath.day(mode, day).text)"
        }
    }

    /// Somebody reads it, and so may go where it leads.
    func noteRead(in tree: Tree, by caller: Caller) {
        switch self {
        case .recent(let picture): tree.desktops.noteWay(toRecent: tree.current(picture).path, by: caller)
        case .dated(let mode, let day): tree.desktops.noteWay(to: mode, day)
        case .random, .followed, .named, .bookmarks, .bridge: break
        }
    }
}

extension Tree {
    /// What a link in `recent/` is now: it keeps its name when the picture is read once more.
    fileprivate func current(_ picture: RecentPicture) -> RecentPicture {
        catalog.recents.pictures.first { $0.name == picture.name } ?? picture
    }

    /// What a path below the mount point leads to; nil if it cannot be told.
    fileprivate func node(at path: String) async -> Node? {
        let owner = Caller(user: configuration.user, group: configuration.group, process: 0)
        var node = Node.root
        for step in TreePath(path).steps {
            guard case .directory(let directory) = node else { return nil }
            var finding = find(Array(step.name.utf8), in: directory, owner)
            while case .unknown(let ask) = finding {
                guard let found = try? await ask() else { return nil }
                finding = found
            }
            guard case .node(let next) = finding else { return nil }
            node = next
        }
        return node
    }
}
