import Dispatch
package import HTTP
package import Sourcing
package import Rankings
package import Render
import Synchronization

/// Makes the missing thumbnails of one picture: requests its preview once, and stores the scaled images.
///
/// The thumbnails go to the user's own store if there is one; the shelf keeps those that the store does not take, and those that
/// other users request.
///
/// ## Concurrency
///
/// Any task may call. Reading and writing run on a queue of their own; decoding and scaling are the renderer's.
package final class ThumbnailMaker: Sendable {
    /// The result for a picture.
    package enum Outcome: Hashable, Sendable {
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
    private let shelf: ThumbnailShelf
    private let host: ImageHost
    private let renderer: any Rendering
    private let queue = DispatchQueue(label: "rankfs.thumbnails", qos: .userInitiated, attributes: .concurrent)
    private let known = Mutex(Known())

    /// The time limit of a preview: a later one is of no use to a user in front of a window.
    private static let patience: Duration = .seconds(10)
    /// The most remembered values of each kind, a few MB; when there are more, files are examined again.
    private static let mostKnown = 20_000

    package init(home: HomeThumbnails?, shelf: ThumbnailShelf, host: ImageHost, renderer: any Rendering) {
        self.home = home
        self.shelf = shelf
        self.host = host
        self.renderer = renderer
    }

    /// Makes the missing thumbnails of one picture in the user's own store.
    package func make(_ job: ThumbnailJob, priority: TransferPriority) async -> Outcome {
        guard let home else { return .useless }
        let missing = await onQueue { self.missing(job, in: home) }
        guard !missing.isEmpty else { return .present }
        guard !known.withLock({ $0.unwritable.contains(job.preview.url) }) else { return .useless }
        var received = 0
        var images = await kept(job)
        if images == nil { images = await onQueue { Self.ownImages(of: job, in: home) } }
        if images == nil {
            let asked = await ask(job, priority)
            guard let made = asked.images else { return asked.outcome }
            (images, received) = (made, asked.received)
        }
        guard let images else { return .failed }
        let files = await onQueue { self.store(missing, of: images, in: home) }
        guard files == 0 else { return .made(files: files, bytes: received) }
        // The store has no room, or belongs to another user.
        known.withLock { $0.note(job.preview.url, in: \.unwritable) }
        if received > 0 { await keep(images, job) }
        return received > 0 ? .made(files: 0, bytes: received) : .useless
    }

    /// Makes the thumbnails of one picture for any user, and keeps them on the shelf.
    package func makeShared(_ job: ThumbnailJob) async -> Outcome {
        let asked = await ask(job, .shown)
        guard let images = asked.images else { return asked.outcome }
        await keep(images, job)
        return .made(files: images.count, bytes: asked.received)
    }

    /// Returns the file of a thumbnail for a shared store, made of a stored image; nil if there is none.
    package func sharedFile(_ thumbnail: Thumbnail, of job: ThumbnailJob) async -> [UInt8]? {
        if let image = await shelf.kept(job.shelved(thumbnail.size)) { return thumbnail.file(of: image) }
        guard let home else { return nil }
        return await onQueue { home.ownFile(of: job, thumbnail.size).flatMap(thumbnail.file) }
    }

    /// Removes the notes of file managers that thumbnails of these pictures could not be made.
    func removeFailures(of jobs: [ThumbnailJob]) async {
        guard let home, !jobs.isEmpty else { return }
        await onQueue { home.removeFailures(of: jobs) }
    }

    // MARK: - Requests

    private struct Asked {
        var images: Images?
        var received = 0
        /// The result if there are no images.
        var outcome = Outcome.failed
    }

    /// Requests the preview and makes the images; stores nothing.
    private func ask(_ job: ThumbnailJob, _ priority: TransferPriority) async -> Asked {
        guard !known.withLock({ $0.useless.contains(job.preview.url) }) else { return Asked(outcome: .useless) }
        switch await host.preview(at: job.preview, within: Self.patience, priority: priority) {
        case .failed: return Asked()
        case .useless: return Asked(outcome: refuse(job))
        case .bytes(let preview): return await asked(job, preview)
        }
    }

    private func asked(_ job: ThumbnailJob, _ preview: [UInt8]) async -> Asked {
        do throws(MediaError) {
            return Asked(images: try await images(of: preview), received: preview.count)
        } catch {
            switch error {
            // The preview is not at fault.
            case .unavailable, .cancelled: return Asked()
            // The process may have been killed for another reason; a preview that ends it twice is at fault.
            case .lost where isFirstLoss(of: job):
                return Asked(outcome: .made(files: 0, bytes: preview.count))
            case .lost, .archive, .picture, .animation, .tooLarge, .noMemory: return Asked(outcome: refuse(job))
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

    private func kept(_ job: ThumbnailJob) async -> Images? {
        var images: Images = [:]
        for size in ThumbnailSize.allCases {
            guard let image = await shelf.kept(job.shelved(size)) else { return nil }
            images[size] = image
        }
        return images
    }

    /// Returns the images of thumbnails that were made for another spelling of the picture's address.
    private static func ownImages(of job: ThumbnailJob, in home: HomeThumbnails) -> Images? {
        var images: Images = [:]
        for size in ThumbnailSize.allCases {
            guard let image = home.ownFile(of: job, size) else { return nil }
            images[size] = image
        }
        return images
    }

    private func keep(_ images: Images, _ job: ThumbnailJob) async {
        for (size, image) in images { await shelf.keep(image, job.shelved(size)) }
    }

    private func missing(_ job: ThumbnailJob, in home: HomeThumbnails) -> [Thumbnail] {
        home.thumbnails(of: job).filter { thumbnail in
            if known.withLock({ $0.valid.contains(thumbnail) }), home.directory.exists(thumbnail) { return false }
            guard home.directory.holds(thumbnail) else { return true }
            remember(thumbnail)
            return false
        }
    }

    /// Stores the missing thumbnails; returns the number of files written.
    private func store(_ missing: [Thumbnail], of images: Images, in home: HomeThumbnails) -> Int {
        missing.count { thumbnail in
            guard let file = images[thumbnail.size].flatMap(thumbnail.file),
                home.directory.store(file, as: thumbnail)
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

/// The storage of thumbnails outside of the user's own store: PNG files without texts, so that they serve under any address.
package struct ThumbnailShelf: Sendable {
    /// Returns the file of a picture in a thumbnail's rendition; nil if it is not stored.
    package var kept: @Sendable (PictureID) async -> [UInt8]?
    /// Stores a file, if there is room.
    package var keep: @Sendable ([UInt8], PictureID) async -> Void

    package init(
        kept: @escaping @Sendable (PictureID) async -> [UInt8]?,
        keep: @escaping @Sendable ([UInt8], PictureID) async -> Void
    ) {
        self.kept = kept
        self.keep = keep
    }
}
