import Catalog
import Fuse
import Rankings
import Synchronization

/// `by-date/<mode>/<year>/<month>/`: a link to each published day, all from memory.
extension RankFileSystem {
    func names(in directory: DateFolder) -> [(name: String, node: Node)] {
        switch directory {
        case .all: listedModes.map { ($0.rawValue, .dates(.mode($0))) }
        case .mode(let mode): published(mode).years.map { .year(mode, $0) }.map(Self.named)
        case .year(let mode, let year): published(mode).months(of: year).map { .month(mode, year, $0) }.map(Self.named)
        case .month(let mode, let year, let month):
            published(mode).days(of: year, month).map { ($0.description, .link(.dated(mode, $0))) }
        }
    }

    private static func named(_ folder: DateFolder) -> (name: String, node: Node) {
        (folder.name, .dates(folder))
    }

    func find(_ name: [UInt8], in directory: DateFolder) -> LookupResult {
        switch directory {
        case .all:
            let finding = findMode(name)
            if case .node(.mode(let mode)) = finding { return .node(.dates(.mode(mode))) }
            return finding
        case .mode(let mode):
            guard case .year(_, let year) = EntryName.ascii(name).flatMap(directory.folder) else {
                return .absent(TreeLimits.frozen)
            }
            return published(mode).years.contains(year)
                ? .node(.dates(.year(mode, year))) : .absent(TreeLimits.unpublished)
        case .year(let mode, let year):
            guard case .month(_, _, let month) = EntryName.ascii(name).flatMap(directory.folder) else {
                return .absent(TreeLimits.frozen)
            }
            return published(mode).newest(of: year, month) != nil
                ? .node(.dates(.month(mode, year, month))) : .absent(TreeLimits.unpublished)
        case .month(let mode, _, _):
            guard let day = EntryName.ascii(name).flatMap(directory.day) else { return .absent(TreeLimits.frozen) }
            let published = published(mode)
            return published.contains(day)
                ? .node(.link(.dated(mode, day))) : .absent(TreeLimits.unpublished)
        }
    }

    /// When the newest day of a directory appeared: stable for what is past, in Unix seconds.
    func modified(of directory: DateFolder) -> Int64 {
        let day: Day? =
            switch directory {
            case .all: nil
            case .mode(let mode): catalog.days.newestPossible(of: mode)
            case .year(let mode, let year):
                published(mode).months(of: year).last.flatMap { published(mode).newest(of: year, $0) }
            case .month(let mode, let year, let month): published(mode).newest(of: year, month)
            }
        guard let day, let mode = directory.mode else { return newestPublication }
        return publication(of: day, in: mode)
    }

    /// Whether something in a directory opens without a request.
    func opens(_ directory: DateFolder) -> Bool {
        let days = directory.mode.map(catalog.days.stored) ?? []
        return switch directory {
        case .all: true
        case .mode: !days.isEmpty
        case .year(_, let year): days.contains { $0.civil.year == year }
        case .month(let mode, _, _): days.contains { DateFolder(of: mode, $0) == directory }
        }
    }

    /// What has a number in these directories.
    func node(numbered number: UInt64, below directory: DateFolder = .all) -> Node? {
        let node = Node.dates(directory)
        if inodes.number(of: node) == number { return node }
        // The directory and the width of the order count, not the day.
        if case .month = directory,
            !InodeNumber.mayBe(number, in: TreePath.dates(directory).text, order: .day(Day(ordinal: 0)))
        {
            return nil
        }
        for (_, node) in names(in: directory) {
            if case .dates(let below) = node {
                if let found = self.node(numbered: number, below: below) { return found }
            } else if inodes.number(of: node) == number {
                return node
            }
        }
        return nil
    }

    private func published(_ mode: RankingMode) -> PublishedDays {
        catalog.days.calendar(of: mode).published(to: catalog.days.newestPossible(of: mode))
    }
}

// MARK: - Who comes that way

extension RankFileSystem {
    /// Somebody reads the link to a day.
    func noteWay(to mode: RankingMode, _ day: Day) {
        datedWays.withLock { $0.note(mode, day, now: moment) }
    }

    /// The path behind `by-date/` under which somebody knows the pictures of a listing now; nil if nobody does.
    func datedPath(of key: ListingKey) -> String? {
        guard case .ranking(let mode, let day) = key, datedWays.withLock({ $0.holds(mode, day, now: moment) }) else {
            return nil
        }
        return Link.dated(mode, day).path
    }

    /// The paths under which a program sees the directory of a node now: a day may be seen in `by-date/` too.
    func sight(of node: Node) -> [String] {
        [node.path] + [node.listingKey.flatMap(datedPath)].compactMap(\.self)
    }

    /// What the seeder calls the thumbnails in some directories: another way to a listing is other work.
    static func seeding(in directories: [String]) -> String {
        directories.joined(separator: " ")
    }

    /// The path of the directory in which a program sees a node: that of a day may be a month of `by-date/`.
    func shownParentPath(of node: Node, to program: CallingProgram) -> String? {
        guard case .day(let mode, let day) = node, datedPath(of: .ranking(mode, day)) != nil else {
            return node.parentPath
        }
        let month = TreePath.dates(DateFolder(of: mode, day)).text
        return looks.withLock { $0.isShown(month, to: program, now: moment) } ? month : node.parentPath
    }
}
