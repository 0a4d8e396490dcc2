import Catalog
package import Fuse
import Rankings
import Synchronization

extension RankFileSystem {
    package func lookup(_ request: LookupRequest, reply: EntryReply) {
        if let finding = findByNumber(request) {
            if answer(reply, finding, for: TreeLimits.frozen) { return }
            return later(reply, subject: { "inode \(request.parent)" }) { () async throws(Failure) in
                try await self.resolve(finding, reply, for: TreeLimits.frozen, request.caller)
            }
        }
        guard let parent = node(request.parent, or: reply) else { return }
        let name = request.name
        guard name.count <= TreeLimits.longestName else {
            return refuse(reply, .nameTooLong, subject: parent.path.text)
        }
        guard case .directory(let directory) = parent else {
            return refuse(reply, .notADirectory, subject: parent.path.text)
        }
        if answerDesktop(request, in: directory, reply) { return }
        let finding = find(name, in: directory, request.caller)
        let longest = directory.longestName
        if answerAfterThumbnails(reply, finding, in: directory, request.caller) { return }
        if answer(reply, finding, for: longest) { return }
        let subject: @Sendable () -> String = { "\(directory.path.text)/\(String(decoding: name, as: UTF8.self))" }
        if case .refused(let failure) = finding { return refuse(reply, failure, subject: subject()) }
        later(reply, subject: subject) { () async throws(Failure) in
            let isGlance = self.tree.callers.isGlancing(at: directory.path.text, request.caller)
            try await self.resolve(finding, reply, for: longest, request.caller, isGlance: isGlance)
        }
    }

    /// Finds the node of a name in a directory.
    private func find(_ name: [UInt8], in directory: any TreeDirectory, _ caller: Caller) -> LookupResult {
        if EntryName.isAnnouncement(name) { return .absent(.zero) }
        if let failure = tree.refusal(of: .directory(directory), to: caller) { return .refused(failure) }
        if configuration.thumbnails != nil, directory.listing?.showsPictures == true,
            SharedThumbnailsDirectory.isName(name)
        {
            return .directory(SharedThumbnailsDirectory(of: directory))
        }
        return directory.find(name, in: tree, for: caller)
    }

    /// Answers from memory, for the kernel to keep for `longest` at most; false if that is not possible.
    private func answer(_ reply: EntryReply, _ finding: LookupResult, for longest: Duration) -> Bool {
        switch finding {
        case .absent(let timeout):
            reply.absent(timeout: min(timeout, longest))
            return true
        case .node(let node):
            guard let shown = known(node, number: InodeTable.none) else { return false }
            answer(reply, node, shown, for: longest)
            return true
        case .passing, .refused, .unknown:
            return false
        }
    }

    /// Queries until there is a result, and answers with it.
    private func resolve(
        _ finding: LookupResult, _ reply: EntryReply, for longest: Duration, _ caller: Caller, isGlance: Bool = false
    ) async throws(Failure) {
        switch finding {
        case .refused(let failure):
            throw failure
        case .unknown(let ask):
            try await resolve(ask(), reply, for: longest, caller, isGlance: isGlance)
        case .passing(let node):
            try await resolve(.node(node), reply, for: .zero, caller, isGlance: isGlance)
        case .absent, .node:
            if answer(reply, finding, for: longest) { return }
            guard case .node(let node) = finding else { return }
            let shown = try await shown(node, number: InodeTable.none, for: caller, isGlance: isGlance)
            answer(reply, node, shown, for: longest)
        }
    }

    /// Answers with a node and counts the lookup, now that nothing can fail any more.
    private func answer(_ reply: EntryReply, _ node: Node, _ shown: Shown, for longest: Duration) {
        var attributes = shown.attributes
        attributes.inode = inodes.adopt(node)
        sizes.watchAnnouncement(shown, attributes.inode)
        reply.entry(
            attributes, entryTimeout: min(shown.lifetime.entry, longest), attributesTimeout: shown.lifetime.attributes)
    }

    // MARK: - Lookups by desktops

    /// Answers the lookup by which a desktop identifies itself, and starts making thumbnails.
    ///
    /// - Returns: False if there was no answer: it is another name, the directory shows no listing, no thumbnails are needed, or
    ///   the caller is not the user of the thumbnails.
    private func answerDesktop(_ request: LookupRequest, in directory: any TreeDirectory, _ reply: EntryReply) -> Bool {
        guard
            let announcement = tree.callers.announcement(request.name, in: directory.path.text, by: request.caller)
        else { return false }
        // GIO and KDE list a directory first; in a directory that was not listed, this lookup may cost no request to the service.
        guard announcement.isWanted,
            let wish = thumbnails.wish(of: request.caller, in: directory, announcement.program),
            directory.refusal(in: tree) == nil, let shown = directory.listing, shown.showsPictures,
            let listing = shown.rememberedKey(in: tree).flatMap(tree.catalog.listings.loaded)
        else { return false }
        thumbnails.seed(listing, wish, isWhole: announcement.isListed)
        if announcement.isListed, let program = announcement.program {
            tree.callers.noteVisit(to: directory.path.text, by: program)
        }
        reply.absent(timeout: .zero)
        return true
    }

    /// Answers a file manager's lookup of one of the first pictures once its thumbnails are made.
    ///
    /// A program that may be a file manager gets the answer a little later. The size is requested first.
    ///
    /// - Returns: False if there was no answer: no reader waits for thumbnails of the node.
    private func answerAfterThumbnails(
        _ reply: EntryReply, _ finding: LookupResult, in directory: any TreeDirectory, _ caller: Caller
    ) -> Bool {
        guard case .node(let node) = finding else { return false }
        let viewer = thumbnails.viewer(of: directory, caller)
        thumbnails.prolong(viewer, in: directory, caller)
        guard thumbnails.isHeldUp(node, from: viewer) else { return false }
        later(reply, subject: { directory.path.text }) { () async throws(Failure) in
            _ = try await self.shown(node, number: InodeTable.none, for: caller)
            await self.thumbnails.waitForTurn(of: node, in: directory, for: viewer, caller)
            try await self.resolve(finding, reply, for: directory.longestName, caller)
        }
        return true
    }

    // MARK: - Attributes

    package func attributes(_ request: InodeRequest, reply: AttributesReply) {
        guard let node = node(request.inode, or: reply) else { return }
        if let shown = known(node, number: request.inode) {
            sizes.watchAnnouncement(shown, request.inode)
            return reply.attributes(shown.attributes, timeout: shown.lifetime.attributes)
        }
        later(reply, subject: { node.path.text }) { () async throws(Failure) in
            let shown = try await self.shown(node, number: request.inode, for: request.caller)
            self.sizes.watchAnnouncement(shown, request.inode)
            reply.attributes(shown.attributes, timeout: shown.lifetime.attributes)
        }
    }

    // MARK: - Shown attributes

    /// Returns the attributes if they are known without a request; nil for a picture of unknown size.
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
            known =
                tree.unloaded(directory) == nil
                ? attributes(number, .directory, modified: directory.modified(in: tree)) : nil
        case .file(let file):
            known = file.knownSize(in: tree).map { attributes(number, .file, size: $0.bytes, modified: $0.modified) }
        case .link(let link):
            known = attributes(number, .link, size: Int64(link.target.utf8.count), modified: link.modified(in: tree))
        }
        return known.map { shown(node, $0, announced: announced) }
    }

    private func shown(_ node: Node, _ attributes: Attributes, announced: PictureID? = nil) -> Shown {
        var attributes = attributes
        // All users are shown the same: a node closed to other users has no permissions for them.
        if tree.isKept(node) || node.isSecret, attributes.kind != .link { attributes.permissions &= 0o700 }
        return (attributes, announced == nil ? node.lifetime(in: tree) : (.zero, .zero), announced)
    }

    /// Returns the attributes, with a request if needed, also for a program that only glances at the directory.
    func shown(
        _ node: Node, number: UInt64, for caller: Caller, isGlance: Bool = false
    ) async throws(Failure) -> Shown {
        if let shown = known(node, number: number) { return shown }
        let asked: Attributes
        switch node {
        case .picture(let listing, let index):
            let size = try await sizes.asked(listing, Int(index), by: caller, isGlance: isGlance)
            asked = attributes(number, listing, Int(index), size: size.bytes)
        case .file(let file):
            let size = try await file.size(in: tree)
            asked = attributes(number, .file, size: size.bytes, modified: size.modified)
        case .directory(let directory):
            let listing: Listing? =
                if let key = tree.unloaded(directory) { await tree.catalog.listings.stored(key) } else { nil }
            asked = attributes(number, .directory, modified: listing?.modified ?? directory.modified(in: tree))
        case .link: throw .forgottenInode
        }
        if let shown = known(node, number: number) { return shown }
        return shown(node, asked)
    }

    /// The attributes of a picture.
    private func attributes(_ number: UInt64, _ listing: Listing, _ index: Int, size: Int64) -> Attributes {
        var attributes = attributes(
            number, .file, size: size, modified: listing.entries[index].picture.uploaded)
        // Pictures that may have further names, in `latest` and `recent/`: programs that handle hard links take them once.
        if listing.key.mode != nil { attributes.links = tree.isInLatest(listing.key) ? 3 : 2 }
        return attributes
    }

    private func attributes(
        _ number: UInt64, _ kind: Attributes.Kind, size: Int64 = 0, modified: Int64
    ) -> Attributes {
        // Permissions as for a user's own files, so that copies can be changed and removed. The mount itself accepts no writes
        // regardless.
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

    // MARK: - Links

    package func readLink(_ request: InodeRequest, reply: LinkReply) {
        guard let node = node(request.inode, or: reply) else { return }
        guard case .link(let link) = node else { return refuse(reply, .notALink, subject: node.path.text) }
        if tree.isKept(node), !tree.isOwner(request.caller) {
            return refuse(reply, .ownersOnly, subject: node.path.text)
        }
        if case .dated(let mode, let day) = link {
            tree.callers.facts { $0.wentThroughDates(to: .ranking(mode, day), now: $1) }
        }
        reply.target(link.target)
    }

    // MARK: - Export

    // Lookups of inodes by their number alone: NFS servers keep numbers, not names, and the kernel forgets names.
    //
    // The kernel looks up `.` and `..` in such a number if the file system agreed to FUSE_EXPORT_SUPPORT (libfuse's fuse_common.h;
    // Documentation/filesystems/nfs/exporting.rst of Linux). Every node is found in memory or the database.

    /// Finds the nodes for `.` and `..` of an inode; nil for other names.
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

    /// Finds the node that has a number, as far as the mount lists it without a request to the service.
    private func node(numbered number: UInt64) async -> Node? {
        var (searched, last): ([any TreeDirectory], [any TreeDirectory]) = ([], [])
        let start = [Node.root, .directory(HelpersDirectory())]
        if let found = node(numbered: number, below: start, without: Node.searchedLast, &searched) {
            return found
        }
        for directory in searched where directory.listsSeen && configuration.notesRecent {
            let seen = await directory.withSeen([], in: tree)
            if let found = seen.first(where: { inodes.number(of: $0.node) == number }) { return found.node }
        }
        if let found = await listed(numbered: number) { return found }
        return node(numbered: number, below: [Node.searchedLast], without: nil, &last)
    }

    /// Searches stored listings: the loaded ones, and some of the others.
    private func listed(numbered number: UInt64) async -> Node? {
        let catalog = tree.catalog
        let keys = catalog.listings.keys.sorted { $0.path.text > $1.path.text }
        let loaded = keys.filter { catalog.listings.remembered($0) != nil }
        let others = keys.filter { catalog.listings.remembered($0) == nil }
        for key in loaded + others.prefix(TreeLimits.listingsSearched) {
            guard let listing = await catalog.listings.stored(key) else { continue }
            if let found = node(numbered: number, in: listing) { return found }
        }
        return nil
    }

    /// Searches nodes, and the directories below them that show no listing.
    ///
    /// - Parameters:
    ///   - number: The inode number.
    ///   - start: The nodes.
    ///   - passed: A directory that is not searched.
    ///   - searched: Collects the directories that were searched.
    /// - Returns: The node; nil if none of them holds it.
    private func node(
        numbered number: UInt64, below start: [Node], without passed: Node?, _ searched: inout [any TreeDirectory]
    ) -> Node? {
        var open = start
        while let node = open.popLast() {
            if inodes.number(of: node) == number { return node }
            guard let directory = node.directory, directory.path != passed?.path else { continue }
            searched.append(directory)
            // Of the days of a month, which are many, the directory and the width of the order matter.
            if case .dates(.month) = directory.path,
                !InodeNumber.mayBe(number, in: directory.path.text, order: .day(Day(ordinal: 0)))
            {
                continue
            }
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
        for (index, entry) in listing.entries.enumerated() {
            let node = listing.node(at: index, entry)
            if inodes.number(of: node) == number { return node }
        }
        return nil
    }
}
