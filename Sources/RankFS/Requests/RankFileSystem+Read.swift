import Catalog
import Dispatch
package import Fuse
import Glibc
import ImageCache
import Rankings
import Render

extension OpenRequest {
    /// Whether the opener copies or packs: `cp -r`, `rsync`, `tar` and backup programs follow no links, viewers do.
    var isBulk: Bool { flags & O_NOFOLLOW != 0 }
}

extension RankFileSystem {
    package func open(_ request: OpenRequest, reply: OpenReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        if let failure = tree.refusal(of: node, to: request.caller) {
            return refuse(reply, failure, subject: node.path.text)
        }
        guard request.flags & (O_ACCMODE | O_TRUNC) == O_RDONLY else {
            return refuse(reply, .readOnly, subject: node.path.text)
        }
        switch node {
        case .picture(let listing, let index):
            let entry = listing.entries[Int(index)]
            if entry.isWithheld { return refuse(reply, .withheld, subject: node.path.text) }
            if let reading = thumbnails.reading(listing, Int(index), node.path.text, request.caller) {
                return later(reply, subject: { node.path.text }) { () async throws(Failure) in
                    try await self.thumbnails.prepare(reading, of: listing, at: node.path.text)
                    try await self.openAsking(node, listing, Int(index), request, reply)
                }
            }
            if let size = sizes.known(listing, Int(index)), let location = tree.knownLocation(of: entry) {
                do throws(Failure) {
                    let picture = try opened(node, listing, Int(index), location, size, request)
                    return serve(picture, as: node, size: size, request, reply)
                } catch {
                    return refuse(reply, error, subject: node.path.text)
                }
            }
            later(reply, subject: { node.path.text }) { () async throws(Failure) in
                try await self.openAsking(node, listing, Int(index), request, reply)
            }
        case .file(let file): open(file, request, reply)
        case .directory, .link: refuse(reply, .isADirectory, subject: node.path.text)
        }
    }

    /// Opens what is no picture of a listing.
    private func open(_ file: any TreeFile, _ request: OpenRequest, _ reply: OpenReply) {
        if let opened = file.openedNow(in: tree, toOwner: tree.isOwner(request.caller)) {
            return serve(opened, as: .file(file), request, reply)
        }
        later(reply, subject: { file.path.text }) { () async throws(Failure) in
            let opened = try await file.opened(in: self.tree)
            if case .picture(let picture, let size) = opened {
                return await self.serveLater(
                    picture, as: .file(file), size: (size, isAnnounced: false), request, reply)
            }
            self.serve(opened, as: .file(file), request, reply)
        }
    }

    private func serve(_ opened: OpenedFile, as node: Node, _ request: OpenRequest, _ reply: OpenReply) {
        switch opened {
        case .text(let text, let isLive):
            let handle = handles.insert(.text(text))
            reply.opened(handle: handle, keepCache: !isLive, directIO: isLive, cacheDirectory: false)
        case .animation(let animation, let isAsTold):
            // The title is in it, and authors change titles: the kernel must not cut it to the length it had.
            if !isAsTold { invalidateAttributes(request.inode) }
            let handle = handles.insert(.animation(animation, node))
            reply.opened(handle: handle, keepCache: isAsTold, directIO: false, cacheDirectory: false)
        case .picture(let picture, let size):
            serve(picture, as: node, size: (size, isAnnounced: false), request, reply)
        }
    }

    /// Opens a picture of which something has to be asked first.
    private func openAsking(
        _ node: Node, _ listing: Listing, _ index: Int, _ request: OpenRequest, _ reply: OpenReply
    ) async throws(Failure) {
        let size = try await sizes.asked(listing, index)
        let picture = try opened(node, listing, index, tree.location(of: listing.entries[index]), size, request)
        await serveLater(picture, as: node, size: size, request, reply)
    }

    private func opened(
        _ node: Node, _ listing: Listing, _ index: Int, _ location: PictureLocation, _ size: KnownSize,
        _ request: OpenRequest
    ) throws(Failure) -> OpenPicture {
        let picture = PictureRequest(
            id: listing.entries[index].picture, location: location, size: size.isAnnounced ? nil : size.bytes,
            isPrivate: configuration.isPrivate(listing.key), path: { node.path.text })
        do throws(ImageCacheError) {
            return try tree.cache.open(
                picture, neighbours: neighbours(listing, index, isBulk: request.isBulk),
                onRead: noting(picture.id, node.path.text, request.caller))
        } catch {
            throw .picture(error)
        }
    }

    /// What puts a picture in front of `recent/` once it is really read; nil for one that is not listed there.
    private func noting(_ picture: PictureID, _ path: String, _ caller: Caller) -> (@Sendable () -> Void)? {
        guard configuration.notesRecent, Rendition.ofListings.contains(picture.rendition),
            !tree.desktops.cameByRecent(to: path, caller)
        else { return nil }
        return { [catalog = tree.catalog] in catalog.recents.note(path) }
    }

    /// Answers with an open picture.
    private func serve(
        _ picture: OpenPicture, as node: Node, size: KnownSize, _ request: OpenRequest, _ reply: OpenReply
    ) {
        let opening = pages.opening(request.inode, serving: picture.versionAtOpen)
        guard case .dropping = opening else {
            return serve(picture, as: node, size: size, opening, request.caller, reply)
        }
        later(reply, subject: { node.path.text }) { () async throws(Failure) in
            await self.drop(request.inode, opening)
            self.serve(picture, as: node, size: size, opening, request.caller, reply)
        }
    }

    /// As `serve`, from a task of the reply's.
    private func serveLater(
        _ picture: OpenPicture, as node: Node, size: KnownSize, _ request: OpenRequest, _ reply: OpenReply
    ) async {
        let opening = pages.opening(request.inode, serving: picture.versionAtOpen)
        await drop(request.inode, opening)
        serve(picture, as: node, size: size, opening, request.caller, reply)
    }

    private func serve(
        _ picture: OpenPicture, as node: Node, size: KnownSize, _ opening: PageVersions.Opening, _ caller: Caller,
        _ reply: OpenReply
    ) {
        let isDirect = opening == .direct
        let isNoted = configuration.notesRecent && !tree.desktops.cameByRecent(to: node.path.text, caller)
        let handle = handles.insert(
            .picture(
                PictureHandle(
                    picture, node: node, size: size.bytes, isAnnounced: size.isAnnounced, isDirect: isDirect,
                    isNoted: isNoted)))
        // Pages are kept always: the kernel would drop them while it opens, and wait for those that others are waiting for, deaf
        // to every signal. What must go has been dropped before.
        reply.opened(handle: handle, keepCache: true, directIO: isDirect, cacheDirectory: false)
    }

    /// Has the kernel drop the pages of an inode if an open is to be answered so.
    private func drop(_ inode: UInt64, _ opening: PageVersions.Opening) async {
        guard case .dropping(let epoch) = opening else { return }
        await withCheckedContinuation { continuation in
            // Not on a task's thread: the kernel waits for pages that are being read, if an earlier reader left some behind.
            DispatchQueue.global().async {
                self.configuration.invalidate(inode)
                continuation.resume()
            }
        }
        pages.dropped(inode, epoch: epoch)
    }

    package func release(_ request: ReleaseRequest) {
        memory.noteWork()
        switch handles.remove(request.handle) {
        case .picture(let handle):
            handle.picture.close()
            if !handle.isDirect { pages.closed(request.inode) }
            // Read before, and now without asking: the kernel had its pages.
            if handle.isUnread, handle.isNoted { tree.catalog.recents.noteAgain(handle.node.path.text) }
        case .animation(let file, _): file.close()
        case .text, .directory, nil: break
        }
    }
}

// MARK: - Reading

extension RankFileSystem {
    package func part(of request: ReadRequest) -> FilePart? {
        guard case .picture(let handle) = handles[request.handle], (0..<handle.size).contains(request.offset)
        else { return nil }
        // Never beyond the size that stat showed, as in `read`.
        let count = Int(min(Int64(request.size), handle.size - request.offset))
        guard let (file, version) = handle.picture.settledBytes(offset: request.offset, count: count),
            handle.isAdmitted(version, to: request.inode, by: pages)
        else { return nil }
        return FilePart(of: file, descriptor: file.descriptor, offset: request.offset, count: count)
    }

    package func read(_ request: ReadRequest, reply: DataReply) {
        switch handles[request.handle] {
        case .text(let bytes):
            let start = min(max(0, Int(request.offset)), bytes.count)
            reply.bytes(Array(bytes[start..<min(bytes.count, start + request.size)]))
        case .picture(let handle):
            read(handle, request, reply)
        case .animation(let file, let node): read(file, node, request, reply)
        case .directory, nil:
            refuse(reply, .unknownHandle, subject: "inode \(request.inode)")
        }
    }

    private func read(_ file: AnimationFile, _ node: Node, _ request: ReadRequest, _ reply: DataReply) {
        let count = Int(max(0, min(Int64(request.size), file.layout.length - request.offset)))
        later(reply, subject: { node.path.text }) { () async throws(Failure) in
            reply.bytes(try await file.bytes(offset: request.offset, count: count))
        }
    }

    private func read(
        _ handle: PictureHandle, _ request: ReadRequest, _ reply: DataReply
    ) {
        let (picture, node, size) = (handle.picture, handle.node, handle.size)
        // Never beyond the size that stat showed: what the kernel believes and what it gets must agree.
        let offset = request.offset
        guard offset >= 0, offset < size, request.size > 0 else { return reply.bytes([]) }
        let count = Int(min(Int64(request.size), size - offset))
        let pending: PendingBytes
        do throws(Failure) {
            let reading: OpenPicture.Reading
            do throws(ImageCacheError) {
                reading = try picture.read(offset: offset, count: count)
            } catch {
                throw .picture(error)
            }
            switch reading {
            case .bytes(let bytes): return try give(bytes, offset, count, of: handle, request.inode, reply)
            case .later(let later): pending = later
            }
        } catch {
            noteDamage(error, node, request.inode)
            return refuse(reply, error, subject: node.path.text)
        }
        later(reply, subject: { node.path.text }) { () async throws(Failure) in
            do throws(Failure) {
                let bytes: PictureBytes
                do throws(ImageCacheError) {
                    bytes = try await pending.bytes()
                } catch {
                    throw .picture(error)
                }
                try self.give(bytes, offset, count, of: handle, request.inode, reply)
            } catch {
                self.noteDamage(error, node, request.inode)
                throw error
            }
        }
    }

    /// Answers with exactly `count` bytes, or with fewer at the end of a picture whose length nobody knew: a shorter answer is
    /// the end of the file to the kernel.
    private func give(
        _ bytes: PictureBytes, _ offset: Int64, _ count: Int, of handle: PictureHandle, _ inode: UInt64,
        _ reply: DataReply
    ) throws(Failure) {
        guard case .file(let file, let place, let given) = bytes, given == count || handle.isAnnounced else {
            if handle.isAnnounced { return reply.bytes([]) }
            throw .picture(.damaged("the picture ends before its announced length"))
        }
        guard handle.isDirect || handle.picture.version.map({ pages.admits($0, to: inode) }) ?? false else {
            throw .picture(.damaged("the picture changed at the source while others had it open"))
        }
        handle.noteRead()
        withExtendedLifetime(file) { reply.file(file.descriptor, offset: place, count: given) }
    }

    /// What the kernel keeps of a size that turned out wrong is asked again, and of bytes it is dropped at the next open.
    ///
    /// Only another length makes the size doubtful, so that the next `stat` asks again: a cut or a portal's page says nothing of it.
    private func noteDamage(_ failure: Failure, _ node: Node, _ inode: UInt64) {
        switch failure {
        case .picture(.damaged): break
        case .picture(.lengthContradicts):
            guard case .picture(let listing, let index) = node else { break }
            let entry = listing.entries[Int(index)]
            // What tells a digest knows the length, whatever the image host says.
            if tree.knownLocation(of: entry)?.digest == nil { tree.catalog.sizes.forget(entry.picture) }
        default: return
        }
        pages.spoil(inode)
        invalidateAttributes(inode)
    }

    /// Lets the kernel ask for the attributes of an inode again; pages that are wrong are dropped when it is opened next.
    func invalidateAttributes(_ inode: UInt64) {
        tree.invalidateAttributes(inode)
    }
}
