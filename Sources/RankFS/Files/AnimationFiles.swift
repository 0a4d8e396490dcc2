import Catalog
import ImageCache
import Rankings
import Render
import Synchronization
import System

/// Makes files of animations: Matroska is laid out for each reader, WebP and GIF are encoded once and stored.
///
/// ## Concurrency
///
/// Any task may call. The renderer encodes one animation at a time, and continues after its caller has left.
struct AnimationFiles: Sendable {
    let tree: Tree

    /// The renditions in which frames are encoded.
    static let encoded: [Rendition] = [.webp, .gif]
    /// The maximum size of an animation, in bytes; the largest archives served have some 40 MB.
    private static let bound = 64 << 20

    /// The path of an animation in a rendition.
    static func path(of work: WorkID, _ rendition: Rendition) -> TreePath {
        .entry(.work(work), "ugoira.\(rendition == .matroska ? "mkv" : rendition.rawValue)")
    }

    /// The identity of a rendition made from a work's animation; nil if the listing has no animation.
    static func picture(_ rendition: Rendition, in listing: Listing) -> PictureID? {
        listing.entries.first { $0.picture.rendition == .archive }.map {
            PictureID(work: $0.picture.work, page: 0, rendition: rendition, uploaded: $0.picture.uploaded)
        }
    }

    /// Opens the archive and lays out the Matroska file.
    func matroska(of listing: Listing) async throws(Failure) -> AnimationFile {
        guard let index = listing.entries.firstIndex(where: { $0.picture.rendition == .archive }) else {
            throw .absent
        }
        let entry = listing.entries[index]
        let work = entry.picture.work
        let record = try await tree.catalog.records.animation(of: work)
        let length = try await tree.askedSize(listing, index, wholeListing: false)
        let request = PictureRequest(
            id: entry.picture, location: try tree.location(of: entry), size: length,
            isPrivate: tree.configuration.isPrivate(listing.key), path: { Self.path(of: work, .matroska).text })
        let archive = try tree.cache.open(request, neighbours: nil)
        let title = await tree.catalog.records.listedWork(work)?.title ?? ""
        let file: AnimationFile
        do throws(Failure) {
            file = try await AnimationFile(
                archive, length: length, record: record, title: title, renderer: tree.renderer)
        } catch {
            tree.doubtSize(of: archive, after: error)
            throw error
        }
        if let picture = Self.picture(.matroska, in: listing) {
            tree.catalog.sizes.set(file.layout.length, of: picture)
        }
        return file
    }

    /// The length of a film when it was last made or laid out, in bytes; nil if it never was.
    func storedSize(_ rendition: Rendition, of listing: Listing) async -> Int64? {
        guard let picture = Self.picture(rendition, in: listing) else { return nil }
        return await tree.catalog.sizes.stored(of: picture)
    }

    /// Opens an encoded file if it is stored; nil if it must be made.
    func stored(
        _ rendition: Rendition, of listing: Listing
    ) throws(Failure) -> (picture: OpenPicture, size: Int64)? {
        guard let picture = Self.picture(rendition, in: listing), let size = tree.cache.storedSize(of: picture) else {
            return nil
        }
        // An empty URL makes sure that the file is never downloaded.
        let nowhere = PictureLocation(url: "", headers: [], fileExtension: rendition.rawValue)
        let opened = try tree.cache.open(PictureRequest(id: picture, location: nowhere, size: size), neighbours: nil)
        // A file stays while it is open; a file that was dropped just before is made anew.
        if tree.cache.storedSize(of: picture) == size { return (opened, size) }
        opened.close()
        return nil
    }

    /// Returns the bytes of an encoded file, made once for all callers that request it meanwhile.
    func encoded(_ rendition: Rendition, of listing: Listing) async throws(Failure) -> [UInt8] {
        guard let picture = Self.picture(rendition, in: listing) else { throw .absent }
        let task = tree.encoding.withLock { encoding in
            if let task = encoding[picture] { return task }
            let task = Task {
                let result = await make(picture, listing)
                tree.encoding.withLock { $0[picture] = nil }
                return result
            }
            encoding[picture] = task
            return task
        }
        return try await task.value.get()
    }

    private func make(_ picture: PictureID, _ listing: Listing) async -> Result<[UInt8], Failure> {
        do throws(Failure) {
            let file = try await matroska(of: listing)
            defer { file.close() }
            let record = try await tree.catalog.records.animation(of: picture.work)
            // The frames make up nearly all of the file.
            guard file.layout.length <= Self.bound else { throw .unusable(MediaError.tooLarge(bound: Self.bound).text) }
            let bytes: [UInt8]
            do throws(Failure) { bytes = try await encode(file, record, as: picture.rendition) } catch {
                tree.doubtSize(of: file.archive, after: error)
                throw error
            }
            tree.catalog.sizes.set(Int64(bytes.count), of: picture)
            // If it cannot be stored, it is made again for the next reader.
            try? await tree.cache.keep(bytes, as: picture)
            return .success(bytes)
        } catch { return .failure(error) }
    }

    private func encode(
        _ file: AnimationFile, _ record: AnimationRecord, as rendition: Rendition
    ) async throws(Failure) -> [UInt8] {
        let (archive, place) = try await file.wholeArchive()
        defer { withExtendedLifetime(archive) {} }
        let job = RenderJob.animation(
            rendition == .gif ? .gif : .webP, frames: record.renderFrames, place: place, bound: Self.bound)
        do throws(MediaError) {
            return try await tree.renderer.files(job, with: archive.descriptor).first ?? []
        } catch { throw .unusable(error.text) }
    }
}
