import Catalog
import Fuse
import Rankings

/// `ranking/<mode>/latest`: a directory that shows the newest day, so that each picture of that day has two names.
///
/// They are the same inodes as in the day's directory, with a link count of 2: programs that know hard links (tar, borg, restic,
/// `cp -a`, `rsync -H`, du) take each once. A directory can only be in one place, so `latest` and what `.sh_thumbnails` it has are
/// inodes of their own.
extension RankFileSystem {
    /// A mode's newest day as far as memory tells, with the option `offline` the newest stored one.
    ///
    /// Never asks.
    func rememberedNewest(of mode: RankingMode) -> RememberedDay? {
        guard configuration.isOffline else { return catalog.days.rememberedNewest(of: mode) }
        return catalog.days.stored(of: mode).last.map { RememberedDay(day: $0, isCurrent: true) }
    }

    /// The listing that a directory shows if nobody need be asked for that.
    func rememberedListing(of directory: PictureDirectory) -> ListingKey? {
        switch directory {
        case .listing(let key): return key
        case .latest(let mode):
            guard let newest = rememberedNewest(of: mode), newest.isCurrent else { return nil }
            return .ranking(mode, newest.day)
        }
    }

    /// The listing that a directory shows; asks once after each day is due which one `latest` is.
    func listingKey(of directory: PictureDirectory) async throws(Failure) -> ListingKey {
        if let key = rememberedListing(of: directory) { return key }
        guard case .latest(let mode) = directory, !configuration.isOffline else {
            throw .catalog(.source(.offline))
        }
        do throws(CatalogError) {
            return .ranking(mode, try await catalog.days.newest(of: mode))
        } catch { throw .catalog(error) }
    }

    /// The listing that a node shows; nil for what shows none.
    func listingKey(of node: Node) async throws(Failure) -> ListingKey? {
        guard let directory = node.pictureDirectory else { return nil }
        return try await listingKey(of: directory)
    }

    /// What a name in `latest` is: asks for the newest day only where a picture may have the name.
    func findInLatest(_ name: [UInt8], _ mode: RankingMode) -> LookupResult {
        let directory = PictureDirectory.latest(mode)
        if let key = rememberedListing(of: directory) {
            return findPicture(name, key, leastDigits: TreeLimits.rankDigits)
        }
        guard number(of: name, leastDigits: TreeLimits.rankDigits) != nil else {
            return .absent(TreeLimits.current)
        }
        return .unknown { () async throws(Failure) in
            self.findPicture(name, try await self.listingKey(of: directory), leastDigits: TreeLimits.rankDigits)
        }
    }

    /// The paths under which programs see each of the directories in which a listing's pictures are now.
    func sightsNow(of key: ListingKey) -> [[String]] {
        let others = isInLatest(key) ? key.paths.filter { $0 != key.path } : []
        return [sight(of: .directory(of: key))] + others.map { [$0.text] }
    }

    /// Whether a listing is the one that `latest` is known to show.
    func isInLatest(_ key: ListingKey) -> Bool {
        guard case .ranking(let mode, let day) = key else { return false }
        return rememberedNewest(of: mode)?.day == day
    }
}

extension Node {
    /// Whether this is `latest`.
    var isLatest: Bool {
        if case .latest = self { true } else { false }
    }

    /// The longest time for which the kernel may keep a name in this directory: those in `latest` lead elsewhere when a day appears.
    var longestName: Duration {
        switch self {
        case .latest, .sharedThumbnails(.latest, _): TreeLimits.current
        default: TreeLimits.frozen
        }
    }
}
