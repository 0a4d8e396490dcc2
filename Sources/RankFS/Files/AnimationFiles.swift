import Catalog
import ImageCache
import Rankings
import Render
import Synchronization

/// Makes Matroska and WebP of animations: the one laid out anew for each reader, the other encoded once and stored.
///
/// ## Concurrency
///
/// Any task may call. The renderer encodes one animation at a time, and goes on when who asked has left.
final class AnimationFiles: Sendable {
    private let source: any RankingSource
    private let catalog: Catalog
    private let cache: ImageCache
    private let renderer: any Rendering
    private let isPrivate: @Sendable (ListingKey) -> Bool
    private let encoding = Mutex<[PictureID: Task<Result<[UInt8], Failure>, Never>]>([:])

    /// Bytes of an animation that is made; the largest archives served have some 40 MB.
    private static let bound = 64 << 20

    init(
        source: any RankingSource, catalog: Catalog, cache: ImageCache, renderer: any Rendering,
        isPrivate: @escaping @Sendable (ListingKey) -> Bool
    ) {
        self.source = source
        self.catalog = catalog
        self.cache = cache
        self.renderer = renderer
        self.isPrivate = isPrivate
    }

    /// The identity of what is made of a work's animation; nil if the listing has none.
    static func picture(_ rendition: Rendition, in listing: Listing) -> PictureID? {
        listing.entries.first { $0.picture.rendition == .archive }.map {
            PictureID(work: $0.picture.work, page: 0, rendition: rendition, uploaded: $0.picture.uploaded)
        }
    }

    /// Opens the archive and lays the Matroska file out.
    func matroska(of listing: Listing) async throws(Failure) -> AnimationFile {
        guard let index = listing.entries.firstIndex(where: { $0.picture.rendition == .archive }) else {
            throw .noSuchName
        }
        let entry = listing.entries[index]
        let work = entry.picture.work
        let record: AnimationRecord
        let length: Int64
        do throws(CatalogError) {
            record = try await catalog.records.animation(of: work)
            length = try await listing.resolveSize(at: index, wholeListing: false)
        } catch { throw .catalog(error) }
        guard
            let location = source.location(of: work, picture: entry.reference, page: 0, rendition: .archive)
        else { throw .unlocated }
        let archive: OpenPicture
        do throws(ImageCacheError) {
            archive = try cache.open(
                PictureRequest(
                    id: entry.picture, location: location, size: length,
                    isPrivate: isPrivate(listing.key), path: { MatroskaFile(work: work).path.text }),
                neighbours: nil)
        } catch { throw .picture(error) }
        let title = await catalog.records.listedWork(work)?.title ?? ""
        let file = try await AnimationFile(
            archive, length: length, record: record, title: title, renderer: renderer)
        if let picture = Self.picture(.matroska, in: listing) { catalog.sizes.set(file.layout.length, of: picture) }
        return file
    }

    /// The length that the Matroska file had when it was laid out last, in bytes; nil if it never was.
    func storedMatroskaSize(of listing: Listing) async -> Int64? {
        guard let picture = Self.picture(.matroska, in: listing) else { return nil }
        return await catalog.sizes.stored(of: picture)
    }

    /// The length of the Matroska file in bytes.
    func matroskaSize(of listing: Listing) async throws(Failure) -> Int64 {
        if let size = await storedMatroskaSize(of: listing) { return size }
        let file = try await matroska(of: listing)
        defer { file.close() }
        return file.layout.length
    }

    /// The WebP file if it is stored, opened; nil if it must be made.
    func storedWebP(of listing: Listing) async throws(Failure) -> (picture: OpenPicture, size: Int64)? {
        guard let picture = Self.picture(.webp, in: listing), let size = cache.storedSize(of: picture) else {
            return nil
        }
        let opened: OpenPicture
        do throws(ImageCacheError) {
            // It cannot be downloaded: an address that leads nowhere makes sure of it.
            opened = try cache.open(
                PictureRequest(
                    id: picture, location: PictureLocation(url: "", headers: [], fileExtension: "webp"), size: size),
                neighbours: nil)
        } catch { throw .picture(error) }
        // What is open stays; what was dropped just before is made anew.
        if cache.storedSize(of: picture) == size { return (opened, size) }
        opened.close()
        return nil
    }

    /// The bytes of the WebP file, made once for everybody who asks meanwhile.
    func webP(of listing: Listing) async throws(Failure) -> [UInt8] {
        guard let picture = Self.picture(.webp, in: listing) else { throw .noSuchName }
        let task = encoding.withLock { encoding in
            if let task = encoding[picture] { return task }
            let task = Task {
                let result = await make(picture, listing)
                self.encoding.withLock { $0[picture] = nil }
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
            let record: AnimationRecord
            do throws(CatalogError) { record = try await catalog.records.animation(of: picture.work) } catch {
                throw .catalog(error)
            }
            // The frames are all but the whole of it.
            guard file.layout.length <= Self.bound else { throw .media(.tooLarge(bound: Self.bound)) }
            let bytes = try await encode(file, record)
            catalog.sizes.set(Int64(bytes.count), of: picture)
            // Not stored, it is made again for the next reader.
            try? await cache.keep(bytes, as: picture)
            return .success(bytes)
        } catch { return .failure(error) }
    }

    private func encode(_ file: AnimationFile, _ record: AnimationRecord) async throws(Failure) -> [UInt8] {
        let (archive, place) = try await file.wholeArchive()
        defer { withExtendedLifetime(archive) {} }
        let request = RenderJob.WebPRequest(frames: record.renderFrames, place: place, bound: Self.bound)
        do throws(MediaError) {
            return try await renderer.files(.webP(request), with: archive.descriptor).first ?? []
        } catch { throw .media(error) }
    }
}
