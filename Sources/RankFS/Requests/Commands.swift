import Catalog
package import Fuse
import ImageCache
import Rankings

extension RankFileSystem {
    package func ioctl(_ request: IoctlRequest, reply: IoctlReply) {
        guard let node = node(request.inode, or: reply) else { return }
        if let failure = node.refusal(in: tree) { return refuse(reply, failure, subject: node.path.text) }
        // ENOTTY, as for any other ioctl: programs probe files with the ioctls of terminals.
        guard let command = MountCommand(rawValue: request.command), command.isMeant(for: node) else {
            return reply.fail(Failure.noSuchCommand.errno)
        }
        guard tree.isOwner(request.caller) else { return refuse(reply, .commandIsOwners, subject: node.path.text) }
        later(reply, subject: { node.path.text }) { () async throws(Failure) in
            let count =
                switch command {
                case .pin, .unpin, .evict:
                    self.perform(command, on: try await self.pictures(of: node), openers: node.kind == .file ? 1 : 0)
                case .refresh: try await self.refresh(node, inode: request.inode)
                case .forget: try await self.forget(node, inode: request.inode)
                case .unshare: try await self.unshare(node, inode: request.inode)
                }
            reply.result(Int32(clamping: count), output: [])
        }
    }

    // MARK: - Pictures

    /// Returns the pictures of a path: the picture itself, or all pictures of a listing.
    private func pictures(of node: Node) async throws(Failure) -> [PictureID] {
        if case .picture(let listing, let index) = node { return [listing.entries[Int(index)].picture] }
        guard let listing = try await pictureListing(of: node)?.currentListing(in: tree) else { throw .absent }
        return try await listing.entries(reaching: .max).filter { !$0.isWithheld && !$0.isHidden }.map(\.picture)
    }

    private func perform(_ command: MountCommand, on pictures: [PictureID], openers: Int) -> Int {
        switch command {
        case .pin: pictures.forEach { tree.cache.setPinned(true, $0) }
        case .unpin: pictures.forEach { tree.cache.setPinned(false, $0) }
        case .evict: return pictures.reduce(0) { tree.cache.evict($1, openers: openers) ? $0 + 1 : $0 }
        case .refresh, .forget, .unshare: break
        }
        return pictures.count
    }

    // MARK: - Listings

    private func refresh(_ node: Node, inode: UInt64) async throws(Failure) -> Int {
        guard case .directory(let directory) = node else { return 0 }
        try await directory.refresh(in: tree)
        invalidate(directory, inode: inode)
        return 1
    }

    private func forget(_ node: Node, inode: UInt64) async throws(Failure) -> Int {
        guard let directory = pictureListing(of: node), let key = try await directory.currentKey(in: tree) else {
            return 0
        }
        let isKnown = tree.catalog.listings.forget(key)
        invalidate(directory, inode: inode)
        return isKnown ? 1 : 0
    }

    /// Removes from the shared tier what it holds of a path, and drops what is stored of it here; returns the objects removed.
    private func unshare(_ node: Node, inode: UInt64) async throws(Failure) -> Int {
        guard let tier = configuration.sharedTier else { throw .noSuchCommand }
        if case .picture = node {
            let pictures = try await pictures(of: node)
            let removed = try await tier.forgetPictures(pictures)
            _ = perform(.evict, on: pictures, openers: 1)
            return removed
        }
        guard let key = try await pictureListing(of: node)?.currentKey(in: tree) else { return 0 }
        let removed = try await tier.forgetListing(key)
        _ = try await refresh(node, inode: inode)
        return removed
    }

    /// The node as a directory of pictures; nil if it is none.
    private func pictureListing(of node: Node) -> (any ListingDirectory)? {
        guard case .directory(let directory) = node, let listing = directory.listing, listing.showsPictures else {
            return nil
        }
        return listing
    }

    /// Makes the kernel drop a directory, also under its other name.
    private func invalidate(_ directory: any TreeDirectory, inode: UInt64) {
        configuration.invalidate(inode)
        for other in directory.changing(with: tree) { configuration.invalidate(inodes.number(of: .directory(other))) }
    }
}

extension MountCommand {
    /// Whether a command applies to a node; a walk that gives commands continues below the others.
    fileprivate func isMeant(for node: Node) -> Bool {
        switch (self, node) {
        case (.refresh, .directory(let directory)): directory.isRefreshable
        case (_, .directory(let directory)): directory.listing?.showsPictures == true
        case (.pin, .picture), (.unpin, .picture), (.evict, .picture), (.unshare, .picture): true
        case (_, .picture), (_, .file), (_, .link): false
        }
    }
}

// MARK: - Mount command

/// The commands for a path in a mount, given by ioctl(2), which a read-only mount allows; they take no argument.
///
/// The numbers are `_IO('R', n)` of ioctl(2). The answer is the number of pictures or listings concerned.
package enum MountCommand: UInt32, Sendable, CaseIterable {
    /// Pins pictures, which keeps them once they are stored.
    case pin = 0x5201
    /// Unpins pictures, which lets them go when room is needed.
    case unpin = 0x5202
    /// Evicts stored pictures.
    case evict = 0x5203
    /// Requests a listing from the service again.
    case refresh = 0x5204
    /// Drops a listing, as if it had never been requested.
    case forget = 0x5205
    /// Removes from the shared tier what it holds of a picture or of a listing, and requests it from the service again.
    case unshare = 0x5206
}
