import Catalog
package import Fuse
import Rankings
import Synchronization
import Thumbnails

extension RankFileSystem {
    package func attributes(_ request: InodeRequest, reply: AttributesReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        if let shown = known(node, number: request.inode) {
            watchAnnouncement(shown, request.inode)
            return reply.attributes(shown.attributes, timeout: shown.attributesTimeout)
        }
        later(reply, subject: { node.path }) { () async throws(Failure) in
            let shown = try await self.shown(node, number: request.inode)
            self.watchAnnouncement(shown, request.inode)
            reply.attributes(shown.attributes, timeout: shown.attributesTimeout)
        }
    }
}

/// Attributes as the kernel is told them, and for how long it may keep the name and them.
struct Shown: Sendable {
    var attributes: Attributes
    var entryTimeout: Duration
    var attributesTimeout: Duration
    /// The picture whose size is only announced by a download under way; the kernel keeps nothing of it.
    var announced: PictureID?
}

// MARK: - What stat shows

extension RankFileSystem {
    /// How long the kernel may keep a name and its attributes.
    func lifetime(of node: Node) -> (entry: Duration, attributes: Duration) {
        switch node {
        case .root, .rankings, .users, .works, .searches, .recent, .helpers: (TreeLimits.frozen, TreeLimits.current)
        // Signing out takes them away at once.
        case .mode(let mode): (longest(of: mode), TreeLimits.current)
        case .dates(let directory): (directory.mode.map(longest) ?? TreeLimits.frozen, TreeLimits.current)
        case .link(.dated(let mode, _)): (longest(of: mode), TreeLimits.frozen)
        case .following, .bookmarks, .link(.bookmarks), .link(.followed): (.zero, TreeLimits.current)
        case .link(.random), .link(.recent): (.zero, .zero)
        case .link(.named): (TreeLimits.current, TreeLimits.current)
        case .latest: (TreeLimits.frozen, TreeLimits.current)
        case .day(let mode, let day):
            catalog.listings.loaded(.ranking(mode, day))?.isFrozen == true
                ? (TreeLimits.frozen, TreeLimits.frozen) : (TreeLimits.changing, TreeLimits.changing)
        case .author, .work:
            // Opening one that nobody asked about tells whether there is such a number.
            isStored(node) ? (TreeLimits.changing, TreeLimits.changing) : (.zero, .zero)
        case .search, .made: (TreeLimits.changing, TreeLimits.changing)
        case .helper(let file) where file.isLive: (TreeLimits.frozen, .zero)
        case .picture(let listing, _):
            // Its link count changes when the next day appears.
            (TreeLimits.frozen, isInLatest(listing.key) ? TreeLimits.current : TreeLimits.frozen)
        case .helper, .sharedThumbnails, .sharedThumbnail: (TreeLimits.frozen, TreeLimits.frozen)
        }
    }

    /// How long the kernel may keep a name that is there while a ranking is shown.
    private func longest(of mode: RankingMode) -> Duration {
        source.description.needsSignIn(mode) ? .zero : TreeLimits.frozen
    }

    /// Whether the listing that a directory shows was asked for.
    func isStored(_ node: Node) -> Bool {
        node.listingKey.map(catalog.listings.isStored) ?? false
    }

    /// What to show if it is known without asking anybody; nil for a picture whose size is not.
    func known(_ node: Node, number: UInt64) -> Shown? {
        var announced: PictureID?
        let attributes: Attributes?
        if case .picture(let listing, let index) = node {
            attributes = knownSize(listing, Int(index)).map { size in
                if size.isAnnounced { announced = listing.entries[Int(index)].picture }
                return self.attributes(number, listing, Int(index), size: size.bytes)
            }
        } else {
            attributes = knownAttributes(of: node, number: number)
        }
        guard let attributes = attributes.map({ narrowed($0, of: node) }) else { return nil }
        let lifetime = announced == nil ? lifetime(of: node) : (.zero, .zero)
        return Shown(
            attributes: attributes, entryTimeout: lifetime.entry, attributesTimeout: lifetime.attributes,
            announced: announced)
    }

    /// What to show, asked for if need be.
    func shown(_ node: Node, number: UInt64) async throws(Failure) -> Shown {
        if let shown = known(node, number: number) { return shown }
        let attributes = try await attributes(of: node, number: number)
        if let shown = known(node, number: number) { return shown }
        let lifetime = lifetime(of: node)
        return Shown(
            attributes: attributes, entryTimeout: lifetime.entry, attributesTimeout: lifetime.attributes)
    }

    /// The attributes of anything but a picture if they are known without asking anybody.
    private func knownAttributes(of node: Node, number: UInt64) -> Attributes? {
        switch node {
        case .root, .rankings, .users, .helpers, .mode, .works, .searches, .following:
            attributes(number, .directory, modified: newestPublication)
        case .dates(let directory): attributes(number, .directory, modified: modified(of: directory))
        case .recent:
            attributes(
                number, .directory, modified: catalog.recents.pictures.first?.opened ?? newestPublication)
        case .link(let link):
            knownLength(of: link).map {
                attributes(number, .link, size: Int64($0), modified: modified(of: link))
            }
        case .made, .picture: nil
        case .work, .search, .bookmarks:
            attributes(
                number, .directory,
                modified: node.listingKey.flatMap(catalog.listings.loaded)?.modified ?? newestPublication)
        case .day(let mode, let day):
            attributes(number, .directory, modified: publication(of: day, in: mode))
        case .latest(let mode):
            attributes(
                number, .directory,
                modified: publication(
                    of: rememberedNewest(of: mode)?.day ?? catalog.days.newestPossible(of: mode), in: mode))
        case .author(let author, let modified):
            attributes(
                number, .directory,
                modified: catalog.listings.loaded(.author(author))?.modified ?? modified ?? newestPublication)
        case .sharedThumbnails: attributes(number, .directory, modified: newestPublication)
        case .sharedThumbnail(let file):
            attributes(number, .file, size: Int64(file.length), modified: file.thumbnail.modified)
        case .helper(let file):
            attributes(number, .file, size: Int64(length(of: file)), modified: newestPublication)
        }
    }

    /// The attributes of what has to be asked for.
    private func attributes(of node: Node, number: UInt64) async throws(Failure) -> Attributes {
        if case .made(let file) = node {
            let (size, modified) = try await sizeAndTime(of: file)
            return attributes(number, .file, size: size, modified: modified)
        }
        if case .link(.random) = node {
            let length = await randomTarget(for: nil).utf8.count
            return attributes(number, .link, size: Int64(length), modified: newestPublication)
        }
        guard case .picture(let listing, let index) = node else { throw .forgottenInode }
        let size = try await size(listing, Int(index)).bytes
        return narrowed(attributes(number, listing, Int(index), size: size), of: node)
    }

    /// When a day's ranking appears, in Unix seconds.
    ///
    /// Stable, so that backups see an unchanged directory.
    func publication(of day: Day, in mode: RankingMode) -> Int64 {
        source.description.days(of: mode).published(day)
    }

    private func modified(of link: Link) -> Int64 {
        switch link {
        case .recent(let picture): current(picture).opened
        case .dated(let mode, let day): publication(of: day, in: mode)
        default: newestPublication
        }
    }

    /// When the newest day of all appeared.
    var newestPublication: Int64 {
        let days = source.description.days
        return days.published(days.newest(at: configuration.now()))
    }

    /// The attributes of a picture.
    private func attributes(_ number: UInt64, _ listing: Listing, _ index: Int, size: Int64) -> Attributes {
        var attributes = attributes(
            number, .file, size: size, modified: listing.entries[index].picture.uploaded)
        if isInLatest(listing.key) { attributes.links = 2 }
        return attributes
    }

    private func attributes(
        _ number: UInt64, _ kind: Attributes.Kind, size: Int64 = 0, modified: Int64
    ) -> Attributes {
        let (permissions, links): (UInt32, UInt32) =
            switch kind {
            case .directory: (0o555 & ~configuration.mask, 2)
            case .file: (0o444 & ~configuration.mask, 1)
            case .link: (0o777, 1)
            }
        return Attributes(
            inode: number, kind: kind, permissions: permissions, size: size, modified: modified, links: links,
            user: configuration.user, group: configuration.group)
    }
}

// MARK: - Helper files

extension RankFileSystem {
    /// The bytes of a helper file, made now.
    func text(of file: HelperFile, toOwner: Bool) -> [UInt8] {
        switch file {
        case .status, .metrics:
            let text = file == .status ? configuration.status(toOwner) : configuration.metrics()
            liveLengths.withLock { $0[file] = text.count }
            return text
        case .version: return Array(configuration.version.utf8)
        case .cacheTag: return Array(HelperFile.cacheTagText.utf8)
        case .trackerIgnore: return []
        case .volumeInfo: return Array(HelperFile.volumeInfoText(name: configuration.volumeName).utf8)
        case .standIn: return StandIn.jpeg
        }
    }

    /// The size that `stat` shows: of the last rendering for what changes with each reader.
    private func length(of file: HelperFile) -> Int {
        if let length = liveLengths.withLock({ $0[file] }) { return length }
        return text(of: file, toOwner: true).count
    }
}
