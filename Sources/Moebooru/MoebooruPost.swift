package import Booru
package import Rankings
import Sourcing

/// Reads posts of the engine, in the 44 fields of today or the 36 of older sites.
package struct MoebooruPost {
    /// The kinds of tags, as the answer tells them beside the posts; one that is missing is of a general kind.
    package let tagKinds: [String: TagKind]
    /// From which pictures may come.
    package let hosts: PictureHosts

    package init(tagKinds: [String: TagKind], hosts: PictureHosts) {
        self.tagKinds = tagKinds
        self.hosts = hosts
    }

    package func entry(_ record: JSON) -> PostEntry {
        guard let id = record["id"].number, id > 0 else { return .unreadable }
        let address = record["file_url"].words
        let told = record["file_ext"].text.flatMap { PostFormat.plain($0) }
        // Older sites do not tell it.
        let fileExtension = told ?? address.flatMap { PostFormat.ofAddress($0) }
        if fileExtension == PostFormat.flash { return .unplayable }
        var post = BooruPost(id: WorkID(rawValue: id))
        post.rating = MoebooruSite.scale.step(letter: record["rating"].text)?.rating
        post.tags.add(record["tags"].text ?? "") { tagKinds[$0] ?? .general }
        post.width = Int(record["width"].number(in: AnswerBounds.pixels) ?? 0)
        post.height = Int(record["height"].number(in: AnswerBounds.pixels) ?? 0)
        post.fileExtension = fileExtension
        post.created = moment(record["created_at"])
        post.uploaded = post.created ?? 0
        post.score = record["score"].number
        post.source = record["source"].text ?? ""
        return post.entry(
            original: address, size: record["file_size"].number, hosts: hosts, withheld: withholding(of: record)
        ) { original in
            guard var files = PostFiles(original: original, md5: record["md5"].text) else { return nil }
            files.sample = sample(of: record, original: original)
            files.small = picture(record["preview_url"], size: nil).flatMap { $0.fileExtension == "jpg" ? $0 : nil }
            return files
        }
    }

    private func withholding(of record: JSON) -> String {
        if record["status"].text == "deleted" { return Withholding.deleted }
        return record["is_held"].flag == true ? Withholding.held : Withholding.restricted
    }

    /// What was made to fill a screen: without bytes it was not made, and its address is that of something else.
    ///
    /// That is the original, or of a PNG the JPEG of the same size.
    private func sample(of record: JSON, original: PostFile) -> PostFile? {
        let made = [("sample_url", "sample_file_size"), ("jpeg_url", "jpeg_file_size")]
        for (address, size) in made {
            guard let bytes = record[size].number, bytes > 0, let file = picture(record[address], size: bytes),
                file.place != original.place
            else { continue }
            return file
        }
        return nil
    }

    private func picture(_ address: JSON, size: Int64?) -> PostFile? {
        guard let address = address.words, let place = hosts.place(address),
            let fileExtension = PostFormat.ofAddress(address), PostFormat.pictures.contains(fileExtension)
        else { return nil }
        return PostFile(place: place, fileExtension: fileExtension, size: size)
    }

    /// Unix seconds, which relatives of the engine wrap in an object.
    private func moment(_ value: JSON) -> Int64? {
        value.number(in: AnswerBounds.times) ?? value["s"].number(in: AnswerBounds.times)
    }
}
