import Catalog
package import Fuse
import ImageCache
import Rankings
import Synchronization

extension RankFileSystem {
    package func ioctl(_ request: IoctlRequest, reply: IoctlReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        if let failure = refusal(of: node) { return refuse(reply, failure, subject: node.path) }
        // ENOTTY, as for any other ioctl: programs probe files with those of terminals.
        guard let command = MountCommand(rawValue: request.command), command.isMeant(for: node) else {
            return reply.fail(Failure.noSuchCommand.errno)
        }
        guard isOwner(request.caller) else { return refuse(reply, .commandIsOwners, subject: node.path) }
        later(reply, subject: { node.path }) { () async throws(Failure) in
            let count =
                switch command {
                case .pin, .unpin, .evict:
                    self.perform(command, on: try await self.pictures(of: node), openers: node.kind == .file ? 1 : 0)
                case .refresh: try await self.refresh(node, inode: request.inode)
                case .forget: try await self.forget(node, inode: request.inode)
                }
            reply.result(Int32(clamping: count), output: [])
        }
    }

    // MARK: - Pictures

    /// The pictures that a path stands for: itself, or all of a listing.
    private func pictures(of node: Node) async throws(Failure) -> [PictureID] {
        if case .picture(let listing, let index) = node { return [listing.entries[Int(index)].picture] }
        guard let key = try await listingKey(of: node), let listing = try await listing(key) else { throw .noSuchName }
        do throws(CatalogError) {
            return try await listing.entries(reaching: .max).filter { !$0.isWithheld && !$0.isHidden }.map(\.picture)
        } catch { throw .catalog(error) }
    }

    private func perform(_ command: MountCommand, on pictures: [PictureID], openers: Int) -> Int {
        switch command {
        case .pin: pictures.forEach { cache.setPinned(true, $0) }
        case .unpin: pictures.forEach { cache.setPinned(false, $0) }
        case .evict: return pictures.reduce(0) { cache.evict($1, openers: openers) ? $0 + 1 : $0 }
        case .refresh, .forget: break
        }
        return pictures.count
    }

    // MARK: - Listings

    private func refresh(_ node: Node, inode: UInt64) async throws(Failure) -> Int {
        let key = try await listingKey(of: node)
        do throws(CatalogError) {
            if case .mode(let mode) = node {
                _ = try await catalog.days.refreshNewest(of: mode)
            } else if let key {
                try await catalog.listings.refresh(key)
            }
        } catch { throw .catalog(error) }
        invalidate(node, inode: inode, key)
        return 1
    }

    private func forget(_ node: Node, inode: UInt64) async throws(Failure) -> Int {
        guard let key = try await listingKey(of: node) else { return 0 }
        let isKnown = catalog.listings.forget(key)
        invalidate(node, inode: inode, key)
        return isKnown ? 1 : 0
    }

    /// Lets the kernel forget a directory, by its other name too.
    private func invalidate(_ node: Node, inode: UInt64, _ key: ListingKey?) {
        configuration.invalidate(inode)
        switch node {
        case .mode(let mode): configuration.invalidate(inodes.number(of: .latest(mode)))
        case .latest: key.map { configuration.invalidate(inodes.number(of: .directory(of: $0))) }
        default: break
        }
    }
}

extension MountCommand {
    /// Whether a command makes sense for a node; whoever walks a tree goes on below the others.
    fileprivate func isMeant(for node: Node) -> Bool {
        switch self {
        case .pin, .unpin, .evict:
            if case .picture = node { return true }
            return node.pictureDirectory != nil
        case .refresh:
            if case .mode = node { return true }
            return node.pictureDirectory != nil
        case .forget: return node.pictureDirectory != nil
        }
    }
}
