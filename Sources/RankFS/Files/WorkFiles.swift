import Catalog
import ImageCache
import Rankings
import Render

extension Tree {
    /// The files made from the service's data about a work, beside its pages.
    func files(of work: WorkID, isAnimation: Bool) -> [any TreeFile] {
        let films = isAnimation ? [.matroska] + AnimationFiles.encoded : []
        return [RecordFile.info(of: work)] + films.map { FilmFile(work: work, rendition: $0) }
    }
}

/// A file whose text is a record of the catalogue.
struct RecordFile: TreeFile {
    let path: TreePath
    /// Returns the record, stored or requested.
    private let text: @Sendable (Tree) async throws(Failure) -> StoredText
    /// Returns whether the record is known without a request.
    private let isStored: @Sendable (Tree) async -> Bool

    /// `info.json`: the full record of a work.
    static func info(of work: WorkID) -> RecordFile {
        RecordFile(path: .entry(.work(work), "info.json")) { tree throws(Failure) in
            let pages = try await tree.listing(ofWork: work).entries.map(\.name)
            return try await tree.catalog.records.details(of: work, pages: pages)
        } isStored: {
            await $0.catalog.records.hasDetails(of: work)
        }
    }

    /// `profile.json`: the profile of an author.
    static func profile(of author: UserID) -> RecordFile {
        RecordFile(path: .entry(.author(author), "profile.json")) { tree throws(Failure) in
            try await tree.catalog.records.profile(of: author)
        } isStored: {
            (try? await $0.catalog.records.profile(of: author)) != nil
        }
    }

    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        let text = try await text(tree)
        return (Int64(text.text.utf8.count), text.changed)
    }

    func opened(in tree: Tree) async throws(Failure) -> OpenedFile {
        // The length cached by the kernel may be shorter than the new text.
        .text(Array(try await text(tree).text.utf8), isLive: true)
    }

    func opens(in tree: Tree) async -> Bool { await isStored(tree) }
}

/// An animation as a film: `ugoira.mkv` has its frames without new encoding, `ugoira.webp` and `ugoira.gif` are one moving picture.
struct FilmFile: TreeFile {
    let work: WorkID
    /// Matroska, or one of `AnimationFiles.encoded`.
    let rendition: Rendition

    var path: TreePath { AnimationFiles.path(of: work, rendition) }
    var encoded: (work: WorkID, rendition: Rendition)? { rendition == .matroska ? nil : (work, rendition) }

    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        let (films, listing) = (AnimationFiles(tree: tree), try await tree.listing(ofWork: work))
        if let size = await films.storedSize(rendition, of: listing) { return (size, listing.modified) }
        guard rendition == .matroska else {
            return (Int64(try await films.encoded(rendition, of: listing).count), listing.modified)
        }
        let film = try await films.matroska(of: listing)
        defer { film.close() }
        return (film.layout.length, listing.modified)
    }

    func opened(in tree: Tree) async throws(Failure) -> OpenedFile {
        let (films, listing) = (AnimationFiles(tree: tree), try await tree.listing(ofWork: work))
        if rendition == .matroska {
            let told = await films.storedSize(rendition, of: listing)
            let film = try await films.matroska(of: listing)
            return .animation(film, isAsTold: told == film.layout.length)
        }
        if let stored = try films.stored(rendition, of: listing) {
            return .picture(stored.picture, size: stored.size)
        }
        return .text(try await films.encoded(rendition, of: listing), isLive: false)
    }

    func opens(in tree: Tree) async -> Bool {
        guard let listing = await tree.catalog.listings.stored(.work(work)) else { return false }
        let made = AnimationFiles.picture(rendition, in: listing)
        if made.flatMap(tree.cache.storedSize) != nil { return true }
        let archive = listing.entries.first { $0.picture.rendition == .archive }
        guard let archive, tree.cache.storedSize(of: archive.picture) != nil else { return false }
        return (try? await tree.catalog.records.animation(of: work)) != nil
    }
}

extension Tree {
    fileprivate func listing(ofWork work: WorkID) async throws(Failure) -> Listing {
        guard let listing = try await listing(.work(work)) else { throw .absent }
        return listing
    }
}

// MARK: - Author files

/// `avatar.jpg`: the picture of an author, or a drawn one.
struct AvatarFile: TreeFile {
    let author: UserID

    var path: TreePath { .entry(.author(author), "avatar.jpg") }

    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        guard let avatar = try await picture(in: tree) else {
            let changed = try await tree.catalog.records.avatar(of: author).changed
            return (Int64(HelperFile.nothingStored.count), changed)
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
            return (try? await tree.catalog.records.avatar(of: author))?.text.isEmpty == true
        }
        return tree.cache.storedSize(of: avatar.id) != nil
    }

    /// The request for the picture, with its size; nil for an author without one.
    private func picture(in tree: Tree) async throws(Failure) -> PictureRequest? {
        let reference = try await tree.catalog.records.avatar(of: author).text
        guard !reference.isEmpty, let (location, uploaded) = tree.source.avatar(reference) else { return nil }
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
