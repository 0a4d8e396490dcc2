import Catalog
import Fuse
import Rankings

/// `by-date/<mode>/<year>/<month>/`: a link to each published day, all from memory.
struct DatesDirectory: TreeDirectory {
    let folder: DateFolder

    init(_ folder: DateFolder) {
        self.folder = folder
    }

    var path: TreePath { .dates(folder) }
    var parent: any TreeDirectory { folder.parent.map { DatesDirectory($0) } ?? RootDirectory() }

    func names(in tree: Tree) -> [NamedNode]? {
        let folders: [DateFolder]
        switch folder {
        case .all: folders = tree.listedModes.map { .mode($0) }
        case .mode(let mode): folders = tree.published(mode).years.map { .year(mode, $0) }
        case .year(let mode, let year): folders = tree.published(mode).months(of: year).map { .month(mode, year, $0) }
        case .month(let mode, let year, let month):
            return tree.published(mode).days(of: year, month).map { ($0.description, .link(.dated(mode, $0))) }
        }
        return folders.map { DatesDirectory($0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if case .all = folder { return tree.findMode(name) { DatesDirectory(.mode($0)) } }
        switch EntryName.ascii(name).map(path.child) {
        case .dayLink(let mode, let day):
            return tree.published(mode).contains(day)
                ? .node(.link(.dated(mode, day))) : .absent(TreeLimits.unpublished)
        case .dates(let found):
            return isPublished(found, in: tree)
                ? .directory(DatesDirectory(found)) : .absent(TreeLimits.unpublished)
        default: return .absent(TreeLimits.frozen)
        }
    }

    private func isPublished(_ folder: DateFolder, in tree: Tree) -> Bool {
        switch folder {
        case .all, .mode: true
        case .year(let mode, let year): tree.published(mode).years.contains(year)
        case .month(let mode, let year, let month): tree.published(mode).newest(of: year, month) != nil
        }
    }

    /// The newest day that is reached through it; nil if none is, and for that of all rankings.
    private func newest(in tree: Tree) -> Day? {
        switch folder {
        case .all: nil
        case .mode(let mode): tree.catalog.days.newestPossible(of: mode)
        case .year(let mode, let year):
            tree.published(mode).months(of: year).last.flatMap { tree.published(mode).newest(of: year, $0) }
        case .month(let mode, let year, let month): tree.published(mode).newest(of: year, month)
        }
    }

    /// When the newest day in it appeared: stable for what is past.
    func modified(in tree: Tree) -> Int64 {
        guard let day = newest(in: tree), let mode = folder.mode else { return tree.newestPublication }
        return tree.publication(of: day, in: mode)
    }

    func lifetime(in tree: Tree) -> Lifetime {
        (folder.mode.map(tree.longest) ?? TreeLimits.frozen, TreeLimits.current)
    }

    func refusal(in tree: Tree) -> Failure? { folder.mode.flatMap(tree.refusal) }

    func audience(in tree: Tree) -> Audience {
        folder.mode.map(tree.source.description.needsSignIn) == true ? .session : .everybody
    }

    func opens(in tree: Tree) async -> Bool {
        let days = folder.mode.map(tree.catalog.days.stored) ?? []
        return switch folder {
        case .all: true
        case .mode: !days.isEmpty
        case .year(_, let year): days.contains { $0.civil.year == year }
        case .month(let mode, _, _): days.contains { DateFolder(of: mode, $0) == folder }
        }
    }

    var isSearchedLast: Bool { true }

    func mayHold(_ number: UInt64) -> Bool {
        guard case .month = folder else { return true }
        // The directory and the width of the order count, not the day.
        return InodeNumber.mayBe(number, in: path.text, order: .day(Day(ordinal: 0)))
    }
}

extension Tree {
    /// The days of a ranking that can be there.
    fileprivate func published(_ mode: RankingMode) -> PublishedDays {
        catalog.days.calendar(of: mode).published(to: catalog.days.newestPossible(of: mode))
    }
}
