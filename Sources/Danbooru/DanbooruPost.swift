package import Booru
package import Rankings
import Sourcing

/// Reads a post of Danbooru's.
package enum DanbooruPost {
    /// A post of `/posts.json` or `/posts/<id>.json`, also of the years in which it had fewer fields.
    package static func entry(_ record: JSON, hosts: PictureHosts) -> PostEntry {
        guard let id = record["id"].number, id > 0 else { return .unreadable }
        let fileExtension = record["file_ext"].text.flatMap { PostFormat.plain($0) }
        if fileExtension == PostFormat.flash { return .unplayable }
        var post = BooruPost(id: WorkID(rawValue: id))
        let asset = record["media_asset"]
        post.rating = DanbooruFacts.scale.step(letter: record["rating"].text)?.rating
        post.tags = tags(of: record)
        post.width = Int(record["image_width"].number(in: AnswerBounds.pixels) ?? 0)
        post.height = Int(record["image_height"].number(in: AnswerBounds.pixels) ?? 0)
        post.fileExtension = fileExtension
        post.created = record["created_at"].moment
        post.uploaded = asset["created_at"].moment ?? post.created ?? 0
        post.score = record["score"].number
        post.favourites = record["fav_count"].count
        post.source = record["source"].text ?? ""
        post.pixivWork = record["pixiv_id"].number
        // Posts made with AI must have the tag by the service's rules.
        post.isAI = post.tags.contains("ai-generated")
        return post.entry(
            original: record["file_url"].words, size: record["file_size"].number, hosts: hosts,
            withheld: withholding(of: record)
        ) { files(of: record, original: $0, hosts: hosts) }
    }

    /// Why there are no addresses: the service does not say it, but for what its flags tell.
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
            // All of them once more; in very old answers nothing but this.
            ("tag_string", .general),
        ] {
            tags.add(record[field].text ?? "") { _ in kind }
        }
        return tags
    }

    /// The renditions: of each variant there is, and without variants (before 2023) of the two old addresses.
    private static func files(of record: JSON, original: PostFile, hosts: PictureHosts) -> PostFiles? {
        guard var files = PostFiles(original: original, md5: record["md5"].text) else { return nil }
        func file(_ address: JSON, _ fileExtension: String?) -> PostFile? {
            guard let address = address.words, let place = hosts.place(address), place != original.place,
                let fileExtension = fileExtension ?? PostFormat.ofAddress(address),
                PostFormat.pictures.contains(fileExtension)
            else { return nil }
            return PostFile(place: place, fileExtension: fileExtension)
        }
        let variants = record["media_asset"]["variants"].elements
        func variant(_ type: String) -> PostFile? {
            guard let variant = variants.first(where: { $0["type"].text == type }) else { return nil }
            return file(variant["url"], variant["file_ext"].text.flatMap { PostFormat.plain($0) })
        }
        // That of an animation is a film.
        files.sample = variant("sample")
        files.still = variant("720x720")
        files.small = variant("360x360") ?? variant("180x180")
        if variants.isEmpty {
            if record["has_large"].flag != false { files.sample = file(record["large_file_url"], nil) }
            files.small = file(record["preview_file_url"], nil)
        }
        if files.small?.fileExtension != "jpg" { files.small = nil }
        return files
    }
}

extension JSON {
    /// Unix seconds of a moment as the service spells it, with milliseconds and the zone's offset.
    fileprivate var moment: Int64? {
        text.flatMap { Timestamp.seconds($0) }.flatMap { AnswerBounds.times.contains($0) ? $0 : nil }
    }
}
