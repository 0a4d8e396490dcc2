import Catalog
import Fuse
import Rankings

/// `ranking/`: the rankings of the source.
struct RankingsDirectory: TreeDirectory {
    var path: TreePath { .rankings }
    var parent: any TreeDirectory { RootDirectory() }

    func names(in tree: Tree) -> [NamedNode]? {
        tree.listedModes.map { ModeDirectory($0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        tree.findMode(name) { ModeDirectory($0) }
    }
}

/// `ranking/<mode>/`: the days of a ranking, and `latest`.
struct ModeDirectory: TreeDirectory {
    let mode: RankingMode

    init(_ mode: RankingMode) {
        self.mode = mode
    }

    var path: TreePath { .mode(mode) }
    var parent: any TreeDirectory { RankingsDirectory() }

    func names(in tree: Tree) -> [NamedNode]? {
        let days =
            tree.configuration.isOffline ? tree.catalog.days.stored(of: mode) : tree.catalog.days.listed(of: mode)
        // Behind the days: who packs links as links stores the pictures in the directory that keeps its name.
        return days.map { DayDirectory(mode, $0).named } + [LatestDirectory(mode).named]
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        switch EntryName.ascii(name).map(path.child) {
        case .latest: return .directory(LatestDirectory(mode))
        case .day(_, let day): return find(day, in: tree, for: caller)
        default: return .absent(TreeLimits.frozen)
        }
    }

    private func find(_ day: Day, in tree: Tree, for caller: Caller) -> LookupResult {
        let catalog = tree.catalog
        guard catalog.days.calendar(of: mode).contains(day) else { return .absent(TreeLimits.frozen) }
        let key = ListingKey.ranking(mode, day)
        if catalog.listings.isKnownAbsent(key) { return .absent(TreeLimits.unpublished) }
        // Only the newest day may still be missing: the service is sometimes late. Older ones are asked when they are read.
        if day < catalog.days.newestPossible(of: mode) || catalog.listings.isStored(key)
            || tree.desktops.isGlancing(at: self, caller)
        {
            return .directory(DayDirectory(mode, day))
        }
        return .unknown { () async throws(Failure) in
            try await tree.listing(key) == nil ? .absent(TreeLimits.unpublished) : .directory(DayDirectory(mode, day))
        }
    }

    // Signing out takes it away at once.
    func lifetime(in tree: Tree) -> Lifetime { (tree.longest(of: mode), TreeLimits.current) }
    func refusal(in tree: Tree) -> Failure? { tree.refusal(of: mode) }
    func audience(in tree: Tree) -> Audience { tree.source.description.needsSignIn(mode) ? .session : .everybody }
    func opens(in tree: Tree) async -> Bool { !tree.catalog.days.stored(of: mode).isEmpty }
    var isRefreshable: Bool { true }

    func refresh(in tree: Tree) async throws(Failure) {
        do throws(CatalogError) { _ = try await tree.catalog.days.refreshNewest(of: mode) } catch {
            throw .catalog(error)
        }
    }

    func changing(with tree: Tree) -> [any TreeDirectory] { [LatestDirectory(mode)] }
}

// MARK: - What is true of rankings now

extension Tree {
    /// The ranking of a name, as a directory.
    func findMode(_ name: [UInt8], _ directory: (RankingMode) -> any TreeDirectory) -> LookupResult {
        guard let name = EntryName.ascii(name), let mode = RankingMode(rawValue: name), source.description[mode] != nil
        else {
            return .absent(TreeLimits.frozen)
        }
        guard catalog.listings.view.shows(mode) else { return .absent(TreeLimits.frozen) }
        if let failure = refusal(of: mode) { return .refused(failure) }
        return source.has(mode) ? .directory(directory(mode)) : .absent(TreeLimits.changing)
    }

    /// The modes that are listed: those of all contents, and the limited ones that have a stored day.
    var listedModes: [RankingMode] {
        let limited = Set(
            catalog.listings.keys.compactMap { key -> RankingMode? in
                guard case .ranking(let mode, _) = key, source.description.whole(of: mode) != mode, isAllowed(mode)
                else { return nil }
                return mode
            })
        return (source.modes + limited.sorted { $0.rawValue < $1.rawValue }).filter(catalog.listings.view.shows)
    }

    /// Why a ranking must not be shown now.
    func refusal(of mode: RankingMode) -> Failure? { isAllowed(mode) ? nil : .modeNeedsSignIn }

    /// Whether the present sign-in state shows a ranking.
    private func isAllowed(_ mode: RankingMode) -> Bool {
        !source.description.needsSignIn(mode) || source.has(mode)
    }

    /// How long the kernel may keep a name that is there while a ranking is shown.
    func longest(of mode: RankingMode) -> Duration {
        source.description.needsSignIn(mode) ? .zero : TreeLimits.frozen
    }

    /// When a day's ranking appears, in Unix seconds.
    func publication(of day: Day, in mode: RankingMode) -> Int64 {
        source.description.days(of: mode).published(day)
    }

    /// When the newest day of all appeared.
    var newestPublication: Int64 {
        let days = source.description.days
        return days.published(days.newest(at: configuration.now()))
    }
}
