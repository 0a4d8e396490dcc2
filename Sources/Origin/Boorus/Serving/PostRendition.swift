import Rankings

/// One of the files that a booru makes from an original.
enum PostRendition: String, Sendable {
    case box180 = "180x180"
    case box360 = "360x360"
    /// WebP.
    case box720 = "720x720"
    /// Danbooru: 850 pixels wide; a film for archives.
    case sample
    /// Danbooru: a JPEG as large as an original that not every browser shows.
    case full
    /// Moebooru: at most 300 pixels.
    case preview
    /// Moebooru: at most 1500 pixels.
    case wide
    /// Moebooru: at most 3500 pixels, of a PNG.
    case jpeg
    case original

    /// Width of Danbooru's samples.
    static let sampleWidth = 850

    /// The pixels of this rendition of an original.
    func pixels(of original: PixelSize) -> PixelSize {
        switch self {
        case .box180: original.fitted(into: Self.box(180))
        case .box360: original.fitted(into: Self.box(360))
        case .box720: original.fitted(into: Self.box(720))
        case .sample: original.fitted(into: PixelSize(width: Self.sampleWidth, height: .max >> 16))
        case .preview: original.fitted(into: Self.box(300))
        case .wide: original.fitted(into: Self.box(1500))
        case .jpeg: original.fitted(into: Self.box(3500))
        case .full, .original: original
        }
    }

    private static func box(_ side: Int) -> PixelSize {
        PixelSize(width: side, height: side)
    }
}

extension PostUniverse {
    /// A file of a post; nil without memory.
    func picture(_ rendition: PostRendition, of post: ServedPost) -> Picture? {
        let pixels = rendition.pixels(of: post.pixels)
        var picture = Picture(
            path: "\(site.rawValue) \(post.id) \(rendition.rawValue)", pixels: pixels,
            format: rendition == .box720 ? .webp : .jpeg, bytes: 0,
            modified: JapanTime(seconds: post.created / 1000), subject: post.model.subject(seed: seed))
        switch rendition {
        case .original:
            guard let original = original(post) else { return nil }
            picture.stored = .post(original.model, post.file)
            picture.bytes = original.length
        case .sample where post.format == .zip:
            let film = PackageResources.film_webm
            picture.stored = .bytes(film, mediaType: PostFormat.webm.mediaType)
            picture.bytes = film.count
        default:
            picture.bytes = bytes(rendition, of: post)
        }
        return picture
    }

    /// Bytes of a rendition that is drawn, decided before that, so that a listing can tell them.
    func bytes(_ rendition: PostRendition, of post: ServedPost) -> Int {
        let pixels = rendition.pixels(of: post.pixels)
        let kind: ServedPath.Kind =
            switch rendition {
            case .box180: .square(size: "", custom: false)
            case .box360, .box720, .preview: .preview(size: "")
            case .sample, .wide: .regular
            case .full, .jpeg, .original: pixels.width * pixels.height > 2_000_000 ? .original(.jpeg) : .regular
            }
        let bytes = DrawnSize.bytes(
            seed: seed, path: "\(site.rawValue) \(post.id) \(rendition.rawValue)", kind: kind, pixels: pixels)
        // WebP files are in units of two bytes, and far smaller than originals
        return rendition == .box720 ? 2 * (Self.webpFloor + bytes / 2) : bytes
    }

    private static let webpFloor = 30_000
}
