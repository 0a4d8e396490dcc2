import Media

@testable import RankFS

extension Thumbnail {
    /// The file, made of a picture of any size.
    func file(of pixels: Pixels) -> [UInt8]? {
        pixels.fitted(within: size.edge).png().flatMap { file(of: $0) }
    }
}
