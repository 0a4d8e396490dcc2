import Media

@testable import RankFS

extension Thumbnail {
    /// The file, made of a picture of any size.
    func file(of pixels: Pixels) -> [UInt8]? {
        PNGEncoder.encode(Scaling.fit(pixels, within: size.edge)).flatMap { file(of: $0) }
    }
}
