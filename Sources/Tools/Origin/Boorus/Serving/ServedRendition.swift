import Rankings

/// One of the files that a booru makes from an original.
enum ServedRendition: String, Sendable {
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
    func picture(_ rendition: ServedRendition, of post: ServedPost) -> Picture? {
        let seconds = post.created / 1000
        guard rendition == .original else {
            return Picture(
                rendition, of: post.model, key: key(rendition, post), seed: seed, seconds: seconds)
        }
        return original(post).map {
            Picture($0.model, post.file, key: key(rendition, post), seed: seed, seconds: seconds)
        }
    }

    /// Bytes of a rendition that is drawn, decided before that, so that a listing can tell them.
    func bytes(_ rendition: ServedRendition, of post: ServedPost) -> Int {
        rendition.bytes(of: post.pixels, key: key(rendition, post), seed: seed)
    }

    private func key(_ rendition: ServedRendition, _ post: ServedPost) -> String {
        "\(site.rawValue) \(post.id) \(rendition.rawValue)"
    }
}

extension Picture {
    /// A rendition of what a model shows; `key` is its name among all pictures.
    init(_ rendition: ServedRendition, of model: PostModel, key: String, seed: UInt64, seconds: Int64) {
        self.init(
            path: key, pixels: rendition.pixels(of: model.pixels), format: rendition == .box720 ? .webp : .jpg,
            bytes: rendition.bytes(of: model.pixels, key: key, seed: seed), modified: JapanTime(seconds: seconds),
            subject: model.subject(seed: seed))
        guard rendition == .sample, model.format == .zip else { return }
        let film = PackageResources.film_webm
        stored = .bytes(film, mediaType: ServedFormat.webm.mediaType)
        bytes = film.count
    }

    /// The original of a post.
    init(_ drawn: DrawnModel, _ file: ServedPostFile, key: String, seed: UInt64, seconds: Int64) {
        self.init(
            path: key, pixels: drawn.model.pixels, format: .jpg, bytes: drawn.length(file),
            modified: JapanTime(seconds: seconds), subject: drawn.model.subject(seed: seed))
        stored = .post(drawn, file)
    }
}

extension ServedRendition {
    /// Bytes of a rendition that is drawn: a pure function.
    fileprivate func bytes(of original: PixelSize, key: String, seed: UInt64) -> Int {
        let pixels = pixels(of: original)
        let kind: ServedPath.Kind =
            switch self {
            case .box180: .square(size: "", custom: false)
            case .box360, .box720, .preview: .preview(size: "")
            case .sample, .wide: .regular
            case .full, .jpeg, .original: pixels.width * pixels.height > 2_000_000 ? .original(.jpg) : .regular
            }
        let bytes = DrawnSize.bytes(seed: seed, path: key, kind: kind, pixels: pixels)
        // WebP files are in units of two bytes
        return self == .box720 ? 2 * (Self.webpFloor + bytes / 2) : bytes
    }

    private static let webpFloor = 30_000
}
