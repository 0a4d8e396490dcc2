import Catalog
import Dispatch
package import Fuse
import Glibc
import ImageCache
import Rankings
import System

extension RankFileSystem {
    package func ioctl(_ request: IoctlRequest, reply: IoctlReply) {
        let isNamed = request.input.count == MemoryLayout<UInt64>.size
        let inode = isNamed ? request.input.reversed().reduce(0) { $0 << 8 | UInt64($1) } : request.inode
        guard let node = node(inode, or: reply) else { return }
        if let failure = node.refusal(in: tree) { return refuse(reply, failure, subject: node.path.text) }
        // ENOTTY, as for any other ioctl: programs probe files with the ioctls of terminals.
        guard let command = MountCommand(rawValue: isNamed ? request.command ^ MountCommand.onInode : request.command),
            command.isMeant(for: node)
        else {
            return reply.fail(Failure.noSuchCommand.errno)
        }
        guard tree.isOwner(request.caller) else { return refuse(reply, .commandIsOwners, subject: node.path.text) }
        // The handle of a picture by which the command came: open for this alone.
        let own: PictureHandle? =
            if !isNamed, case .picture(let handle) = handles[request.handle] { handle } else { nil }
        later(reply, subject: { node.path.text }) { () async throws(Failure) in
            let count =
                switch command {
                case .pin:
                    try await self.setPinned(true, self.pictures(of: node, known: self.configuration.isOffline)).count
                case .lacking: await self.tree.cache.lacking(try await self.pictures(of: node))
                // Of the root all: what is pinned may be of no listing any more, or of other options.
                case .unpin:
                    try await self.setPinned(
                        false, node.isRoot ? self.tree.cache.pinned : self.knownPictures(of: node)
                    ).changed
                case .evict:
                    self.evict(await self.knownPictures(of: node), by: own, of: inode)
                case .refresh: try await self.refresh(node)
                case .forget: await self.forget(node)
                case .unshare: try await self.unshare(node, by: own, of: inode)
                }
            reply.result(Int32(clamping: count), output: [])
        }
    }

    // MARK: - Pictures

    /// Returns the pictures of a path: the picture itself, or all pictures of a listing, or those that are known of it.
    private func pictures(of node: Node, known: Bool = false) async throws(Failure) -> [PictureID] {
        if case .picture(let listing, let index) = node { return [listing.entries[Int(index)].picture] }
        guard let listing = try await pictureListing(of: node)?.currentListing(in: tree) else { throw .absent }
        let entries = known ? listing.entries : try await listing.entries(reaching: .max)
        return entries.filter { !$0.isWithheld && !$0.isHidden }.map(\.picture)
    }

    /// Returns what can be stored of a path, as far as it is known without a request: pictures, and the animations made of them.
    private func knownPictures(of node: Node) async -> [PictureID] {
        switch node {
        case .picture(let listing, let index): return [listing.entries[Int(index)].picture]
        case .file(let file):
            guard let (work, rendition) = file.encoded, let listing = await tree.catalog.listings.stored(.work(work)),
                let picture = AnimationFiles.picture(rendition, in: listing)
            else { return [] }
            return [picture]
        case .link: return []
        case .directory(let directory):
            var pictures: [PictureID] = []
            for key in knownListings(of: directory) where key.kind.showsPictures {
                guard let listing = await tree.catalog.listings.stored(key) else { continue }
                pictures += listing.entries.map(\.picture)
                pictures += AnimationFiles.encoded.compactMap { AnimationFiles.picture($0, in: listing) }
            }
            return pictures
        }
    }

    /// Pins or unpins pictures; returns once a kill of the mount cannot undo that.
    private func setPinned(
        _ isPinned: Bool, _ pictures: [PictureID]
    ) async throws(Failure) -> (count: Int, changed: Int) {
        do throws(SystemError) {
            return (pictures.count, try await tree.cache.setPinned(isPinned, pictures))
        } catch {
            throw .declined(
                [ENOSPC, EDQUOT, EROFS].contains(error.code) ? error.code : EIO,
                "the disk does not keep what is pinned (\(error.text)); make room on the disk of the cache directory")
        }
    }

    /// Drops what is stored of pictures, with the kernel's pages of those that no handle but the command's own reads through.
    private func evict(_ pictures: [PictureID], by own: PictureHandle?, of inode: UInt64) -> Int {
        // Before: an open in between finds what is stored, which then stays.
        pages.drop(Set(pictures), by: own?.isDirect == false ? inode : nil)
        return pictures.count { tree.cache.evict($0, openers: own == nil ? 0 : 1) }
    }

    // MARK: - Listings

    private func refresh(_ node: Node) async throws(Failure) -> Int {
        guard case .directory(let directory) = node else { return 0 }
        try await directory.refresh(in: tree)
        await invalidate([directory])
        return 1
    }

    private func forget(_ node: Node) async -> Int {
        guard case .directory(let directory) = node else { return 0 }
        // What stands in the directory of an author is the author's, too.
        let known = knownListings(of: directory) + knownListings(below: directory)
        let forgotten = known.filter(tree.catalog.listings.forget)
        await invalidate(forgotten.map { $0.directory() } + [directory])
        return forgotten.count
    }

    /// The listing of pictures that a directory shows, or all known listings at its path and below it; makes no request.
    private func knownListings(of directory: any TreeDirectory) -> [ListingKey] {
        if let listing = pictureListing(of: .directory(directory)) {
            return listing.rememberedKey(in: tree).map { [$0] } ?? []
        }
        return knownListings(below: directory)
    }

    private func knownListings(below directory: any TreeDirectory) -> [ListingKey] {
        let beginning = directory.path == .root ? "" : "\(directory.path.text)/"
        return tree.catalog.listings.keys.filter { "\($0.path.text)/".rest(after: beginning) != nil }
    }

    /// Removes from the shared tier what it holds of a path, and drops what is stored of it here; returns the objects removed.
    private func unshare(_ node: Node, by own: PictureHandle?, of inode: UInt64) async throws(Failure) -> Int {
        guard let tier = configuration.sharedTier else { throw .noSuchCommand }
        if case .picture = node {
            let pictures = try await pictures(of: node)
            let removed = try await tier.forgetPictures(pictures)
            _ = evict(pictures, by: own, of: inode)
            return removed
        }
        guard let key = try await pictureListing(of: node)?.currentKey(in: tree) else { return 0 }
        let removed = try await tier.forgetListing(key)
        _ = try await refresh(node)
        if let listing = await tree.catalog.listings.stored(key) { await tree.catalog.sizes.offer(of: listing) }
        return removed
    }

    /// The node as a directory of pictures; nil if it is none.
    private func pictureListing(of node: Node) -> (any ListingDirectory)? {
        node.directory?.listing.flatMap { $0.showsPictures ? $0 : nil }
    }

    /// Makes the kernel drop directories, also under their other names, and the names in them that stand for other pictures by now.
    func invalidate(_ directories: [any TreeDirectory]) async {
        let dropped = directories.flatMap { [$0] + $0.changing(with: tree) }.map { directory in
            (inode: inodes.number(of: .directory(directory)), key: directory.listing?.rememberedKey(in: tree))
        }
        for (inode, _) in dropped { configuration.invalidate(inode) }
        let names = inodes.changedNames(of: Set(dropped.compactMap(\.key)), now: tree.catalog.listings.loaded)
        guard !names.isEmpty else { return }
        // The kernel waits for the requests under way in the directory, whose answers need a task's thread.
        await withCheckedContinuation { done in
            DispatchQueue.global().async { [configuration] in
                for (inode, key) in dropped {
                    for name in key.flatMap({ names[$0] }) ?? [] { configuration.invalidateName(name, inode) }
                }
                done.resume()
            }
        }
    }
}

extension MountCommand {
    /// Whether a command applies to a node; a walk that gives commands continues below the others.
    ///
    /// What drops something applies to every directory but `recent/`, whose pictures are in other ones.
    fileprivate func isMeant(for node: Node) -> Bool {
        switch (self, node) {
        case (.refresh, .directory(let directory)): directory.isRefreshable
        case (.unpin, .directory(let directory)), (.evict, .directory(let directory)),
            (.forget, .directory(let directory)):
            directory.path != .recent
        case (_, .directory(let directory)): directory.listing?.showsPictures == true
        case (.evict, .file(let file)): file.encoded != nil
        case (.pin, .picture), (.unpin, .picture), (.evict, .picture), (.unshare, .picture), (.lacking, .picture): true
        case (_, .picture), (_, .file), (_, .link): false
        }
    }
}

// MARK: - Mount command

/// The commands for a path in a mount, given by ioctl(2), which a read-only mount allows.
///
/// The numbers are `_IO('R', n)` of ioctl(2), for the opened path. As `_IOW('R', n, uint64_t)` they have the number of an inode as
/// their argument: to open a directory would request its listing. The answer is the number of pictures or listings concerned.
package enum MountCommand: UInt32, Sendable, CaseIterable {
    /// Pins pictures, which keeps them once they are stored.
    case pin = 0x5201
    /// Unpins pictures, which lets them go when room is needed.
    case unpin = 0x5202
    /// Evicts stored pictures.
    case evict = 0x5203
    /// Requests a listing from the service again.
    case refresh = 0x5204
    /// Drops listings, as if they had never been requested.
    case forget = 0x5205
    /// Removes from the shared tier what it holds of a picture or of a listing, and requests it from the service again.
    case unshare = 0x5206
    /// Counts the pictures that are not stored.
    case lacking = 0x5207

    /// The difference between `_IO('R', n)` and `_IOW('R', n, uint64_t)`.
    package static let onInode: UInt32 = 0x4008_0000
}
