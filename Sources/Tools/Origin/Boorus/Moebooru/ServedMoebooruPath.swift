import Rankings

/// A path on a Moebooru site's image hosts, taken apart: what stands behind the digest is for people (reference, 4.3).
struct ServedMoebooruPath: Sendable {
    let rendition: ServedRendition
    let digest: OriginDigest
    let fileExtension: String

    /// Takes the parts of a path apart; nil for anything that is none.
    init?(_ parts: [String]) {
        guard let name = parts.last, let dot = name.lastIndex(of: ".") else { return nil }
        fileExtension = String(name[name.index(after: dot)...])
        if parts.count == 5, parts[0] == "data", parts[1] == "preview" {
            guard let digest = OriginDigest(hex: name[..<dot]), fileExtension == "jpg", name.hasPrefix(parts[2]),
                name.dropFirst(2).hasPrefix(parts[3]), parts[2].count == 2, parts[3].count == 2
            else { return nil }
            rendition = .preview
            self.digest = digest
            return
        }
        guard (2...3).contains(parts.count), let rendition = Self.folders[parts[0]],
            let digest = OriginDigest(hex: parts.count == 3 ? parts[1][...] : name[..<dot])
        else { return nil }
        self.rendition = rendition
        self.digest = digest
    }

    /// The placeholder that stands for previews of deleted posts.
    static let deletedPreview = "/deleted-preview.png"

    /// What the placeholder shows.
    static func deletedPicture(_ universe: PostUniverse) -> Picture {
        Picture(
            path: deletedPreview, pixels: PixelSize(width: 150, height: 150), format: .png, bytes: 40_000,
            modified: JapanTime(seconds: universe.site.firstDay.beginsInUTC),
            subject: PictureSubject(scene: universe.seed))
    }

    private static let folders: [String: ServedRendition] = ["image": .original, "sample": .wide, "jpeg": .jpeg]
}

extension PostUniverse {
    /// The picture at a path of a post that has this digest; nil if it has no such rendition.
    func picture(_ path: ServedMoebooruPath, of post: ServedPost) -> Picture? {
        guard !post.isDeleted else { return nil }
        let exists: Bool
        switch path.rendition {
        case .original: exists = path.fileExtension == post.format.rawValue
        case .wide: exists = hasWide(post) && path.fileExtension == "jpg"
        case .jpeg: exists = post.format == .png && path.fileExtension == "jpg"
        default: exists = true
        }
        return exists ? picture(path.rendition, of: post) : nil
    }

    /// Whether Moebooru makes a sample: of every PNG, of pictures far larger, and of large files.
    func hasWide(_ post: ServedPost) -> Bool {
        guard post.format != .png else { return true }
        guard post.format.isStill, let length = original(post)?.length else { return false }
        let side = max(post.pixels.width, post.pixels.height)
        return side > 1875 || side > 1500 && length > 512 << 10
    }
}
