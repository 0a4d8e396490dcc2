import Catalog
package import Fuse
import Rankings
import Synchronization

extension RankFileSystem {
    package func attributes(_ request: InodeRequest, reply: AttributesReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        let timeout = lifetime(of: node).attributes
        if let attributes = knownAttributes(of: node, number: request.inode) {
            return reply.attributes(attributes, timeout: timeout)
        }
        later(reply, subject: { node.path }) { () async throws(Failure) in
            reply.attributes(try await self.attributes(of: node, number: request.inode), timeout: timeout)
        }
    }

    package func readLink(_ request: InodeRequest, reply: LinkReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        guard case .latest(let mode) = node else { return refuse(reply, .notALink, subject: node.path) }
        // No day is newer than the calendar's newest, so once that one was told nothing changes before the next noon.
        let newest = Day.newestPublished(atUnixSeconds: configuration.now())
        if newestDays.withLock({ $0[mode] }) == newest { return reply.target(newest.description) }
        later(reply, subject: { node.path }) { () async throws(Failure) in
            let day: Day
            do throws(CatalogError) { day = try await self.catalog.newestDay(of: mode) } catch {
                throw .catalog(error)
            }
            self.newestDays.withLock { $0[mode] = day }
            reply.target(day.description)
        }
    }
}

// MARK: - What stat shows

extension RankFileSystem {
    /// How long the kernel may keep a name and its attributes.
    func lifetime(of node: Node) -> (entry: Duration, attributes: Duration) {
        switch node {
        case .root, .rankings, .users, .helpers: (Limits.frozen, Limits.current)
        case .mode: (Limits.frozen, Limits.current)
        case .latest: (Limits.current, Limits.current)
        case .day(let mode, let day):
            catalog.loadedListing(.ranking(mode, day))?.isFrozen == true
                ? (Limits.frozen, Limits.frozen) : (Limits.changing, Limits.changing)
        case .author: (Limits.changing, Limits.changing)
        case .helper(.status): (Limits.frozen, .zero)
        case .helper, .picture: (Limits.frozen, Limits.frozen)
        }
    }

    /// The attributes if they are known without asking anybody; nil for a picture whose size is not.
    func knownAttributes(of node: Node, number: UInt64) -> Attributes? {
        switch node {
        case .root, .rankings, .users, .helpers, .mode:
            attributes(number, .directory, modified: newestPublication)
        case .latest:
            attributes(number, .link, size: Int64("2024-05-01".utf8.count), modified: newestPublication)
        case .day(_, let day):
            attributes(number, .directory, modified: Self.publication(of: day))
        case .author(let author, let modified):
            attributes(
                number, .directory,
                modified: catalog.loadedListing(.author(author))?.modified ?? modified ?? newestPublication)
        case .helper(let file):
            attributes(number, .file, size: Int64(length(of: file)), modified: newestPublication)
        case .picture(let listing, let index):
            knownSize(listing, Int(index)).map {
                attributes(
                    number, .file, size: $0, modified: listing.entries[Int(index)].picture.uploaded)
            }
        }
    }

    /// The attributes, with the size asked for if need be.
    func attributes(of node: Node, number: UInt64) async throws(Failure) -> Attributes {
        if let attributes = knownAttributes(of: node, number: number) { return attributes }
        guard case .picture(let listing, let index) = node else { throw .forgottenInode }
        let size = try await size(listing, Int(index))
        return attributes(
            number, .file, size: size, modified: listing.entries[Int(index)].picture.uploaded)
    }

    /// When a day's ranking appears: noon in Japan on the day after.
    ///
    /// Stable, so that backups see an unchanged directory.
    static func publication(of day: Day) -> Int64 {
        Int64(day.ordinal + 1) * 86_400 + Limits.publicationHour
    }

    private var newestPublication: Int64 {
        Self.publication(of: Day.newestPublished(atUnixSeconds: configuration.now()))
    }

    private func attributes(
        _ number: UInt64, _ kind: Attributes.Kind, size: Int64 = 0, modified: Int64
    ) -> Attributes {
        let (permissions, links): (UInt32, UInt32) =
            switch kind {
            case .directory: (0o555, 2)
            case .file: (0o444, 1)
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
    func text(of file: HelperFile) -> [UInt8] {
        switch file {
        case .status:
            let text = configuration.status()
            statusLength.withLock { $0 = text.count }
            return text
        case .version: return Array(configuration.version.utf8)
        case .cacheTag: return Array(HelperFile.cacheTagText.utf8)
        case .trackerIgnore: return []
        }
    }

    /// The size that `stat` shows: of the last rendering for what changes with each reader.
    private func length(of file: HelperFile) -> Int {
        if file == .status, let length = statusLength.withLock({ $0 }) { return length }
        return text(of: file).count
    }
}
