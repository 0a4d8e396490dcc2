import Catalog
import Fuse
import Rankings

/// `ranking/`: the rankings of the source.
struct RankingsDirectory: TreeDirectory {
    var path: TreePath { .rankings }

    func names(in tree: Tree) -> [NamedNode]? {
        tree.listedModes.map { ModeDirectory(mode: $0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        tree.findMode(name) { ModeDirectory(mode: $0) }
    }
}

/// `ranking/<mode>/`: the days of a ranking, and `latest`.
struct ModeDirectory: TreeDirectory {
    let mode: RankingMode

    var path: TreePath { .mode(mode) }

    func names(in tree: Tree) -> [NamedNode]? {
        let days =
            tree.configuration.isOffline ? tree.catalog.days.stored(of: mode) : tree.catalog.days.listed(of: mode)
        // After the days: a program that packs hard links stores the pictures in the directory that keeps its name.
        return days.map { DayDirectory(mode, $0).named } + [LatestDirectory(mode: mode).named]
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        switch EntryName.ascii(name).map(path.child) {
        case .latest: return .directory(LatestDirectory(mode: mode))
        case .day(_, let day): return find(day, in: tree, for: caller)
        default: return .absent(TreeLimits.frozen)
        }
    }

    private func find(_ day: Day, in tree: Tree, for caller: Caller) -> LookupResult {
        let catalog = tree.catalog
        guard catalog.days.calendar(of: mode).contains(day) else { return .absent(TreeLimits.frozen) }
        let key = ListingKey.ranking(mode, day)
        if catalog.listings.isKnownAbsent(key) { return .absent(TreeLimits.unpublished) }
        // Only the newest day may still be missing: the service is sometimes late. Older days are requested when they are read.
        if day < catalog.days.newestPossible(of: mode) || catalog.listings.isStored(key)
            || tree.callers.isGlancing(at: path.text, caller)
        {
            return .directory(DayDirectory(mode, day))
        }
        return .unknown { () async throws(Failure) in
            try await tree.listing(key) == nil ? .absent(TreeLimits.unpublished) : .directory(DayDirectory(mode, day))
        }
    }

    // Signing out removes the name at once.
    func lifetime(in tree: Tree) -> Lifetime { (tree.longest(of: mode), TreeLimits.current) }
    func refusal(in tree: Tree) -> Failure? { tree.refusal(of: mode) }
    func audience(in tree: Tree) -> Audience { tree.audience(of: mode) }
    func opens(in tree: Tree) async -> Bool { !tree.catalog.days.stored(of: mode).isEmpty }
    var isRefreshable: Bool { true }

    func refresh(in tree: Tree) async throws(Failure) {
        _ = try await tree.catalog.days.refreshNewest(of: mode)
    }

    func changing(with tree: Tree) -> [any TreeDirectory] { [LatestDirectory(mode: mode)] }
}

extension Tree {
    /// Finds the directory of a ranking by its name.
    func findMode(_ name: [UInt8], _ directory: (RankingMode) -> any TreeDirectory) -> LookupResult {
        guard let name = EntryName.ascii(name), let mode = RankingMode(rawValue: name), source.description[mode] != nil
        else {
            return .absent(TreeLimits.frozen)
        }
        guard catalog.listings.view.shows(mode) else { return .absent(TreeLimits.frozen) }
        if let failure = refusal(of: mode) { return .refused(failure) }
        return source.has(mode) ? .directory(directory(mode)) : .absent(TreeLimits.changing)
    }
}

// MARK: - Dates directory

/// `by-date/<mode>/<year>/<month>/`: a link to each published day, all from memory.
struct DatesDirectory: TreeDirectory {
    let folder: DateFolder

    var path: TreePath { .dates(folder) }

    func names(in tree: Tree) -> [NamedNode]? {
        let folders: [DateFolder]
        switch folder {
        case .all: folders = tree.listedModes.map { .mode($0) }
        case .mode(let mode): folders = tree.published(mode).years.map { .year(mode, $0) }
        case .year(let mode, let year): folders = tree.published(mode).months(of: year).map { .month(mode, year, $0) }
        case .month(let mode, let year, let month):
            return tree.published(mode).days(of: year, month).map { ($0.description, .link(.dated(mode, $0))) }
        }
        return folders.map { DatesDirectory(folder: $0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if case .all = folder { return tree.findMode(name) { DatesDirectory(folder: .mode($0)) } }
        switch EntryName.ascii(name).map(path.child) {
        case .dayLink(let mode, let day):
            return tree.published(mode).contains(day)
                ? .node(.link(.dated(mode, day))) : .absent(TreeLimits.unpublished)
        case .dates(let found):
            return Self.newest(below: found, in: tree) != nil
                ? .directory(DatesDirectory(folder: found)) : .absent(TreeLimits.unpublished)
        default: return .absent(TreeLimits.frozen)
        }
    }

    /// The newest day reached through a directory; nil if there is none, and for the directory of all rankings.
    private static func newest(below folder: DateFolder, in tree: Tree) -> Day? {
        switch folder {
        case .all: nil
        case .mode(let mode): tree.catalog.days.newestListed(of: mode)
        case .year(let mode, let year):
            tree.published(mode).months(of: year).last.flatMap { tree.published(mode).newest(of: year, $0) }
        case .month(let mode, let year, let month): tree.published(mode).newest(of: year, month)
        }
    }

    /// The time at which its newest day appeared: stable for past periods.
    func modified(in tree: Tree) -> Int64 {
        let day = Self.newest(below: folder, in: tree)
        return day.flatMap { day in folder.mode.map { tree.publication(of: day, in: $0) } } ?? tree.newestPublication
    }

    func lifetime(in tree: Tree) -> Lifetime {
        (folder.mode.map(tree.longest) ?? TreeLimits.frozen, TreeLimits.current)
    }

    func refusal(in tree: Tree) -> Failure? { folder.mode.flatMap(tree.refusal) }

    func audience(in tree: Tree) -> Audience { folder.mode.map(tree.audience) ?? .everybody }

    func opens(in tree: Tree) async -> Bool {
        let days = folder.mode.map(tree.catalog.days.stored) ?? []
        return switch folder {
        case .all: true
        case .mode: !days.isEmpty
        case .year(_, let year): days.contains { $0.civil.year == year }
        case .month(let mode, _, _): days.contains { DateFolder(of: mode, $0) == folder }
        }
    }
}

extension Tree {
    /// The published days of a ranking, as far as is known.
    fileprivate func published(_ mode: RankingMode) -> PublishedDays {
        catalog.days.calendar(of: mode).published(to: catalog.days.newestListed(of: mode))
    }
}

// MARK: - Day directory

/// `ranking/<mode>/<day>/`.
struct DayDirectory: ListingDirectory {
    let mode: RankingMode
    let shown: Day

    init(_ mode: RankingMode, _ day: Day) { (self.mode, shown) = (mode, day) }

    var path: TreePath { .day(mode, shown) }
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
}

// MARK: - Latest directory

/// `ranking/<mode>/latest`: a directory that shows the newest day, so that each picture of that day has two names.
///
/// The pictures are the same inodes as in the day's directory, whose link count says so: programs that handle hard links (tar,
/// borg, restic, `cp -a`, `rsync -H`, du) take each once. A directory can only be in one place, so `latest` and its
/// `.sh_thumbnails` are inodes of their own.
struct LatestDirectory: ListingDirectory {
    let mode: RankingMode

    var path: TreePath { .latest(mode) }
    var key: ListingKey? { nil }
    func day(in tree: Tree) -> Day? { tree.rememberedNewest(of: mode)?.day }

    func rememberedKey(in tree: Tree) -> ListingKey? {
        guard let newest = tree.rememberedNewest(of: mode), newest.isCurrent else { return nil }
        return .ranking(mode, newest.day)
    }

    /// Queries the newest day once after each day is due.
    func currentKey(in tree: Tree) async throws(Failure) -> ListingKey? {
        if let key = rememberedKey(in: tree) { return key }
        guard !tree.configuration.isOffline else { throw .offline }
        return .ranking(mode, try await tree.catalog.days.newest(of: mode))
    }

    /// Queries the newest day only if a picture may have the name.
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
    // Names have another meaning when a day appears.
    var longestName: Duration { TreeLimits.current }
    func refusal(in tree: Tree) -> Failure? { tree.refusal(of: mode) }
    func audience(in tree: Tree) -> Audience { tree.audience(of: mode) }
    func opens(in tree: Tree) async -> Bool { !tree.catalog.days.stored(of: mode).isEmpty }

    func changing(with tree: Tree) -> [any TreeDirectory] {
        guard let newest = tree.rememberedNewest(of: mode), newest.isCurrent else { return [] }
        return [DayDirectory(mode, newest.day)]
    }
}
