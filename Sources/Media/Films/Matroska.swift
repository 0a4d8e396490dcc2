package import Render

/// An animation of JPEG frames as a Matroska file (RFC 9559), whose frames are the JPEG files as they are.
package enum Matroska {
    /// Which bytes a Matroska file consists of, told by the frames' lengths alone: there is no date and no random identifier in them.
    package typealias Layout = FilmLayout

    /// What a zip archive without extensions can hold; the sum of all frames stays far below EBML's 2^56.
    fileprivate static let longestFrame: Int64 = 0xffff_ffff
}

extension Matroska.Layout {
    /// Lays a file out.
    ///
    /// - Parameters:
    ///   - width: Of every frame, in pixels.
    ///   - height: Of every frame, in pixels.
    ///   - frames: Their lengths in bytes and the milliseconds that each is shown, mended by `FrameLimits.shown`.
    ///   - title: What players show as the name; none if nil or empty.
    /// - Throws: `.animation` for sizes and counts that no such file can have.
    package init(
        width: Int, height: Int, frames: [(size: Int64, delay: Int)], title: String? = nil
    ) throws(MediaError) {
        guard (1...FrameLimits.longestSide).contains(width), (1...FrameLimits.longestSide).contains(height) else {
            throw .animation("\(width) x \(height) pixels are no size of a picture")
        }
        guard (1...FrameLimits.count).contains(frames.count) else {
            throw .animation("it has \(frames.count) frames, and 1 to \(FrameLimits.count) are possible")
        }
        guard frames.allSatisfy({ (1...Matroska.longestFrame).contains($0.size) }) else {
            throw .animation("a frame is empty or larger than 4 GiB")
        }
        self.init(MatroskaWriter(width: width, height: height, frames: frames, title: title).pieces())
    }
}
