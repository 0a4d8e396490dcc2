package import Rankings

/// The sizes of the Thumbnail Managing Standard that desktops ask for; together they satisfied every one tried.
package enum ThumbnailSize: String, CaseIterable, Sendable {
    case normal
    case large

    /// Pixels of the longest edge at most.
    package var edge: Int {
        switch self {
        case .normal: 128
        case .large: 256
        }
    }

    /// What a picture of this size is kept as.
    package var rendition: Rendition {
        switch self {
        case .normal: .normalThumbnail
        case .large: .largeThumbnail
        }
    }

    /// The name of the directory.
    package var directory: String { rawValue }
}
