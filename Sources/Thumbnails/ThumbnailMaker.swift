import Dispatch
package import HTTP
import Media
import Rankings
import Synchronization

/// Makes the thumbnails of one picture that are missing: asks for its preview once, and stores what is made of it.
///
/// ## Concurrency
///
/// Any task may call. Looking, scaling and writing run on a queue of their own: they keep a thread busy for some 20 ms.
package final class ThumbnailMaker: Sendable {
    /// What came of a picture.
    package enum Outcome: Hashable, Sendable {
        /// Every thumbnail is there and valid.
        case present
        /// So many files were written from a preview of so many bytes.
        case made(files: Int, bytes: Int)
        /// There is no preview, or none that can be used, or no room: asking again is pointless for now.
        case useless
        /// The network or the host is in trouble.
        case failed
    }

    private let directory: ThumbnailDirectory
    private let mountPoint: String
    private let client: HTTPClient
    private let time: TimeSource
    private let queue = DispatchQueue(label: "rankfs.thumbnails", qos: .userInitiated, attributes: .concurrent)
    /// Thumbnails that were seen to be valid, and addresses that had no usable preview.
    private let known = Mutex<(valid: Set<Thumbnail>, useless: Set<String>)>(([], []))

    /// Bytes of a preview: 480 x 960 pixels have 150 KB at most.
    private static let longestPreview: Int64 = 1 << 20
    /// Pixels of a preview that is decoded: twice those of the largest that the service makes.
    private static let mostPixels = 1 << 20
    /// A preview that takes longer is of no use to somebody who looks.
    private static let patience: Duration = .seconds(10)
    /// Remembered of either kind, a few MB; when there are more, files are looked at again.
    private static let mostKnown = 20_000

    package init(directory: ThumbnailDirectory, mountPoint: String, client: HTTPClient, time: TimeSource = .system) {
        self.directory = directory
        self.mountPoint = mountPoint
        self.client = client
        self.time = time
    }

    /// Makes what is missing of one picture.
    package func make(_ job: ThumbnailJob) async -> Outcome {
        let missing = await onQueue { self.missing(job) }
        guard !missing.isEmpty else { return .present }
        guard !known.withLock({ $0.useless.contains(job.preview.url) }) else { return .useless }
        let response: HTTPResponse
        do throws(HTTPError) {
            response = try await client.send(
                HTTPRequest(
                    url: job.preview.url, headers: job.preview.headers, priority: .preload, transferClass: .bulk,
                    deadline: time.now().advanced(by: Self.patience), bodyLimit: Self.longestPreview,
                    purpose: .preview))
        } catch { return error == .tooLarge ? refuse(job) : .failed }
        switch response.head.status {
        case 200: break
        case 429, 500...: return .failed
        default: return refuse(job)
        }
        let files = await onQueue { self.store(missing, of: response.body) }
        guard let files else { return refuse(job) }
        return .made(files: files, bytes: response.body.count)
    }

    // MARK: -

    private func missing(_ job: ThumbnailJob) -> [Thumbnail] {
        job.thumbnails(below: mountPoint).filter { thumbnail in
            if known.withLock({ $0.valid.contains(thumbnail) }), directory.exists(thumbnail) { return false }
            guard directory.holds(thumbnail) else { return true }
            remember(thumbnail)
            return false
        }
    }

    /// Stores what is missing; nil if the preview is no picture, or nothing can be written.
    private func store(_ missing: [Thumbnail], of preview: [UInt8]) -> Int? {
        let largest = ThumbnailSize.large
        guard let decoded = try? JPEG.decode(preview, limit: Self.mostPixels, covering: largest.edge) else {
            return nil
        }
        // The smaller is made from the larger: a fifth of the work, and no difference to the eye.
        let pixels = Scaling.fit(decoded, within: largest.edge)
        var files = 0
        for thumbnail in missing {
            guard let file = thumbnail.file(of: pixels), directory.store(file, as: thumbnail) else { continue }
            remember(thumbnail)
            files += 1
        }
        return files > 0 ? files : nil
    }

    private func remember(_ thumbnail: Thumbnail) {
        known.withLock { known in
            if known.valid.count >= Self.mostKnown { known.valid = [] }
            known.valid.insert(thumbnail)
        }
    }

    private func refuse(_ job: ThumbnailJob) -> Outcome {
        known.withLock { known in
            if known.useless.count >= Self.mostKnown { known.useless = [] }
            known.useless.insert(job.preview.url)
        }
        return .useless
    }

    private func onQueue<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: work()) }
        }
    }
}
