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
        if let node = inodes.node(request.parent) { return .node(wantsParent ? node.parent : node) }
        return .unknown { () async throws(Failure) in
            guard let node = await self.node(numbered: request.parent) else { return .absent(.zero) }
            if let failure = self.refusal(of: node, to: request.caller) { throw failure }
            return .node(wantsParent ? node.parent : node)
        }
    }

    /// The node that has a number, as far as the mount lists it without asking the service.
    private func node(numbered number: UInt64) async -> Node? {
        if let found = fixedNode(numbered: number) { return found }
        if let seen = await seenNodes().first(where: { inodes.number(of: $0) == number }) { return seen }
        let keys = catalog.listings.keys.sorted { $0.path.text > $1.path.text }
        let loaded = keys.filter { catalog.listings.loaded($0) != nil }
        let others = keys.filter { catalog.listings.loaded($0) == nil }
        for key in loaded + others.prefix(TreeLimits.listingsSearched) {
            guard let listing = await catalog.listings.stored(key) else { continue }
            if let found = node(numbered: number, in: listing) { return found }
        }
        return node(numbered: number, below: .all)
    }

    /// Searches the directories that are listed without a listing; those of dates are many, and come last.
    private func fixedNode(numbered number: UInt64) -> Node? {
        var open: [Node] = [.root, .helpers]
        while let directory = open.popLast() {
            if inodes.number(of: directory) == number { return directory }
            for (_, node) in names(in: directory) ?? [] {
                if case .dates = node { continue }
                if node.kind == .directory {
                    open.append(node)
                } else if inodes.number(of: node) == number {
                    return node
                }
            }
        }
        // What was chosen lately.
        return random.withLock(\.targets).map { Node.link(.random(to: $0)) }.first { inodes.number(of: $0) == number }
    }

    private func node(numbered number: UInt64, in listing: Listing) -> Node? {
        let directory = Node.directory(of: listing)
        if inodes.number(of: directory) == number { return directory }
        if let extra = extras(of: listing).first(where: { inodes.number(of: $0.node) == number }) { return extra.node }
        for index in 0..<listing.count {
            let picture = Node.picture(listing, Int32(index))
            if inodes.number(of: picture) == number { return picture }
        }
        return nil
    }
}
