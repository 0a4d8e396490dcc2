import Rankings

/// A post as Moebooru's JSON has it: 44 keys in 2026, 36 on konachan until 2023.
struct ServedMoebooruPost: Sendable {
    let universe: PostUniverse
    let index: PostsByDigest
    let isOld: Bool

    /// The record; nil without memory.
    func json(_ post: ServedPost) -> JSONText? {
        guard let original = universe.original(post) else { return nil }
        index.learn(original.digest, post.id)
        let urls = Addresses(
            site: universe.site, post: post, digest: original.digest.hex, isOld: isOld,
            tags: universe.tags(of: post).map { ServedTags.all[$0].name })
        var members = head(post, urls)
        members += [("md5", .text(urls.digest)), ("file_size", .int(original.length))]
        if !isOld { members.append(("file_ext", .text(post.format.rawValue))) }
        if !post.isDeleted { members.append(("file_url", .text(urls.original))) }
        members.append(("is_shown_in_index", .flag(!post.isExpunged)))
        members += preview(post, urls) + sample(post, urls) + jpeg(post, urls) + rest(post)
        return .object(members)
    }

    // MARK: -

    private func head(_ post: ServedPost, _ urls: Addresses) -> Members {
        let seconds = post.created / 1000
        var members: Members = [
            ("id", .integer(post.id)), ("tags", .words(urls.tags)), ("created_at", .integer(seconds)),
        ]
        if !isOld { members.append(("updated_at", .integer(seconds + 7))) }
        members.append(("creator_id", .int(post.uploader + Self.firstCreator)))
        if !isOld { members.append(("approver_id", .null)) }
        return members + [
            ("author", .text(Uploaders.name(of: post.uploader))), ("change", .integer(post.id * 5 + 3)),
            ("source", .text(post.source.text)), ("score", .int(post.score)),
        ]
    }

    private static let firstCreator = 40_000

    private func preview(_ post: ServedPost, _ urls: Addresses) -> Members {
        let actual = ServedRendition.preview.pixels(of: post.pixels)
        let shown = post.pixels.fitted(into: PixelSize(width: 150, height: 150))
        return [
            ("preview_url", .text(urls.preview)), ("preview_width", .int(shown.width)),
            ("preview_height", .int(shown.height)), ("actual_preview_width", .int(actual.width)),
            ("actual_preview_height", .int(actual.height)),
        ]
    }

    /// No sample is told by 0 bytes, the original's address and its size.
    private func sample(_ post: ServedPost, _ urls: Addresses) -> Members {
        let exists = universe.hasWide(post)
        let pixels = exists ? ServedRendition.wide.pixels(of: post.pixels) : post.pixels
        let url = exists ? urls.sample : urls.original
        return (post.isDeleted ? [] : [("sample_url", .text(url))]) + [
            ("sample_width", .int(pixels.width)), ("sample_height", .int(pixels.height)),
            ("sample_file_size", .int(exists ? universe.bytes(.wide, of: post) : 0)),
        ]
    }

    /// Of a PNG only; the original's address and its size for all others.
    private func jpeg(_ post: ServedPost, _ urls: Addresses) -> Members {
        let exists = post.format == .png
        let pixels = exists ? ServedRendition.jpeg.pixels(of: post.pixels) : post.pixels
        let url = exists ? urls.jpeg : urls.original
        return (post.isDeleted ? [] : [("jpeg_url", .text(url))]) + [
            ("jpeg_width", .int(pixels.width)), ("jpeg_height", .int(pixels.height)),
            ("jpeg_file_size", .int(exists ? universe.bytes(.jpeg, of: post) : 0)),
        ]
    }

    private func rest(_ post: ServedPost) -> Members {
        let status = post.isDeleted ? "deleted" : post.isFlagged ? "flagged" : post.isPending ? "pending" : "active"
        var members: Members = [("rating", .text(post.rating.rawValue))]
        if !isOld { members.append(("is_rating_locked", false)) }
        members += [
            ("has_children", .flag(post.hasChildren)), ("parent_id", .optional(post.parent)),
            ("status", .text(status)),
        ]
        if !isOld { members.append(("is_pending", .flag(post.isPending))) }
        members += [
            ("width", .int(post.pixels.width)), ("height", .int(post.pixels.height)), ("is_held", .flag(post.isHeld)),
            ("frames_pending_string", ""), ("frames_pending", .list([])), ("frames_string", ""),
            ("frames", .list([])),
        ]
        if !isOld { members += [("is_note_locked", false), ("last_noted_at", 0), ("last_commented_at", 0)] }
        if status != "active" {
            members.append(
                (
                    "flag_detail",
                    .object([
                        ("post_id", .integer(post.id)), ("reason", "sample"),
                        ("created_at", .text("\(ServedEasternTime.iso(post.created))")), ("user_id", .null),
                        ("flagged_by", "system"),
                    ])
                ))
        }
        return members
    }
}

/// The addresses of a post's files, with the decoration that each site puts behind the digest.
private struct Addresses {
    let site: ServedSite
    let post: ServedPost
    let digest: String
    let isOld: Bool
    let tags: [String]

    var original: String { file("image", "", post.format.rawValue) }
    var jpeg: String { file("jpeg", "", "jpg") }

    var sample: String {
        guard isOld, site == .konachan else { return file("sample", "sample ", "jpg") }
        return "\(host)/sample/\(digest)/\(Self.encoded("Konachan.com - \(post.id) sample")).jpg"
    }

    var preview: String {
        let host = site == .yandere ? "https://assets.yande.re" : host
        guard !post.isDeleted else { return host + ServedMoebooruPath.deletedPreview }
        return "\(host)/data/preview/\(digest.prefix(2))/\(digest.dropFirst(2).prefix(2))/\(digest).jpg"
    }

    // MARK: -

    private var host: String {
        site == .yandere ? "https://files.yande.re" : isOld ? "https://konachan.com" : "https://konachan.net"
    }

    private func file(_ folder: String, _ kind: String, _ fileExtension: String) -> String {
        let site = site == .yandere ? "yande.re" : "Konachan.com -"
        let words = tags.joined(separator: " ").prefix(Self.longest)
        let name = "\(site) \(post.id) \(kind)\(words)"
        return "\(host)/\(folder)/\(digest)/\(Self.encoded(name)).\(fileExtension)"
    }

    /// Signs of tags that a name has room for: paths are no longer than servers take.
    private static let longest = 200

    /// Percent-encoded, but for letters, digits and `-_.`; a slash would end the name and is left out.
    private static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f, 0x2e: bytes.append(byte)
            case 0x2f: bytes.append(0x5f)
            default: bytes += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
