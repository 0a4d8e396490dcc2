package import Booru
package import Rankings
package import Sourcing

extension DanbooruPost {
    /// What a post's record shows besides what listings tell.
    package static func fields(_ record: JSON) -> PostFields {
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
        return PostFields(more: named.shown)
    }
}

/// What is known of the service's answers: a test holds every recorded answer against these.
extension FieldList {
    /// A post as lists and its own record have it.
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
            // When an old comment last moved the post; how many of its comments and notes are visible to whom.
            "last_comment_bumped_at", "has_active_children", "has_visible_children",
            // Follow from the tags.
            "tag_count", "tag_count_general", "tag_count_artist", "tag_count_character", "tag_count_copyright",
            "tag_count_meta",
            // The service's own book-keeping.
            "bit_flags",
        ])

    /// Its file.
    package static let danbooruAsset = FieldList(
        decoded: [
            ("created_at", .text), ("duration", .numberOrNull), ("status", .text), ("variants", .list),
        ],
        passedOver: [
            // The post tells the same.
            "md5", "file_ext", "file_size", "image_width", "image_height",
            // The service's own book-keeping.
            "id", "updated_at", "file_key", "is_public", "pixel_hash",
        ])

    /// A rendition of the file.
    package static let danbooruVariant = FieldList(
        decoded: [
            ("type", .text), ("url", .text), ("width", .number), ("height", .number), ("file_ext", .text),
        ], passedOver: [])
}
