import Catalog
import Dispatch
package import Fuse
import Glibc
import ImageCache
import System
import Rankings
import Render

extension OpenRequest {
    /// Whether the opener copies or packs: `cp -r`, `rsync`, `tar` and backup programs follow no links, viewers do.
    var isBulk: Bool { flags & O_NOFOLLOW != 0 }

    /// Whether the opener only determines the type of the file, as libmagic does for `file`.
    ///
    /// GNU tar, which also sets O_NONBLOCK so as not to wait for devices, follows no links. The kernel keeps O_CLOEXEC to itself
    /// (build_open_flags in fs/open.c), so it distinguishes nothing.
    var isSniffing: Bool { flags & O_NONBLOCK != 0 && !isBulk }
}

extension RankFileSystem {
    package func open(_ request: OpenRequest, reply: OpenReply) {
        guard let node = node(request.inode, or: reply) else { return }
        if let failure = tree.refusal(of: node, to: request.caller) {
            return refuse(reply, failure, subject: node.path.text)
        }
        guard request.flags & (O_ACCMODE | O_TRUNC) == O_RDONLY else {
            return refuse(reply, .readOnly, subject: node.path.text)
        }
        switch node {
        case .picture(let listing, let index):
            let entry = listing.entries[Int(index)]
            if entry.isWithheld { return refuse(reply, .withheldPicture, subject: node.path.text) }
            if let failure = tree.refusal(of: entry.picture, in: listing) {
                return refuse(reply, failure, subject: node.path.text)
            }
            let (name, endsWalk) = tree.callers.facts { callers, _ in
                (
                    callers.furtherName(of: node.path.text, openedBy: request.caller.process),
                    callers.beganReading(
                        pictureIn: listing.key, by: request.caller.process, isCopy: request.isBulk)
                )
            }
            if endsWalk { tree.catalog.sizes.endWalk(of: listing) }
            // The thumbnail made from the preview would belong to the name in the listing.
            if name == nil, let reading = thumbnails.reading(listing, Int(index), node.path.text, request.caller) {
                return later(reply, subject: { node.path.text }) { () async throws(Failure) in
                    try await self.thumbnails.prepare(reading, of: listing, at: node.path.text)
                    try await self.openAsking(
                        listing, Int(index), as: name, isAlone: !reading.isViewer, request, reply)
                }
            }
            if let size = sizes.known(listing, Int(index)), let location = tree.knownLocation(of: entry) {
                do throws(Failure) {
                    return serve(try opened(listing, Int(index), as: name, location, size, request), request, reply)
                } catch {
                    return refuse(reply, error, subject: node.path.text)
                }
            }
            later(reply, subject: { node.path.text }) { () async throws(Failure) in
                try await self.openAsking(listing, Int(index), as: name, request, reply)
            }
        case .file(let file): open(file, request, reply)
        case .directory, .link: refuse(reply, .isADirectory, subject: node.path.text)
        }
    }

    /// Opens a file that is no picture of a listing.
    private func open(_ file: any TreeFile, _ request: OpenRequest, _ reply: OpenReply) {
        if let (text, isLive) = file.openedNow(in: tree, toOwner: tree.isOwner(request.caller)) {
            return serve(text, isLive: isLive, reply)
        }
        later(reply, subject: { file.path.text }) { () async throws(Failure) in
            let opened = try await file.opened(in: self.tree)
            switch opened {
            case .picture(let picture, let size):
                self.serve((picture, .file(file), (size, false), isNoted: false), request, reply)
            case .animation(let film, let isAsTold):
                // The file contains the title, which authors change: the kernel must not cut the file to its former length.
                if !isAsTold { self.tree.invalidateAttributes(request.inode) }
                self.serve(film.archive, film.version, request.inode, reply) {
                    .animation(film, .file(file), isDirect: $0)
                }
            case .text(let text, let isLive): self.serve(text, isLive: isLive, reply)
            }
        }
    }

    private func serve(_ text: [UInt8], isLive: Bool, _ reply: OpenReply) {
        let handle = handles.insert(.text(text))
        reply.opened(handle: handle, keepCache: !isLive, directIO: isLive, cacheDirectory: false)
    }

    /// Opens a picture after a request for its size.
    private func openAsking(
        _ listing: Listing, _ index: Int, as name: Callers.FurtherName?, isAlone: Bool = false, _ request: OpenRequest,
        _ reply: OpenReply
    ) async throws(Failure) {
        let size = try await sizes.asked(listing, index, by: request.caller, isGlance: false)
        let location = try tree.location(of: listing.entries[index])
        serve(try opened(listing, index, as: name, isAlone: isAlone, location, size, request), request, reply)
    }

    /// Opens a picture by its name in a directory of its listing, or by a further name, which starts no preloads.
    private func opened(
        _ listing: Listing, _ index: Int, as name: Callers.FurtherName?, isAlone: Bool = false,
        _ location: PictureLocation,
        _ size: KnownSize, _ request: OpenRequest
    ) throws(Failure) -> OpenedPicture {
        let node = Node.picture(listing, Int32(clamping: index))
        let picture = PictureRequest(
            id: listing.entries[index].picture, location: location, size: size.isAnnounced ? nil : size.bytes,
            isPrivate: configuration.isPrivate(listing.key), path: { node.path.disclosed })
        let isNoted =
            configuration.notesRecent && name != .recent && !listing.key.kind.facts.isSecret
            && Rendition.ofListings.contains(picture.id.rendition)
        let note: @Sendable () -> Void = { [catalog = tree.catalog] in
            catalog.recents.note(node.path.text, picture.id)
        }
        // A server of files reads what its clients do.
        let isSniffing =
            request.isSniffing
            && tree.callers.processes.program(request.caller.process)?.name.hasPrefix(KnownPrograms.fileServer) != true
        let isAlone = isAlone || name != nil || isSniffing
        let opened = try tree.cache.open(
            picture, neighbours: isAlone ? nil : neighbours(listing, index, isBulk: request.isBulk),
            onRead: isNoted ? note : nil)
        return (opened, node, size, isNoted)
    }

    /// Answers with an open picture.
    private func serve(_ opened: OpenedPicture, _ request: OpenRequest, _ reply: OpenReply) {
        let picture = opened.picture
        serve(picture, picture.versionAtOpen, request.inode, reply) { .picture(PictureHandle(opened, isDirect: $0)) }
    }

    /// Answers with a file that goes by the kernel's pages, or past them; pages of another version are dropped before.
    private func serve(
        _ picture: OpenPicture, _ version: PictureVersion?, _ inode: UInt64, _ reply: OpenReply,
        _ handle: @escaping @Sendable (_ isDirect: Bool) -> Handle
    ) {
        let answer = { @Sendable [handles] (isDirect: Bool) in
            // Pages are always kept: the kernel would drop them during the open and wait for pages that other readers wait for,
            // and no signal would interrupt that. Invalid pages have been dropped before.
            reply.opened(
                handle: handles.insert(handle(isDirect)), keepCache: true, directIO: isDirect, cacheDirectory: false)
        }
        switch pages.opening(inode, of: picture.picture, serving: version, whenDropped: { answer(false) }) {
        case .waiting: break
        case .dropping:
            // Not on this thread: the kernel waits for pages that are being read, if an earlier reader left some unfinished.
            DispatchQueue.global().async {
                self.configuration.invalidate(inode)
                self.pages.dropped(inode)
            }
        case let opening: answer(opening == .direct)
        }
    }

    package func release(_ inode: UInt64, handle number: UInt64) {
        memory.noteWork()
        switch handles.remove(number) {
        case .picture(let handle):
            handle.opened.picture.close()
            if !handle.isDirect { pages.closed(inode) }
            // The picture was read before, and now without a request: the kernel had its pages.
            if handle.isUnread, handle.opened.isNoted {
                tree.catalog.recents.noteAgain(handle.opened.node.path.text, handle.opened.picture.picture)
            }
        case .animation(let file, _, let isDirect):
            file.close()
            if !isDirect { pages.closed(inode) }
        case .directory(let view): closed(view)
        case .text, nil: break
        }
    }

    // MARK: - Reading

    package func part(of request: ReadRequest) -> FilePart? {
        guard case .picture(let handle) = handles[request.handle],
            let count = handle.count(at: request.offset, wanted: request.size)
        else { return nil }
        guard let (file, version) = handle.opened.picture.settledBytes(offset: request.offset, count: count),
            handle.isAdmitted(version, for: request, by: pages), let open = try? file.opened()
        else { return nil }
        return (open, open.descriptor, request.offset, count)
    }

    package func read(_ request: ReadRequest, reply: DataReply) {
        switch handles[request.handle] {
        case .text(let bytes):
            let start = min(max(0, Int(request.offset)), bytes.count)
            reply.bytes(Array(bytes[start..<min(bytes.count, start + request.size)]))
        case .picture(let handle):
            read(handle, request, reply)
        case .animation(let file, let node, let isDirect): read(file, node, isDirect, request, reply)
        case .directory, nil:
            refuse(reply, .unknownHandle, subject: "inode \(request.inode)")
        }
    }

    private func read(
        _ file: AnimationFile, _ node: Node, _ isDirect: Bool, _ request: ReadRequest, _ reply: DataReply
    ) {
        let count = Int(max(0, min(Int64(request.size), file.layout.length - request.offset)))
        later(reply, subject: { node.path.text }) { () async throws(Failure) in
            do throws(Failure) {
                let bytes = try await file.bytes(offset: request.offset, count: count)
                guard isDirect && !request.isForPages || self.pages.admits(file.version, to: request.inode) else {
                    throw .damaged("the animation's title or upload changed while others had it open")
                }
                reply.bytes(bytes)
            } catch {
                self.noteDamage(error, of: file.archive, request.inode)
                throw error
            }
        }
    }

    private func read(
        _ handle: PictureHandle, _ request: ReadRequest, _ reply: DataReply
    ) {
        let (picture, node, offset) = (handle.opened.picture, handle.opened.node, request.offset)
        guard let count = handle.count(at: offset, wanted: request.size) else { return reply.bytes([]) }
        let pending: PendingBytes
        do throws(Failure) {
            let reading = try picture.read(offset: offset, count: count)
            switch reading {
            case .bytes(let bytes): return try give(bytes, count, of: handle, request, reply)
            case .later(let later): pending = later
            }
        } catch {
            noteDamage(error, of: picture, request.inode)
            return refuse(reply, error, subject: node.path.text)
        }
        later(reply, subject: { node.path.text }) { () async throws(Failure) in
            do throws(Failure) {
                let bytes = try await pending.bytes()
                try self.give(bytes, count, of: handle, request, reply)
            } catch {
                self.noteDamage(error, of: picture, request.inode)
                throw error
            }
        }
    }

    /// Answers with exactly `count` bytes, or with fewer at the end of a picture of unknown length.
    ///
    /// The kernel treats a shorter answer as the end of the file.
    private func give(
        _ bytes: PictureBytes, _ count: Int, of handle: PictureHandle, _ request: ReadRequest, _ reply: DataReply
    ) throws(Failure) {
        let isAnnounced = handle.opened.size.isAnnounced
        guard case .file(let file, let place, let given, let version) = bytes, given == count || isAnnounced else {
            if isAnnounced { return reply.bytes([]) }
            throw .damaged("the picture ends before its announced length")
        }
        let goesPastPages = handle.isDirect && !request.isForPages
        guard goesPastPages || pages.admits(version, to: request.inode) else {
            throw .damaged("the picture changed at the source while others had it open")
        }
        let open = try file.picture()
        handle.noteRead()
        withExtendedLifetime(open) { reply.file(open.descriptor, offset: place, count: given) }
    }

    /// Handles wrong data: a wrong size is queried again, and wrong bytes are dropped at the next open.
    private func noteDamage(_ failure: Failure, of picture: OpenPicture, _ inode: UInt64) {
        switch failure {
        case .damaged, .lengthContradicts: tree.doubtSize(of: picture, after: failure)
        case .gone:
            return tree.catalog.listings.renew(picture.picture) { await self.invalidate($0.map { $0.directory() }) }
        default: return
        }
        pages.spoil(inode)
        tree.invalidateAttributes(inode)
    }

    // MARK: - Neighbours

    /// The pictures around an open one, counted without the withheld ones.
    func neighbours(_ listing: Listing, _ index: Int, isBulk: Bool = false) -> Neighbours {
        let orders = listing.browsingOrders
        let place = Int(orders.places[index])
        let isPrivate = configuration.isPrivate(listing.key)
        return Neighbours(
            directory: inodes.number(of: .directory(listing.directory)), index: place,
            orders: [(.byName, orders.byName), (.byTime, orders.byTime)].compactMap { kind, order in
                order.map { PictureOrder(kind, places: $0.places, indices: $0.indices) }
            }, isBulk: isBulk
        ) { [self] wanted in
            guard let index = entry(of: listing, steps: wanted - place, from: index) else { return nil }
            let entry = listing.entries[index]
            return tree.knownLocation(of: entry).map {
                PictureRequest(
                    id: entry.picture, location: $0, size: listing.size(at: index), isPrivate: isPrivate,
                    path: { listing.path(of: entry) })
            }
        }
    }

    /// Returns the index of the entry some readable entries before or after another one, among the shown entries.
    private func entry(of listing: Listing, steps: Int, from start: Int) -> Int? {
        let entries = listing.entries
        let direction = steps.signum()
        var left = abs(steps)
        var index = start
        while left > 0 {
            index += direction
            guard entries.indices.contains(index) else { return nil }
            if entries[index].isBrowsed { left -= 1 }
        }
        return index
    }
}
