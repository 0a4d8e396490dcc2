package import Rankings
package import Sourcing

/// Decoder of the engine's posts, in today's 44 fields or the 36 of older sites.
package struct MoebooruPost {
    /// The kinds of tags, which the answer lists beside the posts; a missing tag is of the general kind.
    package let tagKinds: [String: TagKind]
    /// The hosts from which pictures are accepted.
    package let hosts: PictureHosts

    package func entry(_ record: JSON) -> PostEntry {
        BooruPost.entry(record, scale: MoebooruSite.scale, hosts: hosts, withheld: withholding) { post in
            post.tags.add(record["tags"].text ?? "") { tagKinds[$0] ?? .general }
            post.width = record["width"].pixels
            post.height = record["height"].pixels
            // Unix seconds, which engines related to this one wrap in an object.
            let created = record["created_at"]
            post.created = created.number(in: AnswerBounds.times) ?? created["s"].number(in: AnswerBounds.times)
            post.uploaded = post.created ?? 0
        } files: { files in
            files.sample = sample(of: record, original: files.original)
            files.small = hosts.picture(record["preview_url"]).flatMap { $0.fileExtension == "jpg" ? $0 : nil }
        }
    }

    private func withholding(of record: JSON) -> String {
        if record["status"].text == "deleted" { return Withholding.deleted }
        return record["is_held"].flag == true ? Withholding.held : Withholding.restricted
    }

    /// The screen-sized rendition: without a size in bytes it was not made, and its address is that of another file.
    ///
    /// The other file is the original, or the JPEG of the same size for a PNG.
    private func sample(of record: JSON, original: PostFile) -> PostFile? {
        let made = [("sample_url", "sample_file_size"), ("jpeg_url", "jpeg_file_size")]
        for (address, size) in made {
            guard let bytes = record[size].number, bytes > 0, let file = hosts.picture(record[address], size: bytes),
                file.place != original.place
            else { continue }
            return file
        }
        return nil
    }
}

// MARK: - Moebooru fields

extension MoebooruPost {
    /// The fields of a post's record that listings lack.
    package func fields(_ record: JSON) -> [JSON.Member] {
        let flags = ["pending", "held"].filter { record["is_\($0)"].flag == true }
        let hidden = record["is_shown_in_index"].flag == false ? ["hidden"] : []
        let status = [record["status"].words].compactMap(\.self) + flags + hidden
        let sizes = [("preview", "actual_preview_"), ("sample", "sample_"), ("jpeg", "jpeg_")].compactMap {
            name, prefix in rendition(record, name, prefix)
        }
        let named: [(name: String, value: JSON)] = [
            ("score", record["score"].plain), ("md5", record["md5"].plain), ("file_size", record["file_size"].plain),
            ("file_ext", record["file_ext"].plain), ("source", record["source"].plain),
            ("parent", record["parent_id"].plain), ("has_children", record["has_children"].plain),
            ("uploader", record["creator_id"].plain), ("uploader_name", record["author"].plain),
            ("approver", record["approver_id"].plain),
            ("status", .array(status.uniqued(by: \.self).map { .string($0) })),
            ("flag_detail", .object(record["flag_detail"].members.map { .init(name: $0.name, value: $0.value.plain) })),
            ("updated", moment(record["updated_at"])), ("last_noted", moment(record["last_noted_at"])),
            ("last_commented", moment(record["last_commented_at"])), ("renditions", .object(sizes)),
            ("tag_groups", .object(groups(record))),
        ]
        return named.shown
    }

    /// Pixels and bytes of a rendition; nil for a rendition that was not made.
    private func rendition(_ record: JSON, _ name: String, _ prefix: String) -> JSON.Member? {
        let bytes = record["\(prefix)file_size"]
        guard let width = record["\(prefix)width"].number(in: AnswerBounds.pixels),
            let height = record["\(prefix)height"].number(in: AnswerBounds.pixels), bytes.number != 0
        else { return nil }
        let size = bytes.number.map { ", \($0) bytes" } ?? ""
        return JSON.Member(name: name, value: .string("\(width)x\(height)\(size)"))
    }

    /// The tags of known types, by type.
    private func groups(_ record: JSON) -> [JSON.Member] {
        var tags = PostTags()
        tags.add(record["tags"].text ?? "") { tagKinds[$0] ?? .general }
        guard !tagKinds.isEmpty else { return [] }
        return TagKind.allCases.compactMap { kind in
            tags[kind].isEmpty ? nil : .init(name: kind.rawValue, value: .array(tags[kind].map { .string($0) }))
        }
    }

    /// A time as text; null for 0, which means never.
    private func moment(_ value: JSON) -> JSON {
        guard let seconds = value.number(in: AnswerBounds.times), seconds > 0 else { return .null }
        return Timestamp.text(seconds).map { .string($0) } ?? .null
    }
}

/// The known fields of the engine's answers; a test checks every recorded answer against them.
extension FieldList {
    /// An answer of the second version.
    package static let moebooruAnswer = FieldList(
        decoded: [("posts", .list), ("tags", .object)],
        // Collections of posts, which are not requested.
        passedOver: ["pools", "pool_posts"])

    /// A post.
    package static let moebooruPost = FieldList(
        decoded: [
            ("id", .number), ("tags", .text), ("created_at", .number), ("updated_at", .number),
            ("creator_id", .numberOrNull), ("approver_id", .numberOrNull), ("author", .text), ("source", .text),
            ("score", .number), ("md5", .text), ("file_size", .number), ("file_ext", .text), ("file_url", .text),
            ("is_shown_in_index", .flag), ("preview_url", .text), ("actual_preview_width", .number),
            ("actual_preview_height", .number), ("sample_url", .text), ("sample_width", .number),
            ("sample_height", .number), ("sample_file_size", .number), ("jpeg_url", .text), ("jpeg_width", .number),
            ("jpeg_height", .number), ("jpeg_file_size", .number), ("rating", .text), ("has_children", .flag),
            ("parent_id", .numberOrNull), ("status", .text), ("is_pending", .flag), ("width", .number),
            ("height", .number), ("is_held", .flag), ("last_noted_at", .number), ("last_commented_at", .number),
        ],
        passedOver: [
            // The size at which the web page shows the preview, not the size of the preview.
            "preview_width", "preview_height",
            // Whether rating and notes may be changed; the number of the last change.
            "is_rating_locked", "is_note_locked", "change",
            // Parts of pictures that other posts were cut from; the site does not show them.
            "frames", "frames_string", "frames_pending", "frames_pending_string",
        ])
}
