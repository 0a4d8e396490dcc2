import Catalog
import Fuse
import Rankings
import Synchronization

/// Inodes that are asked for by their number alone: servers of NFS keep numbers, not names, and the kernel forgets names.
///
/// The kernel looks up `.` and `..` in such a number if the file system agreed to FUSE_EXPORT_SUPPORT (libfuse's
/// fuse_common.h; Documentation/filesystems/nfs/exporting.rst of Linux). Everything is found in memory or the database.
extension RankFileSystem {
    /// What `.` and `..` of an inode are; nil for other names.
    func findByNumber(_ request: LookupRequest) -> LookupResult? {
        let wantsParent = request.name.elementsEqual("..".utf8)
        guard wantsParent || request.name.elementsEqual(".".utf8) else { return nil }
        if let node = inodes.node(request.parent) { return .node(wantsParent ? .directory(node.parent) : node) }
        return .unknown { () async throws(Failure) in
            guard let node = await self.node(numbered: request.parent) else { return .absent(.zero) }
            if let failure = self.tree.refusal(of: node, to: request.caller) { throw failure }
            return .node(wantsParent ? .directory(node.parent) : node)
        }
    }

    /// The node that has a number, as far as the mount lists it without asking the service.
    private func node(numbered number: UInt64) async -> Node? {
        var (directories, last): ([any TreeDirectory], [any TreeDirectory]) = ([], [])
        if let found = node(numbered: number, below: .root, &directories, searchedLast: &last) { return found }
        for directory in directories where directory.listsSeen && configuration.notesRecent {
            let seen = await directory.withSeen([], in: tree)
            if let found = seen.first(where: { inodes.number(of: $0.node) == number }) { return found.node }
        }
        if let found = await listed(numbered: number) { return found }
        for directory in last {
            var (none, others): ([any TreeDirectory], [any TreeDirectory]) = ([], [])
            if let found = node(numbered: number, below: .directory(directory), &none, searchedLast: &others) {
                return found
            }
        }
        return nil
    }

    /// Searches stored listings: the loaded ones, and some of the others.
    private func listed(numbered number: UInt64) async -> Node? {
        let catalog = tree.catalog
        let keys = catalog.listings.keys.sorted { $0.path.text > $1.path.text }
        let loaded = keys.filter { catalog.listings.loaded($0) != nil }
        let others = keys.filter { catalog.listings.loaded($0) == nil }
        for key in loaded + others.prefix(TreeLimits.listingsSearched) {
            guard let listing = await catalog.listings.stored(key) else { continue }
            if let found = node(numbered: number, in: listing) { return found }
        }
        return nil
    }

    /// Searches a directory and those below it that are listed without a listing.
    ///
    /// - Parameters:
    ///   - number: The number.
    ///   - start: The directory.
    ///   - searched: Told the directories that were searched.
    ///   - last: Told those below it that come last.
    /// - Returns: Nil if none of them holds it.
    private func node(
        numbered number: UInt64, below start: Node, _ searched: inout [any TreeDirectory],
        searchedLast last: inout [any TreeDirectory]
    ) -> Node? {
        // What is searched last has its own kind below it.
        let isLast = if case .directory(let directory) = start { directory.isSearchedLast } else { false }
        var open = isLast ? [start] : [start, .directory(HelpersDirectory())]
        while let node = open.popLast() {
            if inodes.number(of: node) == number { return node }
            guard case .directory(let directory) = node else { continue }
            guard isLast || !directory.isSearchedLast else {
                last.append(directory)
                continue
            }
            searched.append(directory)
            guard directory.mayHold(number) else { continue }
            open += (directory.names(in: tree) ?? []).map(\.node)
        }
        return nil
    }

    private func node(numbered number: UInt64, in listing: Listing) -> Node? {
        let shown = listing.directory
        let directory = Node.directory(shown)
        if inodes.number(of: directory) == number { return directory }
        let extras = shown.extras(of: listing, in: tree)
        if let extra = extras.first(where: { inodes.number(of: $0.node) == number }) { return extra.node }
        for index in 0..<listing.count {
            let picture = Node.picture(listing, Int32(index))
            if inodes.number(of: picture) == number { return picture }
        }
        return nil
    }
}
