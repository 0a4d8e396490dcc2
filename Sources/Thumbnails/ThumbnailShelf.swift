package import Rankings

/// Keeps thumbnails that the user's own store does not: PNG files without texts, so that they serve under any address.
package struct ThumbnailShelf: Sendable {
    /// The file of a picture whose rendition is a thumbnail's; nil if it is not kept.
    package var kept: @Sendable (PictureID) async -> [UInt8]?
    /// Keeps one, if there is room.
    package var keep: @Sendable ([UInt8], PictureID) async -> Void

    package init(
        kept: @escaping @Sendable (PictureID) async -> [UInt8]?,
        keep: @escaping @Sendable ([UInt8], PictureID) async -> Void
    ) {
        self.kept = kept
        self.keep = keep
    }
}
