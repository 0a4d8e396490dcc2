package import Rankings
package import Sourcing

/// Decoder of a post of Danbooru's.
extension DanbooruEngine {
    /// Decodes a post of `/posts.json` or `/posts/<id>.json`, also from the years in which it had fewer fields.
    package static func entry(_ record: JSON, hosts: PictureHosts) -> PostEntry {
        BooruPost.entry(record, scale: scale, hosts: hosts, withheld: withholding) { post in
            post.tags = tags(of: record)
            post.width = record["image_width"].pixels
            post.height = record["image_height"].pixels
            post.created = record["created_at"].moment
            post.uploaded = record["media_asset"]["created_at"].moment ?? post.created ?? 0
            post.favourites = record["fav_count"].count
            post.pixivWork = record["pixiv_id"].number
            // The service's rules require the tag on posts made with AI.
            post.isAI = post.tags.contains("ai-generated")
        } files: {
            add(to: &$0, from: record, hosts: hosts)
        }
    }

    /// The reason why there are no addresses, as far as the flags state it.
    private static func withholding(of record: JSON) -> String {
        if record["is_banned"].flag == true { return Withholding.banned }
        if record["media_asset"]["status"].text == "expunged" { return Withholding.expunged }
        if record["is_deleted"].flag == true { return Withholding.deleted }
        return Withholding.restricted
    }

    private static func tags(of record: JSON) -> PostTags {
        var tags = PostTags()
        for (field, kind) in [
            ("tag_string_artist", TagKind.artist), ("tag_string_copyright", .copyright),
            ("tag_string_character", .character), ("tag_string_meta", .meta), ("tag_string_general", .general),
            // Repeats all tags; very old answers have only this field.
            ("tag_string", .general),
        ] {
            tags.add(record[field].text ?? "") { _ in kind }
        }
        return tags
    }

    /// The renditions: of each existing variant, and without variants (before 2023) of the two old addresses.
    private static func add(to files: inout PostFiles, from record: JSON, hosts: PictureHosts) {
        let original = files.original
        func file(_ address: JSON, _ fileExtension: String?) -> PostFile? {
            hosts.picture(address, fileExtension).flatMap { $0.place == original.place ? nil : $0 }
        }
        let variants = record["media_asset"]["variants"].elements
        func variant(_ type: String) -> PostFile? {
            guard let variant = variants.first(where: { $0["type"].text == type }) else { return nil }
            return file(variant["url"], variant["file_ext"].text.flatMap { PostFormat.plain($0) })
        }
        // The sample of an animation is a film.
        files.sample = variant("sample")
        files.still = variant("720x720")
        files.small = variant("360x360") ?? variant("180x180")
        if variants.isEmpty {
            if record["has_large"].flag != false { files.sample = file(record["large_file_url"], nil) }
            files.small = file(record["preview_file_url"], nil)
        }
        if files.small?.fileExtension != "jpg" { files.small = nil }
    }
}

extension JSON {
    /// Unix seconds of a time as the service spells it, with milliseconds and the zone's offset.
    fileprivate var moment: Int64? {
        text.flatMap { Timestamp.seconds($0) }.flatMap { AnswerBounds.times.contains($0) ? $0 : nil }
    }
}

// MARK: - Danbooru fields

extension DanbooruEngine {
    /// The fields of a post's record that listings lack.
    package static func fields(_ record: JSON) -> [JSON.Member] {
        let asset = record["media_asset"]
        let flags = ["pending", "flagged", "deleted", "banned"].filter { record["is_\($0)"].flag == true }
        let sizes = asset["variants"].elements.compactMap { variant -> JSON.Member? in
            guard let type = variant["type"].words, let width = variant["width"].number(in: AnswerBounds.pixels),
                let height = variant["height"].number(in: AnswerBounds.pixels)
            else { return nil }
            return JSON.Member(name: type, value: .string("\(width)x\(height)"))
        }
        let groups = TagKind.allCases.compactMap { kind -> JSON.Member? in
            let tags = (record["tag_string_\(kind.rawValue)"].text ?? "").split(separator: " ")
            return tags.isEmpty
                ? nil : JSON.Member(name: kind.rawValue, value: .array(tags.map { .string(String($0)) }))
        }
        let named: [(name: String, value: JSON)] = [
            ("score", record["score"].plain), ("up_score", record["up_score"].plain),
            ("down_score", record["down_score"].plain), ("md5", record["md5"].plain),
            ("file_size", record["file_size"].plain),
            ("file_ext", record["file_ext"].plain), ("duration", asset["duration"].plain),
            ("source", record["source"].plain), ("pixiv_id", record["pixiv_id"].plain),
            ("parent", record["parent_id"].plain), ("has_children", record["has_children"].plain),
            ("uploader", record["uploader_id"].plain), ("approver", record["approver_id"].plain),
            ("status", .array(flags.map { .string($0) })), ("file_status", asset["status"].plain),
            ("updated", record["updated_at"].plain), ("last_noted", record["last_noted_at"].plain),
            ("last_commented", record["last_commented_at"].plain), ("renditions", .object(sizes)),
            ("tag_groups", .object(groups)),
        ]
        return named.shown
    }
}

/// The known fields of the service's answers; a test checks every recorded answer against them.
extension FieldList {
    /// A post in lists and in its own record.
    package static let danbooruPost = FieldList(
        decoded: [
            ("id", .number), ("created_at", .text), ("uploader_id", .number), ("score", .number), ("source", .text),
            ("md5", .text), ("rating", .text), ("image_width", .number), ("image_height", .number),
            ("tag_string", .text), ("fav_count", .number), ("file_ext", .text), ("file_size", .number),
            ("up_score", .number), ("down_score", .number), ("is_pending", .flag), ("is_flagged", .flag),
            ("is_deleted", .flag), ("is_banned", .flag), ("has_large", .flag), ("has_children", .flag),
            ("updated_at", .text), ("parent_id", .numberOrNull), ("approver_id", .numberOrNull),
            ("pixiv_id", .numberOrNull), ("last_noted_at", .textOrNull), ("last_commented_at", .textOrNull),
            ("tag_string_general", .text), ("tag_string_artist", .text), ("tag_string_character", .text),
            ("tag_string_copyright", .text), ("tag_string_meta", .text), ("media_asset", .objectOrNull),
            ("file_url", .text), ("large_file_url", .text), ("preview_file_url", .text),
        ],
        passedOver: [
            // The time at which an old comment last moved the post; whether it has children that are active or visible.
            "last_comment_bumped_at", "has_active_children", "has_visible_children",
            // Fields that follow from the tags.
            "tag_count", "tag_count_general", "tag_count_artist", "tag_count_character", "tag_count_copyright",
            "tag_count_meta",
            // Internal fields of the service.
            "bit_flags",
        ])

    /// The file of a post.
    package static let danbooruAsset = FieldList(
        decoded: [
            ("created_at", .text), ("duration", .numberOrNull), ("status", .text), ("variants", .list),
        ],
        passedOver: [
            // Fields that repeat those of the post.
            "md5", "file_ext", "file_size", "image_width", "image_height",
            // Internal fields of the service.
            "id", "updated_at", "file_key", "is_public", "pixel_hash",
        ])

    /// A rendition of the file.
    package static let danbooruVariant = FieldList(
        decoded: [
            ("type", .text), ("url", .text), ("width", .number), ("height", .number), ("file_ext", .text),
        ], passedOver: [])
}
