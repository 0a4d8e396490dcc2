import Catalog
package import Fuse
import Rankings
import Thumbnails

extension RankFileSystem {
    package func lookup(_ request: LookupRequest, reply: EntryReply) {
        if let finding = findByNumber(request) {
            if answer(reply, finding, for: TreeLimits.frozen) { return }
            return later(reply, subject: { "inode \(request.parent)" }) { () async throws(Failure) in
                try await self.resolve(finding, reply, for: TreeLimits.frozen)
            }
        }
        guard let parent = inodes.node(request.parent) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.parent)")
        }
        let name = request.name
        guard name.count <= TreeLimits.longestName else {
            return refuse(reply, .nameTooLong, subject: parent.path.text)
        }
        guard case .directory(let directory) = parent else {
            return refuse(reply, .notADirectory, subject: parent.path.text)
        }
        if answerDesktop(request, in: directory, reply) { return }
        let finding = tree.find(name, in: directory, request.caller)
        let longest = directory.longestName
        if answerAfterThumbnails(reply, finding, in: directory, request.caller) { return }
        if answer(reply, finding, for: longest) { return }
        let subject: @Sendable () -> String = { "\(directory.path.text)/\(String(decoding: name, as: UTF8.self))" }
        if case .refused(let failure) = finding { return refuse(reply, failure, subject: subject()) }
        later(reply, subject: subject) { () async throws(Failure) in
            let isGlance = self.tree.desktops.isGlancing(at: directory, request.caller)
            try await self.resolve(finding, reply, for: longest, isGlance: isGlance)
        }
    }

    /// Answers what can be answered from memory, for the kernel to keep for `longest` at most; false if nothing was answered.
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

    /// Asks until there is an answer, and gives it.
    private func resolve(
        _ finding: LookupResult, _ reply: EntryReply, for longest: Duration, isGlance: Bool = false
    ) async throws(Failure) {
        switch finding {
        case .refused(let failure):
            throw failure
        case .unknown(let ask):
            try await resolve(ask(), reply, for: longest, isGlance: isGlance)
        case .passing(let node):
            try await resolve(.node(node), reply, for: .zero, isGlance: isGlance)
        case .absent, .node:
            if answer(reply, finding, for: longest) { return }
            guard case .node(let node) = finding else { return }
            let shown = try await shown(node, number: InodeTable.none, isGlance: isGlance)
            answer(reply, node, shown, for: longest)
        }
    }

    /// Answers with a node, which is counted now that nothing can fail any more.
    private func answer(_ reply: EntryReply, _ node: Node, _ shown: Shown, for longest: Duration) {
        var attributes = shown.attributes
        attributes.inode = inodes.adopt(node)
        sizes.watchAnnouncement(shown, attributes.inode)
        reply.entry(
            attributes, entryTimeout: min(shown.entryTimeout, longest), attributesTimeout: shown.attributesTimeout)
    }
}

// MARK: - Desktops that look

extension RankFileSystem {
    /// Answers the look of a desktop, and has thumbnails made.
    ///
    /// - Returns: False if nothing was answered: the name is another one, the directory shows no listing, nobody wants
    ///   thumbnails, or it is not the user whose thumbnails they are that looks.
    private func answerDesktop(_ request: LookupRequest, in directory: any TreeDirectory, _ reply: EntryReply) -> Bool {
        guard let look = tree.desktops.look(request.name, in: directory, by: request.caller) else { return false }
        // GIO and KDE list a directory first; in one that nobody listed a look may cost no request to the service.
        guard look.isWanted, let wish = thumbnails.wish(of: request.caller, in: directory, look.program),
            directory.refusal(in: tree) == nil, let shown = directory.listing, shown.showsPictures,
            let listing = shown.rememberedKey(in: tree).flatMap(tree.catalog.listings.loaded)
        else { return false }
        thumbnails.seed(listing, wish, isWhole: look.isOpening)
        if look.isOpening, let program = look.program { tree.desktops.noteVisit(at: directory, by: program) }
        reply.absent(timeout: .zero)
        return true
    }

    /// Tells a file manager of one of the first pictures once the thumbnails that are being made of it are there, and who may be one
    /// a little later; its size is asked for first.
    ///
    /// - Returns: False if nothing was answered: nobody waits for thumbnails of what was found.
    private func answerAfterThumbnails(
        _ reply: EntryReply, _ finding: LookupResult, in directory: any TreeDirectory, _ caller: Caller
    ) -> Bool {
        guard case .node(let node) = finding else { return false }
        let viewer = thumbnails.viewer(of: directory, caller)
        guard thumbnails.isHeldUp(node, from: viewer) else { return false }
        later(reply, subject: { directory.path.text }) { () async throws(Failure) in
            _ = try await self.shown(node, number: InodeTable.none)
            await self.thumbnails.waitForTurn(of: node, in: directory, for: viewer, caller)
            try await self.resolve(finding, reply, for: directory.longestName)
        }
        return true
    }
}
