import Catalog
package import Fuse
import Rankings

extension RankFileSystem {
    package func attributes(_ request: InodeRequest, reply: AttributesReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        if let shown = known(node, number: request.inode) {
            sizes.watchAnnouncement(shown, request.inode)
            return reply.attributes(shown.attributes, timeout: shown.attributesTimeout)
        }
        later(reply, subject: { node.path.text }) { () async throws(Failure) in
            let shown = try await self.shown(node, number: request.inode)
            self.sizes.watchAnnouncement(shown, request.inode)
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
    /// What to show if it is known without asking anybody; nil for a picture whose size is not.
    func known(_ node: Node, number: UInt64) -> Shown? {
        var announced: PictureID?
        let known: Attributes?
        switch node {
        case .picture(let listing, let index):
            known = sizes.known(listing, Int(index)).map { size in
                if size.isAnnounced { announced = listing.entries[Int(index)].picture }
                return attributes(number, listing, Int(index), size: size.bytes)
            }
        case .directory(let directory):
            known = attributes(number, .directory, modified: directory.modified(in: tree))
        case .file(let file):
            known = file.knownSize(in: tree).map { attributes(number, .file, size: $0.bytes, modified: $0.modified) }
        case .link(let link):
            known = attributes(number, .link, size: Int64(link.target.utf8.count), modified: link.modified(in: tree))
        }
        guard let known else { return nil }
        let lifetime = announced == nil ? node.lifetime(in: tree) : (.zero, .zero)
        return Shown(
            attributes: tree.narrowed(known, of: node), entryTimeout: lifetime.entry,
            attributesTimeout: lifetime.attributes, announced: announced)
    }

    /// What to show, asked for if need be, also by who only glances at the directory that it is in.
    func shown(_ node: Node, number: UInt64, isGlance: Bool = false) async throws(Failure) -> Shown {
        if let shown = known(node, number: number) { return shown }
        let asked: Attributes
        switch node {
        case .picture(let listing, let index):
            let size = try await sizes.asked(listing, Int(index), isGlance: isGlance)
            asked = attributes(number, listing, Int(index), size: size.bytes)
        case .file(let file):
            let size = try await file.size(in: tree)
            asked = attributes(number, .file, size: size.bytes, modified: size.modified)
        case .directory, .link: throw .forgottenInode
        }
        if let shown = known(node, number: number) { return shown }
        let lifetime = node.lifetime(in: tree)
        return Shown(
            attributes: tree.narrowed(asked, of: node), entryTimeout: lifetime.entry,
            attributesTimeout: lifetime.attributes)
    }

    /// The attributes of a picture.
    private func attributes(_ number: UInt64, _ listing: Listing, _ index: Int, size: Int64) -> Attributes {
        var attributes = attributes(
            number, .file, size: size, modified: listing.entries[index].picture.uploaded)
        // What may have further names, in `latest` and `recent/`: programs that know hard links take it once.
        if case .ranking = listing.key { attributes.links = tree.isInLatest(listing.key) ? 3 : 2 }
        return attributes
    }

    private func attributes(
        _ number: UInt64, _ kind: Attributes.Kind, size: Int64 = 0, modified: Int64
    ) -> Attributes {
        // As files of one's own: who copies them may change and remove the copies. Nothing is written here, whatever they say.
        let (permissions, links): (UInt32, UInt32) =
            switch kind {
            case .directory: (0o755 & ~configuration.mask, 2)
            case .file: (0o644 & ~configuration.mask, 1)
            case .link: (0o777, 1)
            }
        return Attributes(
            inode: number, kind: kind, permissions: permissions, size: size, modified: modified, links: links,
            user: configuration.user, group: configuration.group)
    }
}
