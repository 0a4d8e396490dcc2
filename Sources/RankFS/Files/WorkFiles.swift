import Catalog
import Fuse
import ImageCache
import Rankings
import Render

/// The files made from the service's data about a work, beside its pages.
enum WorkFiles {
    static func of(_ work: WorkID, isAnimation: Bool) -> [any TreeFile] {
        isAnimation
            ? [InfoFile(work: work), MatroskaFile(work: work)]
                + AnimationFiles.encoded.map { EncodedFile(work: work, rendition: $0) }
            : [InfoFile(work: work)]
    }
}

/// A file whose text is a record of the catalogue.
protocol RecordFile: TreeFile {
    /// The record, stored or requested.
    func text(in tree: Tree) async throws(Failure) -> StoredText
}

extension RecordFile {
    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        let text = try await text(in: tree)
        return (Int64(text.text.utf8.count), text.changed)
    }

    func opened(in tree: Tree) async throws(Failure) -> OpenedFile {
        // The length cached by the kernel may be shorter than the new text.
        .text(Array(try await text(in: tree).text.utf8), isLive: true)
    }
}

/// `info.json`: the full record of a work.
struct InfoFile: RecordFile {
    let work: WorkID

    var path: TreePath { .entry(.work(work), "info.json") }

    func text(in tree: Tree) async throws(Failure) -> StoredText {
        let pages = try await tree.listing(ofWork: work).entries.map(\.name)
        return try await tree.catalog.records.details(of: work, pages: pages)
    }

    func opens(in tree: Tree) async -> Bool { await tree.catalog.records.hasDetails(of: work) }
}

/// `ugoira.mkv`: an animation's frames as Matroska, without new encoding.
struct MatroskaFile: TreeFile {
    let work: WorkID

    var path: TreePath { AnimationFiles.matroskaPath(of: work) }

    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        let listing = try await tree.listing(ofWork: work)
        return (try await AnimationFiles(tree).matroskaSize(of: listing), listing.modified)
    }

    func opened(in tree: Tree) async throws(Failure) -> OpenedFile {
        let listing = try await tree.listing(ofWork: work)
        let told = await AnimationFiles(tree).storedMatroskaSize(of: listing)
        let animation = try await AnimationFiles(tree).matroska(of: listing)
        return .animation(animation, isAsTold: told == nil || told == animation.layout.length)
    }

    func opens(in tree: Tree) async -> Bool {
        guard let listing = await tree.catalog.listings.stored(.work(work)) else { return false }
        return await tree.hasFrames(listing, of: work)
    }
}

/// `ugoira.webp`, `ugoira.gif`: an animation as one moving picture.
struct EncodedFile: TreeFile {
    let work: WorkID
    /// One of `AnimationFiles.encoded`.
    let rendition: Rendition

    var path: TreePath { .entry(.work(work), "ugoira.\(rendition.rawValue)") }
    var encoded: (work: WorkID, rendition: Rendition)? { (work, rendition) }

    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        let listing = try await tree.listing(ofWork: work)
        if let picture = AnimationFiles.picture(rendition, in: listing),
            let size = await tree.catalog.sizes.stored(of: picture)
        {
            return (size, listing.modified)
        }
        return (Int64(try await AnimationFiles(tree).encoded(rendition, of: listing).count), listing.modified)
    }

    func opened(in tree: Tree) async throws(Failure) -> OpenedFile {
        let listing = try await tree.listing(ofWork: work)
        if let stored = try AnimationFiles(tree).stored(rendition, of: listing) {
            return .picture(stored.picture, size: stored.size)
        }
        return .text(try await AnimationFiles(tree).encoded(rendition, of: listing), isLive: false)
    }

    func opens(in tree: Tree) async -> Bool {
        guard let listing = await tree.catalog.listings.stored(.work(work)) else { return false }
        if let made = AnimationFiles.picture(rendition, in: listing), tree.cache.storedSize(of: made) != nil {
            return true
        }
        return await tree.hasFrames(listing, of: work)
    }
}

extension Tree {
    fileprivate func listing(ofWork work: WorkID) async throws(Failure) -> Listing {
        guard let listing = try await listing(.work(work)) else { throw .absent }
        return listing
    }

    /// Whether the archive and the record of an animation are stored.
    fileprivate func hasFrames(_ listing: Listing, of work: WorkID) async -> Bool {
        let archive = listing.entries.first { $0.picture.rendition == .archive }
        guard let archive, cache.storedSize(of: archive.picture) != nil else { return false }
        return (try? await catalog.records.animation(of: work)) != nil
    }
}

// MARK: - Author files

/// `profile.json`: the profile of an author.
struct ProfileFile: RecordFile {
    let author: UserID

    var path: TreePath { .entry(.author(author), "profile.json") }

    func text(in tree: Tree) async throws(Failure) -> StoredText {
        try await tree.catalog.records.profile(of: author)
    }

    func opens(in tree: Tree) async -> Bool { (try? await tree.catalog.records.profile(of: author)) != nil }
}

/// `avatar.jpg`: the picture of an author, or a drawn one.
struct AvatarFile: TreeFile {
    let author: UserID

    var path: TreePath { .entry(.author(author), "avatar.jpg") }

    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        guard let avatar = try await picture(in: tree) else {
            return (Int64(HelperFile.nothingStored.count), tree.catalog.listings.loaded(.author(author))?.modified ?? 0)
        }
        return (avatar.size ?? 0, avatar.id.uploaded)
    }

    func opened(in tree: Tree) async throws(Failure) -> OpenedFile {
        guard let avatar = try await picture(in: tree) else { return .text(HelperFile.nothingStored, isLive: false) }
        return .picture(try tree.cache.open(avatar, neighbours: nil), size: avatar.size ?? 0)
    }

    func opens(in tree: Tree) async -> Bool {
        guard let avatar = try? await picture(in: tree) else {
            // An author without a picture gets a drawn one.
            return (try? await tree.catalog.records.avatar(of: author)) == .some(nil)
        }
        return tree.cache.storedSize(of: avatar.id) != nil
    }

    /// The request for the picture, with its size; nil for an author without one.
    private func picture(in tree: Tree) async throws(Failure) -> PictureRequest? {
        let reference = try await tree.catalog.records.avatar(of: author)
        guard let reference, let (location, uploaded) = tree.source.avatar(reference) else { return nil }
        let picture = PictureID(
            work: WorkID(rawValue: author.rawValue), page: 0, rendition: .avatar, uploaded: uploaded)
        var request = PictureRequest(
            id: picture, location: location, size: tree.cache.storedSize(of: picture), isPrivate: true,
            path: { path.text })
        if request.size != nil { return request }
        do throws(Failure) {
            request.size = try await tree.catalog.sizes.size(of: picture, at: location)
        } catch .sizeNotTold {
            request.size = try await tree.learnSize(of: request)
        }
        return request
    }
}
