import Catalog
package import Fuse
import Rankings

extension RankFileSystem {
    package func readDirectory(_ request: ReadRequest, reply: DirectoryReply) {
        guard case .directory(let view) = handles[request.handle] else {
            return refuse(reply, .unknownHandle, subject: "inode \(request.inode)")
        }
        let start = max(0, Int(request.offset))
        switch view.content {
        case .fixed(let names):
            // rewinddir(3) shows the entries of that moment.
            guard start == 0, !view.noteRead() else { return send(names, of: view, from: start, reply) }
            show(view.directory, to: request.caller, reply) { names in
                view.content = .fixed(names)
                self.send(names, of: view, from: start, reply)
            }
        case .listing(let extras, let listing):
            // The opener may have identified itself as a file manager since the open.
            view.viewer = thumbnails.viewer(of: view.directory, request.caller)
            if view.noteRead() {
                tree.callers.facts { callers, _ in callers.beganReading(listing.key, as: view.opening.role) }
                if !view.opening.role.isBackground { listing.hurry() }
            }
            let packed = pack(view, extras, listing, from: start, reply)
            if packed.isAnswer {
                // A program that counts continues with the next directory at once, and closes this one some time later.
                if !packed.hasEntries { endGlance(view) }
                reply.send()
                // A failure is reported to the reader that waits for the page.
                if !packed.isEnd, packed.known > 0 {
                    Task { try? await self.askOn(listing, packed.known - 1, view.opening.role) }
                }
                return
            }
            later(reply, subject: { view.directory.path.text }) { () async throws(Failure) in
                var packed = packed
                // An answer without entries would mark the directory's end: listing pages with only hidden entries are passed
                // over.
                while !packed.isAnswer {
                    try await self.askOn(listing, packed.known, view.opening.role)
                    if view.opening.role == .visit {
                        let (path, program) = (view.directory.path.text, view.opening.program)
                        self.tree.callers.facts { $0.visits(path, program, isProlonged: true, now: $1) }
                    }
                    packed = self.pack(view, extras, listing, from: packed.next, reply)
                }
                if !packed.hasEntries { self.endGlance(view) }
                reply.send()
            }
        }
    }

    private func send(_ names: [NamedNode], of view: DirectoryView, from start: Int, _ reply: DirectoryReply) {
        let packed = pack(view, from: start, count: names.count, reply) { (names[$0].name, names[$0].node, nil) }
        if !packed.hasEntries { endGlance(view) }
        reply.send()
    }

    /// The data of one place: a name, its node, and that node's own number if it is known already.
    private typealias Entry = (name: String, node: Node, number: UInt64?)

    /// The progress of an answer.
    private struct Packed {
        /// The offset at which to continue.
        var next: Int
        /// The number of the listing's entries before that offset.
        var known: Int
        /// Whether no further entry will come.
        var isEnd: Bool
        /// Whether there was any entry to show.
        var hasEntries: Bool
        /// Whether the reader can be answered now: with some entries, or with the end.
        var isAnswer: Bool { hasEntries || isEnd }
    }

    /// Waits for an entry of a listing.
    private func askOn(_ listing: Listing, _ index: Int, _ role: Callers.Role) async throws(Failure) {
        let found = await RequestUrgency.$isBackground.withValue(role.isBackground) {
            await Result { () async throws(Failure) in try await listing.entries(reaching: index) }
        }
        // readdir(3) takes ENOENT for the end of the directory.
        _ = try found.mapError { $0.errno == .ENOENT ? .unreadable($0.cause) : $0 }.get()
    }

    /// Packs the entries of a listing that are known now.
    private func pack(
        _ view: DirectoryView, _ extras: [NamedNode], _ listing: Listing, from start: Int, _ reply: DirectoryReply
    ) -> Packed {
        // In this order: a completion of the listing in between must not hide its last entries.
        let isComplete = listing.isComplete || configuration.isOffline
        let entries = listing.entries
        let numbers = listing.key.listsNames ? nil : PictureNumbers(listing.key)
        let count = extras.count + entries.count
        let (next, hasEntries) = pack(view, from: start, count: count, reply) { place in
            guard place >= extras.count else { return (extras[place].name, extras[place].node, nil) }
            let index = place - extras.count
            let entry = entries[index]
            if !tree.lists(entry) || configuration.isOffline && !tree.opens(entry, of: listing) { return nil }
            return (entry.name, listing.node(at: index, entry), numbers?.number(of: entry))
        }
        return Packed(
            next: next, known: max(0, next - DirectoryView.dots - extras.count), isEnd: isComplete,
            hasEntries: hasEntries)
    }

    /// Packs until the buffer is full or the entries end.
    ///
    /// - Parameters:
    ///   - view: The directory being read.
    ///   - start: The offset at which to begin.
    ///   - count: The number of entries.
    ///   - reply: The reply that takes the entries.
    ///   - entry: Returns the entry at a place; nil for an entry that is not shown.
    /// - Returns: The offset at which to continue, and whether there was any entry to show.
    private func pack(
        _ view: DirectoryView, from start: Int, count: Int, _ reply: DirectoryReply,
        entry: (Int) -> Entry?
    ) -> (next: Int, hasEntries: Bool) {
        var offset = start
        var hasEntries = false
        while offset < count + DirectoryView.dots {
            let added: Bool
            switch offset {
            case 0: added = addDot(".", view.directory, next: 1, reply)
            case 1: added = addDot("..", Node.directory(view.directory).parent, next: 2, reply)
            default:
                guard let shown = entry(offset - DirectoryView.dots) else {
                    // A hidden entry keeps its place and is not shown.
                    offset += 1
                    continue
                }
                added = add(shown, of: view, next: offset + 1, reply)
            }
            hasEntries = true
            guard added else { break }
            offset += 1
        }
        return (offset, hasEntries)
    }

    private func addDot(_ name: String, _ directory: any TreeDirectory, next: Int64, _ reply: DirectoryReply) -> Bool {
        reply.add(
            name, inode: inodes.number(of: .directory(directory)), kind: .directory, nextOffset: next, attributes: nil)
    }

    /// Adds an entry: with attributes, which counts as a lookup, if they are known without a request.
    private func add(_ entry: Entry, of view: DirectoryView, next: Int, _ reply: DirectoryReply) -> Bool {
        let name = entry.name
        let kind = entry.node.kind
        let isCertain = if case .directory(let directory) = entry.node { directory.isCertain(in: tree) } else { true }
        guard reply.wantsAttributes, isCertain, !thumbnails.isHeldUp(entry.node, from: view.viewer) else {
            return reply.add(
                name, inode: inodes.number(of: entry.node), kind: kind, nextOffset: Int64(next), attributes: nil)
        }
        let number = inodes.adopt(entry.node, number: entry.number)
        let shown = known(entry.node, number: number)
        let attributes = shown.map {
            (
                attributes: $0.attributes, entryTimeout: min($0.lifetime.entry, view.directory.longestName),
                attributesTimeout: $0.lifetime.attributes
            )
        }
        let added = reply.add(name, inode: number, kind: kind, nextOffset: Int64(next), attributes: attributes)
        if added, let shown {
            sizes.watchAnnouncement(shown, number)
        } else {
            forget(number, lookups: 1)
        }
        return added
    }

    // MARK: - Directory

    package func openDirectory(_ request: OpenRequest, reply: OpenReply) {
        guard let node = node(request.inode, or: reply) else { return }
        guard case .directory(let directory) = node else {
            return refuse(reply, .notADirectory, subject: node.path.text)
        }
        if let failure = tree.refusal(of: node, to: request.caller) {
            return refuse(reply, failure, subject: node.path.text)
        }
        let isUnknown = directory.listing.map { self.isUnknown($0.rememberedKey(in: tree)) } ?? false
        let opening = tree.callers.opening(
            directory.path.text, request.inode, below: directory.path.parent?.text, key: directory.listing?.key,
            isUnknown: isUnknown, by: request.caller)
        if let listing = directory.listing { return open(listing, opening, request, reply) }
        show(directory, to: request.caller, reply) { names in
            self.open(DirectoryView(directory, .fixed(names), opening), request.inode, reply)
        }
    }

    /// Passes the present names of a directory without a listing to `answer`.
    func show(
        _ directory: any TreeDirectory, to caller: Caller, _ reply: some Reply,
        _ answer: @escaping @Sendable ([NamedNode]) -> Void
    ) {
        let shown = tree.shown(directory.names(in: tree) ?? [], to: caller)
        // The pictures that the owner reads are not shown to other users, as in `recent/`.
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
        _ directory: any ListingDirectory, _ opening: CallerRecognition.Opening, _ request: OpenRequest,
        _ reply: OpenReply
    ) {
        let key = directory.rememberedKey(in: tree)
        let (role, path) = (opening.role, directory.path.text)
        let wish =
            role == .visit && directory.showsPictures || role == .preview
            ? thumbnails.wish(of: request.caller, in: directory, opening.program) : nil
        let answer: @Sendable (Listing, [NamedNode]) -> Void = { listing, extras in
            // Only now is there anything to delay.
            if role == .visit { self.tree.callers.noteVisit(to: path, by: opening.program) }
            if case .watched = role, directory.showsPictures {
                self.tree.callers.facts { $0.awaited(opening.program, at: path, now: $1) }
            }
            self.open(DirectoryView(directory, .listing(extras: extras, listing), opening), request.inode, reply)
        }
        if wish == nil, !configuration.isOffline, let key, let listing = tree.catalog.listings.loaded(key),
            directory.knowsExtras(in: tree)
        {
            return answer(listing, tree.shown(directory.extras(of: listing, in: tree), to: request.caller))
        }
        later(reply, subject: { directory.path.text }) { () async throws(Failure) in
            let found = await RequestUrgency.$isBackground.withValue(role.isBackground) {
                await Result { () async throws(Failure) in try await directory.currentListing(in: self.tree) }
            }
            guard case .success(let listing?) = found else {
                if role.isGlance, let parent = opening.parent {
                    self.tree.callers.facts { $0.endedGlance(at: path, below: parent, now: $1) }
                }
                let stored = self.tree.shown(directory.names(in: self.tree) ?? [], to: request.caller)
                if case .failure(.offline) = found, !stored.isEmpty {
                    return self.open(DirectoryView(directory, .fixed(stored), opening), request.inode, reply)
                }
                _ = try found.get()
                throw .absent
            }
            if let wish, role.isGlance {
                await self.thumbnails.seedPreview(of: listing, wish)
            } else if let wish {
                self.thumbnails.seed(listing, wish, isWhole: true)
            }
            await directory.learnExtras(in: self.tree)
            let extras = self.tree.shown(directory.extras(of: listing, in: self.tree), to: request.caller)
            answer(listing, self.configuration.isOffline ? await self.tree.opening(extras) : extras)
        }
    }

    /// Whether nothing is known of a listing.
    private func isUnknown(_ key: ListingKey?) -> Bool {
        key.map { tree.catalog.listings.loaded($0) == nil && !tree.catalog.listings.isStored($0) } ?? true
    }

    /// Records what the reader of a closed directory has seen of it.
    func closed(_ view: DirectoryView) {
        endGlance(view, isClosed: true)
        let opening = view.opening
        let listing: Listing? = if view.wasRead, case .listing(_, let listing) = view.content { listing } else { nil }
        tree.callers.facts { callers, now in
            if opening.isUnknown { callers.closedUnknown(by: opening.program, now: now) }
            if let listing { callers.endedReading(listing.key, as: opening.role) }
        }
    }

    /// Records that a reader of a directory reached the end, or closes it.
    func endGlance(_ view: DirectoryView, isClosed: Bool = false) {
        guard let parent = view.endGlance(isClosed: isClosed) else { return }
        tree.callers.facts { $0.endedGlance(at: view.directory.path.text, below: parent, now: $1) }
    }

    private func open(_ view: DirectoryView, _ inode: UInt64, _ reply: OpenReply) {
        let handle = handles.insert(.directory(view))
        guard case .listing(_, let listing) = view.content else {
            return reply.opened(handle: handle, keepCache: false, directIO: false, cacheDirectory: false)
        }
        // `latest` shows another listing when the next day appears, even if this listing is frozen.
        let isFrozen =
            listing.isFrozen && listing.isComplete && !configuration.isOffline
            && view.directory.longestName == TreeLimits.frozen
        // After the user has signed in or out, the entries that the kernel keeps are those of another viewer.
        let isSame = pages.hasEntries(of: listing.audience, inode)
        reply.opened(handle: handle, keepCache: isFrozen && isSame, directIO: false, cacheDirectory: isFrozen)
    }
}
