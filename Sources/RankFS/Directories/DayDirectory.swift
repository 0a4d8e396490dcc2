import Catalog
import Fuse
import Rankings

/// `ranking/<mode>/<day>/`.
struct DayDirectory: ListingDirectory {
    let mode: RankingMode
    let shown: Day

    init(_ mode: RankingMode, _ day: Day) {
        self.mode = mode
        shown = day
    }

    var path: TreePath { .day(mode, shown) }
    var parent: any TreeDirectory { ModeDirectory(mode) }
    var order: InodeOrder? { .day(shown) }
    var key: ListingKey? { .ranking(mode, shown) }
    func day(in tree: Tree) -> Day? { shown }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        tree.findPicture(name, .ranking(mode, shown), leastDigits: TreeLimits.rankDigits)
    }

    func modified(in tree: Tree) -> Int64 { tree.publication(of: shown, in: mode) }

    func lifetime(in tree: Tree) -> Lifetime {
        tree.catalog.listings.loaded(.ranking(mode, shown))?.isFrozen == true
            ? (TreeLimits.frozen, TreeLimits.frozen) : (TreeLimits.changing, TreeLimits.changing)
    }

    func isCertain(in tree: Tree) -> Bool {
        shown < tree.catalog.days.newestPossible(of: mode) || isStored(in: tree)
    }

    func refusal(in tree: Tree) -> Failure? { tree.refusal(of: mode) }
    func audience(in tree: Tree) -> Audience { tree.source.description.needsSignIn(mode) ? .owner : .everybody }
}
