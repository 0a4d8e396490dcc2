/// The picture shown where there is no other yet: a framed landscape in soft colours, as picture viewers mark a place.
enum StandIn {
    /// The picture as a JPEG, 1200 x 800 pixels; always the same bytes.
    static let jpeg: [UInt8] = PackageResources.nothing_stored_jpg
}
