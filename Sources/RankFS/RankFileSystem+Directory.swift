import Catalog
package import Fuse
import Rankings
import Synchronization
import Thumbnails

/// An open directory: what it showed keeps its place until it is closed.
///
/// Offsets are places: 0 and 1 are `.` and `..`, entries follow, so seekdir(3) works.
///
/// ## Concurrency
///
/// Any thread may call; the listing only grows, everything else but `wasRead` is immutable.
final class DirectoryView: Sendable {
    /// What a directory's entries come from.
    enum Content: Sendable {
        /// Names known when the directory was opened.
        case fixed([(name: String, node: Node)])
        /// Files and directories that stand beside the pictures, and the pictures.
        case listing(extras: [(name: String, node: Node)], Listing)
    }

    /// Places before the first entry: `.` and `..`.
    static let dots = 2

    let node: Node
    let content: Content
    /// Whether no person waits for its entries.
    let isNobodys: Bool
    /// Whether a file manager counts or previews them.
    let isGlance: Bool
    /// The program that opened it when nothing was known of it.
    let discoverer: Int32?
    private let isRead = Mutex(false)
    private let visitorsWish = Mutex<RankFileSystem.ThumbnailWish?>(nil)

    init(
        _ node: Node, _ content: Content, isNobodys: Bool = false, isGlance: Bool = false, discoverer: Int32? = nil
    ) {
        self.node = node
        self.content = content
        self.isNobodys = isNobodys
        self.isGlance = isGlance
        self.discoverer = discoverer
    }

    /// For whom it is read.
    var reader: WalkRecognition.Reader { isGlance ? .glance : isNobodys ? .walker : .person }

    /// Whether it has been read from.
    var wasRead: Bool { isRead.withLock { $0 } }

    /// What thumbnails its reader shows now; nil if it shows none.
    var wish: RankFileSystem.ThumbnailWish? {
        get { visitorsWish.withLock { $0 } }
        set { visitorsWish.withLock { $0 = newValue } }
    }

    /// Notes a read; true for the first one.
    func noteRead() -> Bool {
        isRead.withLock { isRead in
            defer { isRead = true }
            return !isRead
        }
    }
}

extension RankFileSystem {
    package func openDirectory(_ request: OpenRequest, reply: OpenReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        if let failure = refusal(of: node, to: request.caller) { return refuse(reply, failure, subject: node.path) }
        let opening = opening(node, request.inode, by: request.caller)
        if let names = names(in: node) {
            let shown = self.shown(names, to: request.caller)
            let isGlance = opening.isGlance
            let listsSeen = listsSeen(node, to: request.caller)
            guard listsSeen || configuration.isOffline else {
                return open(DirectoryView(node, .fixed(shown), isGlance: isGlance), reply)
            }
            return later(reply, subject: { node.path }) { () async throws(Failure) in
                var listed = shown
                if listsSeen { listed = await self.withSeen(listed, in: node) }
                if self.configuration.isOffline { listed = await self.opening(listed) }
                self.open(DirectoryView(node, .fixed(listed), isGlance: isGlance), reply)
            }
        }
        guard let directory = shownDirectory(of: node) else { return refuse(reply, .notADirectory, subject: node.path) }
        let key = rememberedListing(of: directory)
        let isGlance = opening.isGlance
        let isUnknown = isUnknown(key)
        // Each look at proc(5) takes some microseconds: not for what everybody opens again and again.
        let program =
            isUnknown || opening != .ordinary ? configuration.processes.program(request.caller.process) : nil
        let discoverer = isUnknown ? program?.process ?? request.caller.process : nil
        let isWalk = discoverer.map { process in excursions.withLock { $0.opened(by: process, now: moment) } } ?? false
        let isNobodys = isGlance || opening != .visit && isWalk
        let showsPictures = key?.listsAuthors != true
        let wish =
            opening == .visit && showsPictures || opening == .preview
            ? wish(of: request.caller, in: sight(of: node), program) : nil
        if opening == .visit, let program { noteVisit(at: node, by: program) }
        if wish == nil, !configuration.isOffline, let key, let listing = catalog.listings.loaded(key) {
            let extras = shown(extras(of: listing), to: request.caller)
            let view = DirectoryView(
                node, .listing(extras: extras, listing), isNobodys: isNobodys, isGlance: isGlance)
            return open(view, reply)
        }
        later(reply, subject: { node.path }) { () async throws(Failure) in
            let found = await Errand.$isNobodys.withValue(isNobodys) {
                // Typed errors do not pass through.
                do throws(Failure) {
                    return Result<Listing?, Failure>.success(try await self.listing(self.listingKey(of: directory)))
                } catch { return .failure(error) }
            }
            guard case .success(let listing?) = found else {
                if isGlance { self.endGlance(at: node) }
                _ = try found.get()
                throw .noSuchName
            }
            if let wish { await self.seed(listing, wish, isGlance ? .beginning : .whole) }
            let extras = self.shown(self.extras(of: listing), to: request.caller)
            let content = DirectoryView.Content.listing(
                extras: self.configuration.isOffline ? await self.opening(extras) : extras, listing)
            let view = DirectoryView(
                node, content, isNobodys: isNobodys, isGlance: isGlance, discoverer: discoverer)
            self.open(view, reply)
        }
    }

    /// Whether nothing is known of a listing.
    private func isUnknown(_ key: ListingKey?) -> Bool {
        key.map { catalog.listings.loaded($0) == nil && !catalog.listings.isStored($0) } ?? true
    }

    package func releaseDirectory(_ request: ReleaseRequest) {
        memory.noteWork()
        guard case .directory(let view) = handles.remove(request.handle) else { return }
        if view.isGlance { endGlance(at: view.node) }
        if let discoverer = view.discoverer { excursions.withLock { $0.closed(by: discoverer, now: moment) } }
        guard view.wasRead, case .listing(_, let listing) = view.content else { return }
        walks.withLock { $0.endedReading(listing.key, by: view.reader) }
    }

    private func endGlance(at node: Node) {
        looks.withLock { $0.closed(below: node.parentPath, now: moment) }
    }

    /// What a directory of listed entries shows: of `following` the authors of whoever is signed in.
    private func shownDirectory(of node: Node) -> PictureDirectory? {
        if case .following = node { return source.signIn.user.map { .listing(.following($0)) } }
        return node.pictureDirectory
    }

    private func open(_ view: DirectoryView, _ reply: OpenReply) {
        guard case .listing(_, let listing) = view.content else { return open(view, isFrozen: false, reply) }
        // What `latest` shows is another listing when the next day appears, however frozen this one is.
        let isFrozen = listing.isFrozen && listing.isComplete && !configuration.isOffline && !view.node.isLatest
        open(view, isFrozen: isFrozen, reply)
    }

    private func open(_ view: DirectoryView, isFrozen: Bool, _ reply: OpenReply) {
        let handle = handles.insert(.directory(view))
        reply.opened(handle: handle, keepCache: isFrozen, directIO: false, cacheDirectory: isFrozen)
    }

    /// The names of a directory that is known without asking; nil for listings and what is no directory.
    func names(in node: Node) -> [(name: String, node: Node)]? {
        switch node {
        case .root: namesInRoot
        case .rankings: listedModes.map { ($0.rawValue, .mode($0)) }
        case .mode(let mode):
            // Behind the days: who packs links as links stores the pictures in the directory that keeps its name.
            shownDays(of: mode).map { ($0.description, .day(mode, $0)) }
                + [(TreePath.latest(mode).name, .latest(mode))]
        case .dates(let directory): names(in: directory)
        case .users:
            catalog.listings.authors.map {
                (String($0.rawValue), .author($0, modified: catalog.listings.loaded(.author($0))?.modified))
            }
        case .works:
            storedNumbers { if case .work(let work) = $0 { work.rawValue } else { nil } }
                .map { (String($0), .work(WorkID(rawValue: $0))) }
        case .searches: storedSearches.map { ($0, .search($0)) }
        case .recent:
            catalog.recents.pictures.map { ($0.name, .link(.recent($0))) }
        case .helpers: HelperFile.allCases.filter(\.isBelowHelpers).map { ($0.name, .helper($0)) }
        // What it holds is found by name only.
        case .sharedThumbnails(let beside, nil):
            ThumbnailSize.allCases.map { ($0.directory, .sharedThumbnails(beside, $0)) }
        case .sharedThumbnails: []
        default: nil
        }
    }
}

// MARK: - Reading

extension RankFileSystem {
    package func readDirectory(_ request: ReadRequest, reply: DirectoryReply) {
        guard case .directory(let view) = handles[request.handle] else {
            return refuse(reply, .unknownHandle, subject: "inode \(request.inode)")
        }
        let start = max(0, Int(request.offset))
        switch view.content {
        case .fixed(let names):
            pack(view, from: start, count: names.count, reply) { (names[$0].name, names[$0].node, nil) }
            reply.send()
        case .listing(let extras, let listing):
            // Whoever opened it may have shown itself as a file manager since.
            view.wish = isVisiting(view.node, request.caller) ? wish(of: request.caller, in: sight(of: view.node)) : nil
            if view.noteRead() { walks.withLock { $0.beganReading(listing.key, by: view.reader) } }
            let packed = pack(view, extras, listing, from: start, reply)
            if packed.isAnswer {
                reply.send()
                if !packed.isEnd { askAhead(listing, packed.known - 1, isNobodys: view.isNobodys) }
                return
            }
            later(reply, subject: { view.node.path }) { () async throws(Failure) in
                var packed = packed
                // An answer without entries would be the directory's end: pages of which everything is hidden are passed over.
                while !packed.isAnswer {
                    try await self.askOn(listing, packed.known, isNobodys: view.isNobodys)
                    packed = self.pack(view, extras, listing, from: packed.next, reply)
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
    }

    /// Lets the listing ask for the page behind what was just read; what goes wrong is told to the reader who waits for it.
    private func askAhead(_ listing: Listing, _ index: Int, isNobodys: Bool) {
        guard index >= 0 else { return }
        Task { try? await self.askOn(listing, index, isNobodys: isNobodys) }
    }

    /// Waits for an entry of a listing.
    private func askOn(_ listing: Listing, _ index: Int, isNobodys: Bool) async throws(Failure) {
        let failure: CatalogError? = await Errand.$isNobodys.withValue(isNobodys) {
            // Typed errors do not pass through.
            do throws(CatalogError) {
                _ = try await listing.entries(reaching: index)
                return nil
            } catch { return error }
        }
        if let failure { throw .catalog(failure) }
    }

    /// Packs the entries of a listing that are known now.
    private func pack(
        _ view: DirectoryView, _ extras: [(name: String, node: Node)], _ listing: Listing, from start: Int,
        _ reply: DirectoryReply
    ) -> Packed {
        // In this order: what completes the listing in between must not hide its last entries.
        let isComplete = listing.isComplete || configuration.isOffline
        let entries = listing.entries
        let numbers = listing.key.listsAuthors ? nil : PictureNumbers(listing.key)
        let (next, hasEntries) = pack(view, from: start, count: extras.count + entries.count, reply) { place in
            guard place >= extras.count else { return (extras[place].name, extras[place].node, nil) }
            let index = place - extras.count
            let entry = entries[index]
            if entry.isHidden || configuration.isOffline && !opens(entry, of: listing) { return nil }
            return (entry.name, listing.node(at: index, entry), numbers?.number(of: entry))
        }
        return Packed(
            next: next, known: max(0, next - DirectoryView.dots - extras.count), isEnd: isComplete,
            isAnswer: hasEntries || isComplete)
    }

    /// Packs until the buffer is full or the entries end; returns the offset to go on at, and whether there was any to show.
    @discardableResult
    private func pack(
        _ view: DirectoryView, from start: Int, count: Int, _ reply: DirectoryReply,
        entry: (Int) -> Entry?
    ) -> (next: Int, hasEntries: Bool) {
        var offset = start
        var hasEntries = false
        while offset < count + DirectoryView.dots {
            let added: Bool
            switch offset {
            case 0: added = addDot(".", view.node, next: 1, reply)
            case 1: added = addDot("..", view.node.parent, next: 2, reply)
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

    private func addDot(_ name: String, _ node: Node, next: Int64, _ reply: DirectoryReply) -> Bool {
        reply.add(name, inode: inodes.number(of: node), kind: .directory, nextOffset: next, attributes: nil)
    }

    /// Adds an entry: with attributes, which counts as a lookup, if they are known without asking.
    private func add(_ entry: Entry, of view: DirectoryView, next: Int, _ reply: DirectoryReply) -> Bool {
        let name = entry.name
        let kind = entry.node.kind
        let isHeldUp = view.wish.map { isExpected(entry.node, $0) } ?? false
        guard reply.wantsAttributes, !isHeldUp, isCertain(entry.node) else {
            return reply.add(
                name, inode: inodes.number(of: entry.node), kind: kind, nextOffset: Int64(next), attributes: nil)
        }
        let number = inodes.adopt(entry.node, number: entry.number)
        let shown = known(entry.node, number: number)
        let attributes = shown.map {
            (
                attributes: $0.attributes, entryTimeout: min($0.entryTimeout, view.node.longestName),
                attributesTimeout: $0.attributesTimeout
            )
        }
        let added = reply.add(name, inode: number, kind: kind, nextOffset: Int64(next), attributes: attributes)
        if added, let shown {
            watchAnnouncement(shown, number)
        } else {
            forget(number, lookups: 1)
        }
        return added
    }

    /// Whether a listed node surely exists, so that the kernel need not look it up.
    private func isCertain(_ node: Node) -> Bool {
        switch node {
        case .day(let mode, let day):
            day < catalog.days.newestPossible(of: mode) || catalog.listings.isStored(.ranking(mode, day))
        case .author(_, let modified): modified != nil
        case .work: isStored(node)
        default: true
        }
    }
}

extension Node {
    /// What readdir(3) shows in `d_type`.
    var kind: Attributes.Kind {
        switch self {
        case .root, .rankings, .mode, .day, .latest, .dates, .users, .author, .bookmarks, .following, .works, .work,
            .searches, .search, .recent, .helpers, .sharedThumbnails:
            .directory
        case .link: .link
        case .helper, .made, .picture, .sharedThumbnail: .file
        }
    }
}
