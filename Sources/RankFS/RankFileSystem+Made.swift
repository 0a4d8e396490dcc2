import Catalog
import Fuse
import ImageCache
import Rankings
import Render
import Synchronization

/// Files that are made of what the service tells.
extension RankFileSystem {
    /// What `stat` shows: bytes and modification time in Unix seconds.
    func sizeAndTime(of file: MadeFile) async throws(Failure) -> (size: Int64, modified: Int64) {
        switch file {
        case .info, .profile:
            let text = try await text(of: file)
            return (Int64(text.text.utf8.count), text.changed)
        case .matroska(let work):
            let listing = try await listing(of: work)
            return (try await animations.matroskaSize(of: listing), listing.modified)
        case .webp(let work):
            let listing = try await listing(of: work)
            if let picture = AnimationFiles.picture(.webp, in: listing),
                let size = await catalog.sizes.stored(of: picture)
            {
                return (size, listing.modified)
            }
            return (Int64(try await animations.webP(of: listing).count), listing.modified)
        case .avatar(let author):
            guard let avatar = try await avatar(of: author) else {
                return (Int64(StandIn.jpeg.count), catalog.listings.loaded(.author(author))?.modified ?? 0)
            }
            return (avatar.size ?? 0, avatar.id.uploaded)
        }
    }

    func open(_ file: MadeFile, _ request: OpenRequest, _ reply: OpenReply) {
        later(reply, subject: { file.path }) { () async throws(Failure) in
            switch file {
            case .info, .profile:
                let text = try await self.text(of: file)
                let handle = self.handles.insert(.text(Array(text.text.utf8)))
                // What the kernel keeps of it may be shorter than the new text.
                reply.opened(handle: handle, keepCache: false, directIO: true, cacheDirectory: false)
            case .avatar(let author):
                guard let avatar = try await self.avatar(of: author) else {
                    let handle = self.handles.insert(.text(StandIn.jpeg))
                    return reply.opened(handle: handle, keepCache: true, directIO: false, cacheDirectory: false)
                }
                await self.serveLater(
                    try self.opened(avatar), as: .made(file), size: (avatar.size ?? 0, isAnnounced: false), request,
                    reply)
            case .matroska(let work):
                let listing = try await self.listing(of: work)
                let told = await self.animations.storedMatroskaSize(of: listing)
                let animation = try await self.animations.matroska(of: listing)
                let isAsTold = told == nil || told == animation.layout.length
                // The title is in it, and authors change titles: the kernel must not cut it to the length it had.
                if !isAsTold { self.invalidateAttributes(request.inode) }
                let handle = self.handles.insert(.animation(animation, .made(file)))
                reply.opened(handle: handle, keepCache: isAsTold, directIO: false, cacheDirectory: false)
            case .webp(let work):
                let listing = try await self.listing(of: work)
                if let stored = try await self.animations.storedWebP(of: listing) {
                    return await self.serveLater(
                        stored.picture, as: .made(file), size: (stored.size, isAnnounced: false), request, reply)
                }
                let handle = self.handles.insert(.text(try await self.animations.webP(of: listing)))
                reply.opened(handle: handle, keepCache: true, directIO: false, cacheDirectory: false)
            }
        }
    }

    func read(_ file: AnimationFile, _ node: Node, _ request: ReadRequest, _ reply: DataReply) {
        let count = Int(max(0, min(Int64(request.size), file.layout.length - request.offset)))
        later(reply, subject: { node.path }) { () async throws(Failure) in
            reply.bytes(try await file.bytes(offset: request.offset, count: count))
        }
    }

    // MARK: -

    private func text(of file: MadeFile) async throws(Failure) -> StoredText {
        let pages: [String]
        switch file {
        case .info(let work): pages = try await listing(of: work).entries.map(\.name)
        default: pages = []
        }
        do throws(CatalogError) {
            switch file {
            case .info(let work): return try await catalog.records.details(of: work, pages: pages)
            case .profile(let author): return try await catalog.records.profile(of: author)
            case .avatar, .matroska, .webp: throw .noSuchListing
            }
        } catch { throw .catalog(error) }
    }

    private func listing(of work: WorkID) async throws(Failure) -> Listing {
        guard let listing = try await listing(.work(work)) else { throw .noSuchName }
        return listing
    }

    /// Where an author's picture is, with its size; nil for an author without one.
    func avatar(of author: UserID) async throws(Failure) -> PictureRequest? {
        let reference: String?
        do throws(CatalogError) { reference = try await catalog.records.avatar(of: author) } catch {
            throw .catalog(error)
        }
        guard let reference, let (location, uploaded) = source.avatar(reference) else { return nil }
        let picture = PictureID(
            work: WorkID(rawValue: author.rawValue), page: 0, rendition: .avatar, uploaded: uploaded)
        var request = PictureRequest(
            id: picture, location: location, size: cache.storedSize(of: picture),
            path: { MadeFile.avatar(author).path })
        if request.size != nil { return request }
        do throws(CatalogError) {
            request.size = try await catalog.sizes.size(of: picture, at: location)
        } catch .sizeNotTold {
            request.size = try await learnSize(of: request)
        } catch { throw .catalog(error) }
        return request
    }

    private func opened(_ request: PictureRequest) throws(Failure) -> OpenPicture {
        do throws(ImageCacheError) { return try cache.open(request, neighbours: nil) } catch { throw .picture(error) }
    }
}
