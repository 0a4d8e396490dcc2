import HTTP
import Media
import Rankings
import Synchronization

@testable import Thumbnails

extension Thumbnail {
    /// The file, made of a picture of any size.
    func file(of pixels: Pixels) -> [UInt8]? {
        PNGEncoder.encode(Scaling.fit(pixels, within: size.edge)).flatMap { file(of: $0) }
    }
}

/// Keeps thumbnails in memory.
final class MemoryShelf: Sendable {
    private let files = Mutex<[PictureID: [UInt8]]>([:])

    var pictures: Set<PictureID> { files.withLock { Set($0.keys) } }

    var shelf: ThumbnailShelf {
        ThumbnailShelf(
            kept: { picture in self.files.withLock { $0[picture] } },
            keep: { file, picture in self.files.withLock { $0[picture] = file } })
    }
}
