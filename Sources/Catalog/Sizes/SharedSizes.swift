package import ImageHost
package import Rankings

/// Sizes of pictures that other machines have asked for.
///
/// ## Concurrency
///
/// Any task may call.
package protocol SharedSizes: Sendable {
    /// The sizes that are known without asking anybody for one of them.
    ///
    /// - Parameters:
    ///   - pictures: The pictures.
    ///   - listing: The listing that shows them.
    /// - Returns: Bytes in the order of the pictures, 0 for those that nobody has asked for.
    func known(of pictures: [PictureID], in listing: ListingKey) async -> [Int64]

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
