/// A path on Danbooru's image host, taken apart (reference, 3.3).
struct ServedDanbooruPath: Sendable {
    let rendition: ServedRendition
    let digest: OriginDigest
    let fileExtension: String
    /// Whether it is one of the forms of before, which lead to the new ones.
    let isOld: Bool

    /// Takes a path without host and query apart; nil for anything that is none.
    init?(_ path: String) {
        var parts = path.split(separator: "/" as Character).map { String($0) }
        isOld = parts.first == "data"
        if isOld { parts.removeFirst() }
        guard let name = parts.popLast(), let dot = name.lastIndex(of: ".") else { return nil }
        fileExtension = String(name[name.index(after: dot)...])
        var stem = name[..<dot]
        // what stands before the digest is for people
        if stem.hasPrefix("__"), let end = stem.lastIndex(of: "_") { stem = stem[stem.index(after: end)...] }
        let isSample = stem.hasPrefix(Self.samplePrefix)
        if isSample { stem = stem.dropFirst(Self.samplePrefix.count) }
        guard let digest = OriginDigest(hex: stem) else { return nil }
        self.digest = digest
        guard isOld || !parts.isEmpty else { return nil }
        let folder = parts.isEmpty ? "original" : parts.removeFirst()
        guard let rendition = folder == "preview" && isOld ? .box180 : Self.folders[folder],
            (rendition == .sample) == isSample
        else { return nil }
        self.rendition = rendition
        let halves = [String(stem.prefix(2)), String(stem.dropFirst(2).prefix(2))]
        guard parts == halves || isOld && parts.isEmpty else { return nil }
    }

    /// The path of a post's file.
    init(_ rendition: ServedRendition, _ digest: OriginDigest, _ fileExtension: String) {
        self.rendition = rendition
        self.digest = digest
        self.fileExtension = fileExtension
        isOld = false
    }

    /// The path, from its slash.
    var text: String {
        let hex = digest.hex
        let name = rendition == .sample ? Self.samplePrefix + hex : hex
        return "/\(rendition.rawValue)/\(hex.prefix(2))/\(hex.dropFirst(2).prefix(2))/\(name).\(fileExtension)"
    }

    /// The address, as answers give it.
    var url: String {
        "https://cdn.donmai.us" + text
    }

    private static let samplePrefix = "sample-"
    private static let folders: [String: ServedRendition] = [
        "original": .original, "sample": .sample, "full": .full, "180x180": .box180, "360x360": .box360,
        "720x720": .box720,
    ]
}

extension PostUniverse {
    /// The picture at a path of a post that has this digest; nil if it has no such rendition.
    func picture(_ path: ServedDanbooruPath, of post: ServedPost) -> Picture? {
        guard let variant = variants(of: post).first(where: { $0.rendition == path.rendition }),
            variant.fileExtension == path.fileExtension
        else { return nil }
        return picture(path.rendition, of: post)
    }

    /// The renditions that Danbooru makes, with their extensions.
    func variants(of post: ServedPost) -> [(rendition: ServedRendition, fileExtension: String)] {
        var variants: [(ServedRendition, String)] = [(.box180, "jpg"), (.box360, "jpg"), (.box720, "webp")]
        if post.hasSample { variants.append((.sample, post.format == .zip ? "webm" : "jpg")) }
        if post.format == .webp || post.format == .avif { variants.append((.full, "jpg")) }
        return variants + [(.original, post.format.rawValue)]
    }
}

extension ServedPost {
    /// Whether Danbooru has a sample: of still pictures that are wider, and of animations.
    var hasSample: Bool {
        format == .zip || format.isStill && pixels.width > ServedRendition.sampleWidth
    }
}
