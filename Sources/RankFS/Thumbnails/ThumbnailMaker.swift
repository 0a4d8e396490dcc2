import Dispatch
import HTTP
package import Sourcing
package import ImageCache
import Rankings
package import Render
import Synchronization

/// Makes the missing thumbnails of one picture: requests its preview once, and stores the scaled images.
///
/// The thumbnails go to the user's own store if there is one; the cache keeps those that the store does not take, and those that
/// other users request.
///
/// ## Concurrency
///
/// Any task may call. Reading and writing run on a queue of their own; decoding and scaling are the renderer's.
package final class ThumbnailMaker: Sendable {
    /// The result for a picture.
    enum Outcome: Error, Hashable {
        /// Every thumbnail exists and is valid.
        case present
        /// The number of files written, and the bytes of the preview; 0 bytes if none was requested.
        case made(files: Int, bytes: Int)
        /// There is no preview, no usable preview, or no room: another request is pointless for now.
        case useless
        /// The network or the host is in trouble.
        case failed
    }

    private struct Known {
        /// Thumbnails that were found valid.
        var valid: Set<Thumbnail> = []
        /// Addresses of previews at which the renderer's process ended once.
        var lost: Set<String> = []
        /// Addresses that had no usable preview.
        var useless: Set<String> = []
        /// Addresses of previews that the user's own store did not take.
        var unwritable: Set<String> = []

        mutating func note<Value>(_ value: Value, in set: WritableKeyPath<Known, Set<Value>>) {
            if self[keyPath: set].count >= ThumbnailMaker.mostKnown { self[keyPath: set] = [] }
            self[keyPath: set].insert(value)
        }
    }

    /// A picture in every size, as PNG without texts.
    private typealias Images = [ThumbnailSize: [UInt8]]

    /// The user's own store; nil if there is none.
    let home: HomeThumbnails?
    /// Keeps the images without texts, so that they serve under any address.
    private let cache: ImageCache
    private let host: ImageHost
    private let shared: (any SharedPreviews)?
    private let renderer: any Rendering
    private let queue = DispatchQueue(label: "rankfs.thumbnails", qos: .userInitiated, attributes: .concurrent)
    private let known = Mutex(Known())

    /// The time limit of a preview: a later one is of no use to a user in front of a window.
    private static let patience: Duration = .seconds(10)
    /// The most remembered values of each kind, a few MB; when there are more, files are examined again.
    private static let mostKnown = 20_000

    package init(
        home: HomeThumbnails?, cache: ImageCache, host: ImageHost, shared: (any SharedPreviews)? = nil,
        renderer: any Rendering
    ) {
        self.home = home
        self.cache = cache
        self.host = host
        self.shared = shared
        self.renderer = renderer
    }

    /// Makes the missing thumbnails of one picture in the user's own store.
    func make(_ job: ThumbnailJob, priority: TransferPriority) async -> Outcome {
        guard let home else { return .useless }
        let missing = await onQueue { self.missing(job, in: home) }
        guard !missing.isEmpty else { return .present }
        guard !known.withLock({ $0.unwritable.contains(job.preview.url) }) else { return .useless }
        var received = 0
        var images = await images { await cache.kept(job.shelved($0)) }
        if images == nil {
            // Of thumbnails that were made for another spelling of the picture's address.
            images = await self.images { size in await onQueue { home.ownFile(of: job, size) } }
        }
        if images == nil {
            do throws(Outcome) { (images, received) = try await ask(job, priority) } catch { return error }
        }
        guard let images else { return .failed }
        let files = await onQueue { self.store(missing, of: images, in: home) }
        guard files == 0 else { return .made(files: files, bytes: received) }
        // The store has no room, or belongs to another user.
        known.withLock { $0.note(job.preview.url, in: \.unwritable) }
        if received > 0 { await keep(images, job) }
        return received > 0 ? .made(files: 0, bytes: received) : .useless
    }

    /// Makes the thumbnails of one picture for any user, and keeps them in the cache.
    func makeShared(_ job: ThumbnailJob) async -> Outcome {
        do throws(Outcome) {
            let (images, received) = try await ask(job, .shown)
            await keep(images, job)
            return .made(files: images.count, bytes: received)
        } catch { return error }
    }

    /// Returns the file of a thumbnail for a shared store, made of a stored image; nil if there is none.
    func sharedFile(_ thumbnail: Thumbnail, of job: ThumbnailJob) async -> [UInt8]? {
        if let image = await cache.kept(job.shelved(thumbnail.size)) { return thumbnail.file(of: image) }
        guard let home else { return nil }
        return await onQueue { home.ownFile(of: job, thumbnail.size).flatMap(thumbnail.file) }
    }

    /// Removes the notes of file managers that thumbnails of these pictures could not be made.
    func removeFailures(of jobs: [ThumbnailJob]) async {
        guard let home, !jobs.isEmpty else { return }
        await onQueue { home.removeFailures(of: jobs) }
    }

    // MARK: - Requests

    /// The images of a preview, and its bytes.
    private typealias Asked = (images: Images, received: Int)

    /// Requests the preview and makes the images; stores nothing.
    ///
    /// - Throws: The result if there are no images.
    private func ask(_ job: ThumbnailJob, _ priority: TransferPriority) async throws(Outcome) -> Asked {
        guard !known.withLock({ $0.useless.contains(job.preview.url) }) else { throw .useless }
        let isTold = Atomic(false)
        let ask = { @Sendable [host] () async -> ImageHost.Preview in
            isTold.store(true, ordering: .relaxed)
            return await host.preview(at: job.preview, within: Self.patience, priority: priority)
        }
        var found: ImageHost.Preview
        if let shared, let listing = job.listing {
            found = await shared.preview(of: job.picture, rank: job.rank, in: listing, isWrong: false, ask: ask)
            if !isTold.load(ordering: .relaxed), case .bytes(let preview) = found {
                if let asked = try await asked(job, preview) { return asked }
                found = await shared.preview(of: job.picture, rank: job.rank, in: listing, isWrong: true, ask: ask)
            }
        } else {
            found = await ask()
        }
        switch found {
        case .failed: throw .failed
        case .useless: throw refuse(job)
        case .bytes(let preview):
            guard let asked = try await asked(job, preview) else { throw refuse(job) }
            return asked
        }
    }

    /// Makes the images of a preview; nil for a preview that is at fault.
    private func asked(_ job: ThumbnailJob, _ preview: [UInt8]) async throws(Outcome) -> Asked? {
        do throws(MediaError) {
            return (try await images(of: preview), preview.count)
        } catch {
            switch error {
            case .unavailable, .cancelled: throw .failed
            // The process may have been killed for another reason; a preview that ends it twice is at fault.
            case .lost where isFirstLoss(of: job): throw .made(files: 0, bytes: preview.count)
            // The image host's would need as much.
            case .noMemory: throw refuse(job)
            case .lost, .archive, .picture, .animation, .tooLarge: return nil
            }
        }
    }

    /// Makes the images of a preview in every size.
    private func images(of preview: [UInt8]) async throws(MediaError) -> Images {
        let sizes = ThumbnailSize.allCases
        let files = try await renderer.files(.thumbnails(preview: preview, edges: sizes.map(\.edge)))
        return Images(uniqueKeysWithValues: zip(sizes, files))
    }

    private func isFirstLoss(of job: ThumbnailJob) -> Bool {
        known.withLock { known in
            defer { known.note(job.preview.url, in: \.lost) }
            return !known.lost.contains(job.preview.url)
        }
    }

    private func refuse(_ job: ThumbnailJob) -> Outcome {
        known.withLock { $0.note(job.preview.url, in: \.useless) }
        return .useless
    }

    // MARK: - Storing

    /// Returns a picture in every size; nil if one is missing.
    private func images(_ image: (ThumbnailSize) async -> [UInt8]?) async -> Images? {
        var images: Images = [:]
        for size in ThumbnailSize.allCases {
            guard let image = await image(size) else { return nil }
            images[size] = image
        }
        return images
    }

    private func keep(_ images: Images, _ job: ThumbnailJob) async {
        // Without room, thumbnails are made again on the next request.
        for (size, image) in images { try? await cache.keep(image, as: job.shelved(size)) }
    }

    private func missing(_ job: ThumbnailJob, in home: HomeThumbnails) -> [Thumbnail] {
        home.thumbnails(of: job).filter { thumbnail in
            if known.withLock({ $0.valid.contains(thumbnail) }), home.exists(thumbnail) { return false }
            guard home.holds(thumbnail) else { return true }
            remember(thumbnail)
            return false
        }
    }

    /// Stores the missing thumbnails; returns the number of files written.
    private func store(_ missing: [Thumbnail], of images: Images, in home: HomeThumbnails) -> Int {
        missing.count { thumbnail in
            guard let file = images[thumbnail.size].flatMap(thumbnail.file),
                home.store(file, as: thumbnail)
            else { return false }
            remember(thumbnail)
            return true
        }
    }

    private func remember(_ thumbnail: Thumbnail) {
        known.withLock { $0.note(thumbnail, in: \.valid) }
    }

    private func onQueue<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: work()) }
        }
    }
}
