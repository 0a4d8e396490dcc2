import Catalog
package import Fuse
import Rankings

extension RankFileSystem {
    package func openDirectory(_ request: OpenRequest, reply: OpenReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        guard case .directory(let directory) = node else {
            return refuse(reply, .notADirectory, subject: node.path.text)
        }
        if let failure = tree.refusal(of: node, to: request.caller) {
            return refuse(reply, failure, subject: node.path.text)
        }
        let isUnknown = directory.listing.map { self.isUnknown($0.rememberedKey(in: tree)) } ?? false
        let (opening, parent) = tree.desktops.opening(directory, request.inode, by: request.caller)
        let glancedFrom = opening.isGlance ? parent : nil
        if let listing = directory.listing {
            return open(listing, for: opening, isUnknown: isUnknown, glancedFrom: glancedFrom, request, reply)
        }
        show(directory, to: request.caller, reply) { names in
            self.open(DirectoryView(directory, .fixed(names), glancedFrom: glancedFrom), reply)
        }
    }

    /// Answers a request with what a directory without a listing has at this moment.
    func show(
        _ directory: any TreeDirectory, to caller: Caller, _ reply: some Reply,
        _ answer: @escaping @Sendable ([NamedNode]) -> Void
    ) {
        let shown = tree.shown(directory.names(in: tree) ?? [], to: caller)
        // What the owner reads is told to nobody else, as in `recent/`.
        let listsSeen =
            directory.listsSeen && configuration.notesRecent && tree.isOwner(caller)
            && !tree.catalog.recents.pictures.isEmpty
        guard listsSeen || configuration.isOffline else { return answer(shown) }
        later(reply, subject: { directory.path.text }) { () async throws(Failure) in
            var listed = shown
            if listsSeen { listed = await directory.withSeen(listed, in: self.tree) }
            if self.configuration.isOffline { listed = await self.tree.opening(listed) }
            answer(listed)
        }
    }

    /// Opens a directory that shows a listing.
    private func open(
        _ directory: any ListingDirectory, for opening: LookRecognition.Opening, isUnknown: Bool,
        glancedFrom: String?, _ request: OpenRequest, _ reply: OpenReply
    ) {
        let key = directory.rememberedKey(in: tree)
        let look = tree.desktops.look(at: directory, opening, isUnknown: isUnknown, by: request.caller)
        let isWatch = opening == .watched && directory.showsPictures
        let wish =
            opening == .visit && directory.showsPictures || opening == .preview
            ? thumbnails.wish(of: request.caller, in: directory, look.program) : nil
        if wish == nil, !configuration.isOffline, let key, let listing = tree.catalog.listings.loaded(key),
            directory.knowsExtras(in: tree)
        {
            let extras = tree.shown(directory.extras(of: listing, in: tree), to: request.caller)
            let view = DirectoryView(
                directory, .listing(extras: extras, listing), isNobodys: look.isNobodys, glancedFrom: glancedFrom)
            if isWatch { tree.desktops.noteWatch(of: directory, by: request.caller) }
            return open(view, reply)
        }
        later(reply, subject: { directory.path.text }) { () async throws(Failure) in
            let found = await RequestUrgency.$isBackground.withValue(look.isNobodys) {
                // Typed errors do not pass through.
                do throws(Failure) {
                    return Result<Listing?, Failure>.success(try await directory.currentListing(in: self.tree))
                } catch { return .failure(error) }
            }
            guard case .success(let listing?) = found else {
                if let glancedFrom { self.tree.desktops.endGlance(at: directory, from: glancedFrom) }
                _ = try found.get()
                throw .noSuchName
            }
            if let wish, glancedFrom != nil {
                await self.thumbnails.seedPreview(of: listing, wish)
            } else if let wish {
                self.thumbnails.seed(listing, wish, isWhole: true)
            }
            await directory.learnExtras(in: self.tree)
            let extras = self.tree.shown(directory.extras(of: listing, in: self.tree), to: request.caller)
            let content = DirectoryView.Content.listing(
                extras: self.configuration.isOffline ? await self.tree.opening(extras) : extras, listing)
            let view = DirectoryView(
                directory, content, isNobodys: look.isNobodys, glancedFrom: glancedFrom, discoverer: look.discoverer)
            if isWatch { self.tree.desktops.noteWatch(of: directory, by: request.caller) }
            self.open(view, reply)
        }
    }

    /// Whether nothing is known of a listing.
    private func isUnknown(_ key: ListingKey?) -> Bool {
        key.map { tree.catalog.listings.loaded($0) == nil && !tree.catalog.listings.isStored($0) } ?? true
    }

    package func releaseDirectory(_ request: ReleaseRequest) {
        memory.noteWork()
        guard case .directory(let view) = handles.remove(request.handle) else { return }
        endGlance(view, isClosed: true)
        view.discoverer.map(tree.desktops.closed)
        guard view.wasRead, case .listing(_, let listing) = view.content else { return }
        sizes.endedReading(listing.key, by: view.reader)
    }

    /// Who reads a directory is told that there are no more entries, or closes it.
    func endGlance(_ view: DirectoryView, isClosed: Bool = false) {
        if let parent = view.endGlance(isClosed: isClosed) { tree.desktops.endGlance(at: view.directory, from: parent) }
    }

    private func open(_ view: DirectoryView, _ reply: OpenReply) {
        guard case .listing(_, let listing) = view.content else { return open(view, isFrozen: false, reply) }
        // What is in `latest` is another listing when the next day appears, however frozen this one is.
        let isFrozen =
            listing.isFrozen && listing.isComplete && !configuration.isOffline
            && view.directory.longestName == TreeLimits.frozen
        open(view, isFrozen: isFrozen, reply)
    }

    private func open(_ view: DirectoryView, isFrozen: Bool, _ reply: OpenReply) {
        let handle = handles.insert(.directory(view))
        reply.opened(handle: handle, keepCache: isFrozen, directIO: false, cacheDirectory: isFrozen)
    }
}
