package import ImageHost
package import Rankings

/// Sizes of pictures that other machines have asked for.
///
/// ## Concurrency
///
/// Any task may call.
package protocol SharedSizes: Sendable {
    /// A size that a machine has asked for, this one if no other has.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - listing: The listing that shows it.
    ///   - ask: Asks the image host.
    /// - Returns: What the image host told.
    func size(
        of picture: PictureID, in listing: ListingKey, ask: @Sendable () async -> PictureSize
    ) async -> PictureSize
}
