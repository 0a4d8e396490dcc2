import Rankings

/// A post as Danbooru's JSON has it: 46 keys, or 42 when the file is not for everybody.
struct ServedDanbooruPost: Sendable {
    let universe: PostUniverse
    let index: PostsByDigest
    /// Whether only rating g is visible.
    let isSafe: Bool

    /// The record; nil without memory.
    func json(_ post: ServedPost) -> JSONText? {
        guard let original = universe.original(post) else { return nil }
        index.learn(original.digest, post.id)
        let isVisible = post.isVisible && (!isSafe || post.rating == .general)
        let files = Files(post: post, digest: original.digest, length: original.length, isVisible: isVisible)
        let tags = Tags(universe.tags(of: post))
        var members = head(post, files, tags)
        members.append(("media_asset", asset(post, files)))
        members += tags.strings
        if isVisible {
            members += [
                ("file_url", .text(files.url(.original, post.format.rawValue))),
                ("large_file_url", .text(files.large)),
                ("preview_file_url", .text(files.url(.box180, "jpg"))),
            ]
        }
        return .object(members)
    }

    /// What `only=media_metadata` adds: the delays of an animation's frames.
    func metadata(_ post: ServedPost) -> JSONText {
        guard post.format == .zip else { return .object([("metadata", .object([]))]) }
        let delays = (0..<PostModel.frames).map { _ in JSONText.int(PostModel.frameDelay) }
        return .object([
            (
                "metadata",
                .object([("Ugoira:FrameDelays", .list(delays)), ("Ugoira:FrameMimeType", "image/jpeg")])
            )
        ])
    }

    // MARK: -

    /// Where the files of a post are.
    private struct Files {
        let post: ServedPost
        let digest: OriginDigest
        let length: Int
        let isVisible: Bool

        func url(_ rendition: ServedRendition, _ fileExtension: String) -> String {
            ServedDanbooruPath(rendition, digest, fileExtension).url
        }

        var large: String {
            guard post.hasSample else { return url(.original, post.format.rawValue) }
            return url(.sample, post.format == .zip ? "webm" : "jpg")
        }
    }

    /// The names of a post's tags, by what they name.
    private struct Tags {
        let all: [String]
        private let kinds: [ServedTag.Kind: [String]]

        init(_ places: [Int]) {
            let tags = places.map { ServedTags.all[$0] }
            all = tags.map(\.name)
            kinds = Dictionary(grouping: tags, by: \.kind).mapValues { $0.map(\.name) }
        }

        func count(_ kind: ServedTag.Kind) -> JSONText {
            .int(kinds[kind]?.count ?? 0)
        }

        var strings: Members {
            let names: [(String, ServedTag.Kind)] = [
                ("general", .general), ("character", .character), ("copyright", .copyright), ("artist", .artist),
                ("meta", .meta),
            ]
            return names.map { ("tag_string_\($0.0)", .words(kinds[$0.1] ?? [])) }
        }
    }

    /// The keys before `media_asset`, in the order recorded.
    private func head(_ post: ServedPost, _ files: Files, _ tags: Tags) -> Members {
        let created = JSONText.text(ServedEasternTime.iso(post.created))
        var members: Members = [
            ("id", .integer(post.id)), ("created_at", created), ("uploader_id", .int(post.uploader)),
            ("score", .int(post.score)), ("source", .text(post.source.text)),
        ]
        if files.isVisible { members.append(("md5", .text(files.digest.hex))) }
        members += [
            ("last_comment_bumped_at", .null), ("rating", .text(post.rating.rawValue)),
            ("image_width", .int(post.pixels.width)), ("image_height", .int(post.pixels.height)),
            ("tag_string", .words(tags.all)), ("fav_count", .int(post.upScore + post.upScore / 5)),
            ("file_ext", .text(post.format.rawValue)), ("last_noted_at", .null),
            ("parent_id", .optional(post.parent)), ("has_children", .flag(post.hasChildren)),
            ("approver_id", post.isPending || post.slot.number % 9 > 0 ? .null : .int(post.uploader / 7 + 1)),
            ("tag_count_general", tags.count(.general)), ("tag_count_artist", tags.count(.artist)),
            ("tag_count_character", tags.count(.character)), ("tag_count_copyright", tags.count(.copyright)),
            ("file_size", .int(files.length)), ("up_score", .int(post.upScore)), ("down_score", .int(post.downScore)),
            ("is_pending", .flag(post.isPending)), ("is_flagged", .flag(post.isFlagged)),
            ("is_deleted", .flag(post.isDeleted)), ("tag_count", .int(tags.all.count)), ("updated_at", created),
            ("is_banned", .flag(post.isBanned)), ("pixiv_id", .optional(post.source.pixivID)),
            ("last_commented_at", .null), ("has_active_children", .flag(post.hasChildren)), ("bit_flags", 0),
            ("tag_count_meta", tags.count(.meta)), ("has_large", .flag(post.hasSample)),
            ("has_visible_children", .flag(post.hasChildren)),
        ]
        return members
    }

    private func asset(_ post: ServedPost, _ files: Files) -> JSONText {
        // uploaded some seconds before it is posted
        let created = JSONText.text(ServedEasternTime.iso(post.created - 9_410))
        var chance = Chance(universe.seed, 0xa55e7, UInt64(bitPattern: post.id))
        var members: Members = [
            ("id", .integer(post.id * 4 + 1)), ("created_at", created),
            ("updated_at", .text(ServedEasternTime.iso(post.created - 8_003))),
        ]
        if files.isVisible { members.append(("md5", .text(files.digest.hex))) }
        members += [
            ("file_ext", .text(post.format.rawValue)), ("file_size", .int(files.length)),
            ("image_width", .int(post.pixels.width)), ("image_height", .int(post.pixels.height)),
            ("duration", post.format.duration.map(JSONText.real) ?? .null),
            ("status", post.isExpunged ? "expunged" : "active"),
        ]
        if files.isVisible { members.append(("file_key", .text(String(chance.next() >> 16, radix: 36)))) }
        members.append(("is_public", true))
        guard files.isVisible else { return .object(members) }
        members.append(("pixel_hash", .text(Universe.hexDigits(&chance))))
        let variants = post.isExpunged ? [] : universe.variants(of: post)
        members.append(("variants", .list(variants.map { variant($0.rendition, $0.fileExtension, post, files) })))
        return .object(members)
    }

    private func variant(
        _ rendition: ServedRendition, _ fileExtension: String, _ post: ServedPost, _ files: Files
    ) -> JSONText {
        let pixels = rendition.pixels(of: post.pixels)
        return .object([
            ("type", .text(rendition.rawValue)), ("url", .text(files.url(rendition, fileExtension))),
            ("width", .int(pixels.width)), ("height", .int(pixels.height)), ("file_ext", .text(fileExtension)),
        ])
    }
}
