/// What a picture is stored as, by its extension; pixiv has the first two only, and archives.
enum ServedFormat: String, CaseIterable, Sendable {
    case jpg
    case png
    case gif
    case webp
    case avif
    case mp4
    case webm
    case zip
    case swf

    /// What the image hosts call it; Danbooru's nginx knows no type for AVIF (reference, 3.3).
    var mediaType: String {
        switch self {
        case .jpg: "image/jpeg"
        case .png: "image/png"
        case .gif: "image/gif"
        case .webp: "image/webp"
        case .avif: "application/octet-stream"
        case .mp4: "video/mp4"
        case .webm: "video/webm"
        case .zip: "application/zip"
        case .swf: "application/x-shockwave-flash"
        }
    }

    /// Whether it is one picture that does not move.
    var isStill: Bool {
        switch self {
        case .jpg, .png, .webp, .avif: true
        case .gif, .mp4, .webm, .zip, .swf: false
        }
    }

    /// Seconds that the films of this kind take; nil for what does not move.
    var duration: Double? {
        switch self {
        case .gif, .mp4, .webm: 1
        case .zip: 0.48
        case .jpg, .png, .webp, .avif, .swf: nil
        }
    }
}
