import Catalog
import Fuse
import Rankings

/// `ranking/<mode>/latest`: a directory that shows the newest day, so that each picture of that day has two names.
///
/// They are the same inodes as in the day's directory, with a link count of 2: programs that know hard links (tar, borg, restic,
/// `cp -a`, `rsync -H`, du) take each once. A directory can only be in one place, so `latest` and what `.sh_thumbnails` it has are
/// inodes of their own.
struct LatestDirectory: ListingDirectory {
    let mode: RankingMode

    init(_ mode: RankingMode) {
        self.mode = mode
    }

    var path: TreePath { .latest(mode) }
    var parent: any TreeDirectory { ModeDirectory(mode) }
    var key: ListingKey? { nil }
    func day(in tree: Tree) -> Day? { tree.rememberedNewest(of: mode)?.day }

    func rememberedKey(in tree: Tree) -> ListingKey? {
        guard let newest = tree.rememberedNewest(of: mode), newest.isCurrent else { return nil }
        return .ranking(mode, newest.day)
    }

    /// Asks once after each day is due which one it is.
    func currentKey(in tree: Tree) async throws(Failure) -> ListingKey? {
        if let key = rememberedKey(in: tree) { return key }
        guard !tree.configuration.isOffline else { throw .catalog(.source(.offline)) }
        do throws(CatalogError) {
            return .ranking(mode, try await tree.catalog.days.newest(of: mode))
        } catch { throw .catalog(error) }
    }

    /// Asks for the newest day only where a picture may have the name.
    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if let key = rememberedKey(in: tree) {
            return tree.findPicture(name, key, leastDigits: TreeLimits.rankDigits)
        }
        guard tree.number(of: name, leastDigits: TreeLimits.rankDigits) != nil else {
            return .absent(TreeLimits.current)
        }
        return .unknown { () async throws(Failure) in
            guard let key = try await currentKey(in: tree) else { return .absent(TreeLimits.current) }
            return tree.findPicture(name, key, leastDigits: TreeLimits.rankDigits)
        }
    }

    func modified(in tree: Tree) -> Int64 {
        tree.publication(
            of: tree.rememberedNewest(of: mode)?.day ?? tree.catalog.days.newestPossible(of: mode), in: mode)
    }

    func lifetime(in tree: Tree) -> Lifetime { (TreeLimits.frozen, TreeLimits.current) }
    // Names lead elsewhere when a day appears.
    var longestName: Duration { TreeLimits.current }
    func refusal(in tree: Tree) -> Failure? { tree.refusal(of: mode) }
    func audience(in tree: Tree) -> Audience { tree.source.description.needsSignIn(mode) ? .session : .everybody }
    func opens(in tree: Tree) async -> Bool { !tree.catalog.days.stored(of: mode).isEmpty }

    func changing(with tree: Tree) -> [any TreeDirectory] {
        rememberedKey(in: tree).map { [DirectoryKinds.directory(showing: $0)] } ?? []
    }
}

extension Tree {
    /// A mode's newest day as far as memory tells, with the option `offline` the newest stored one.
    ///
    /// Never asks.
    func rememberedNewest(of mode: RankingMode) -> RememberedDay? {
        guard configuration.isOffline else { return catalog.days.rememberedNewest(of: mode) }
        return catalog.days.stored(of: mode).last.map { RememberedDay(day: $0, isCurrent: true) }
    }

    /// Whether a listing is the one that `latest` is known to show.
    func isInLatest(_ key: ListingKey) -> Bool {
        guard case .ranking(let mode, let day) = key else { return false }
        return rememberedNewest(of: mode)?.day == day
    }
}
