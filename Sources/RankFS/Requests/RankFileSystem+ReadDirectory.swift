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
            pack(view, from: start, count: names.count, nil, reply) { (names[$0].name, names[$0].node, nil) }
            reply.send()
        case .listing(let extras, let listing):
            // Whoever opened it may have shown itself as a file manager since.
            view.viewer = thumbnails.viewer(of: view.directory, request.caller)
            if view.noteRead() { sizes.beganReading(listing.key, by: view.reader) }
            let packed = pack(view, extras, listing, from: start, nil, reply)
            if packed.isAnswer {
                reply.send()
                if !packed.isEnd { askAhead(listing, packed.known - 1, isNobodys: view.isNobodys) }
                return
            }
            later(reply, subject: { view.directory.path.text }) { () async throws(Failure) in
                var packed = packed
                // An answer without entries would be the directory's end: pages of which everything is hidden are passed over.
                while !packed.isAnswer {
                    var waitedFor: Int?
                    if let held = packed.held {
                        waitedFor = packed.next
                        await self.thumbnails.waitForTurn(
                            of: held, in: view.directory, for: view.viewer, request.caller)
                        view.viewer = self.thumbnails.viewer(of: view.directory, request.caller)
                    } else {
                        try await self.askOn(listing, packed.known, isNobodys: view.isNobodys)
                    }
                    packed = self.pack(view, extras, listing, from: packed.next, waitedFor, reply)
                }
                reply.send()
            }
        }
    }

    /// What is told of a place: a name, what it stands for, and that node's own number if it is known already.
    private typealias Entry = (name: String, node: Node, number: UInt64?)

    /// How far an answer has come.
    private struct Packed {
        /// The offset to go on at.
        var next: Int
        /// How many of the listing's entries lie before it.
        var known: Int
        /// Whether no further entry will come.
        var isEnd: Bool
        /// Whether the reader can be told now: of some entries, or that there are no more.
        var isAnswer: Bool
        /// The entry at which it stopped, because the reader is told of it later.
        var held: Node?
    }

    /// Lets the listing ask for the page behind what was just read; what goes wrong is told to the reader who waits for it.
    private func askAhead(_ listing: Listing, _ index: Int, isNobodys: Bool) {
        guard index >= 0 else { return }
        Task { try? await self.askOn(listing, index, isNobodys: isNobodys) }
    }

    /// Waits for an entry of a listing.
    private func askOn(_ listing: Listing, _ index: Int, isNobodys: Bool) async throws(Failure) {
        let failure: CatalogError? = await RequestUrgency.$isBackground.withValue(isNobodys) {
            // Typed errors do not pass through.
            do throws(CatalogError) {
                _ = try await listing.entries(reaching: index)
                return nil
            } catch { return error }
        }
        if let failure { throw .catalog(failure) }
    }

    /// Packs the entries of a listing that are known now, as far as the reader is told of them; in any case that at `waitedFor`.
    private func pack(
        _ view: DirectoryView, _ extras: [NamedNode], _ listing: Listing, from start: Int, _ waitedFor: Int?,
        _ reply: DirectoryReply
    ) -> Packed {
        // In this order: what completes the listing in between must not hide its last entries.
        let isComplete = listing.isComplete || configuration.isOffline
        if let wish = view.viewer.wish { thumbnails.expectKnown(of: listing, wish) }
        let entries = listing.entries
        let numbers = listing.key.listsAuthors ? nil : PictureNumbers(listing.key)
        let count = extras.count + entries.count
        let (next, hasEntries, held) = pack(view, from: start, count: count, waitedFor, reply) { place in
            guard place >= extras.count else { return (extras[place].name, extras[place].node, nil) }
            let index = place - extras.count
            let entry = entries[index]
            if entry.isHidden || configuration.isOffline && !tree.opens(entry, of: listing) { return nil }
            return (entry.name, listing.node(at: index, entry), numbers?.number(of: entry))
        }
        return Packed(
            next: next, known: max(0, next - DirectoryView.dots - extras.count), isEnd: isComplete,
            isAnswer: hasEntries || isComplete && held == nil, held: held)
    }

    /// Packs until the buffer is full, the entries end, or there is one of which the reader is told later.
    ///
    /// - Parameters:
    ///   - view: What is read.
    ///   - start: The offset to begin at.
    ///   - count: How many entries there are.
    ///   - waitedFor: The offset of an entry of which the reader is told now in any case.
    ///   - reply: Where they go.
    ///   - entry: What is at a place; nil for what is not shown.
    /// - Returns: The offset to go on at, whether there was any to show, and the entry of which the reader is told later.
    @discardableResult
    private func pack(
        _ view: DirectoryView, from start: Int, count: Int, _ waitedFor: Int?, _ reply: DirectoryReply,
        entry: (Int) -> Entry?
    ) -> (next: Int, hasEntries: Bool, held: Node?) {
        var offset = start
        var hasEntries = false
        while offset < count + DirectoryView.dots {
            let added: Bool
            switch offset {
            case 0: added = addDot(".", view.directory, next: 1, reply)
            case 1: added = addDot("..", view.directory.parent, next: 2, reply)
            default:
                guard let shown = entry(offset - DirectoryView.dots) else {
                    // A hidden entry keeps its place and is not shown.
                    offset += 1
                    continue
                }
                if offset != waitedFor, isHeldBack(shown, from: view.viewer) { return (offset, hasEntries, shown.node) }
                added = add(shown, of: view, next: offset + 1, reply)
            }
            hasEntries = true
            guard added else { break }
            offset += 1
        }
        return (offset, hasEntries, nil)
    }

    /// Whether the name itself is told later: of what the kernel knows it asks nothing, so that no lookup could be held up.
    private func isHeldBack(_ entry: Entry, from viewer: ThumbnailViewer) -> Bool {
        thumbnails.isHeldUp(entry.node, from: viewer) && entry.number.map { inodes.node($0) != nil } ?? false
    }

    private func addDot(_ name: String, _ directory: any TreeDirectory, next: Int64, _ reply: DirectoryReply) -> Bool {
        reply.add(
            name, inode: inodes.number(of: .directory(directory)), kind: .directory, nextOffset: next, attributes: nil)
    }

    /// Adds an entry: with attributes, which counts as a lookup, if they are known without asking.
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
                attributes: $0.attributes, entryTimeout: min($0.entryTimeout, view.directory.longestName),
                attributesTimeout: $0.attributesTimeout
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
}
