import Catalog
import ImageCache
import Rankings

/// `profile.json`: what an author says of himself.
struct ProfileFile: TreeFile {
    let author: UserID

    var path: TreePath { .entry(.author(author), "profile.json") }
    var parent: any TreeDirectory { AuthorDirectory(author) }

    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        let text = try await text(in: tree)
        return (Int64(text.text.utf8.count), text.changed)
    }

    func opened(in tree: Tree) async throws(Failure) -> OpenedFile {
        // What the kernel keeps of it may be shorter than the new text.
        .text(Array(try await text(in: tree).text.utf8), isLive: true)
    }

    private func text(in tree: Tree) async throws(Failure) -> StoredText {
        do throws(CatalogError) { return try await tree.catalog.records.profile(of: author) } catch {
            throw .catalog(error)
        }
    }

    func opens(in tree: Tree) async -> Bool { (try? await tree.catalog.records.profile(of: author)) != nil }
}

/// `avatar.jpg`: the picture of an author, or a drawn one.
struct AvatarFile: TreeFile {
    let author: UserID

    var path: TreePath { .entry(.author(author), "avatar.jpg") }
    var parent: any TreeDirectory { AuthorDirectory(author) }

    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        guard let avatar = try await picture(in: tree) else {
            return (Int64(StandIn.jpeg.count), tree.catalog.listings.loaded(.author(author))?.modified ?? 0)
        }
        return (avatar.size ?? 0, avatar.id.uploaded)
    }

    func opened(in tree: Tree) async throws(Failure) -> OpenedFile {
        guard let avatar = try await picture(in: tree) else { return .text(StandIn.jpeg, isLive: false) }
        do throws(ImageCacheError) {
            return .picture(try tree.cache.open(avatar, neighbours: nil), size: avatar.size ?? 0)
        } catch { throw .picture(error) }
    }

    func opens(in tree: Tree) async -> Bool {
        guard let avatar = try? await picture(in: tree) else {
            // Who has no picture gets a drawn one.
            return (try? await tree.catalog.records.avatar(of: author)) == .some(nil)
        }
        return tree.cache.storedSize(of: avatar.id) != nil
    }

    /// Where the picture is, with its size; nil for an author without one.
    private func picture(in tree: Tree) async throws(Failure) -> PictureRequest? {
        let reference: String?
        do throws(CatalogError) { reference = try await tree.catalog.records.avatar(of: author) } catch {
            throw .catalog(error)
        }
        guard let reference, let (location, uploaded) = tree.source.avatar(reference) else { return nil }
        let picture = PictureID(
            work: WorkID(rawValue: author.rawValue), page: 0, rendition: .avatar, uploaded: uploaded)
        var request = PictureRequest(
            id: picture, location: location, size: tree.cache.storedSize(of: picture), isPrivate: true,
            path: { path.text })
        if request.size != nil { return request }
        do throws(CatalogError) {
            request.size = try await tree.catalog.sizes.size(of: picture, at: location)
        } catch .sizeNotTold {
            request.size = try await tree.learnSize(of: request)
        } catch { throw .catalog(error) }
        return request
    }
}
