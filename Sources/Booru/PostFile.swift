import Rankings

/// One file of a post: where it is, and what the listing tells of it.
package struct PostFile: Hashable, Sendable {
    /// Host and path (`PictureHosts.place`).
    package var place: String
    /// Without a dot; one of `PostFormat.all`.
    package var fileExtension: String
    /// Bytes; nil if not told.
    package var size: Int64?

    /// - Parameters:
    ///   - place: Host and path.
    ///   - fileExtension: One of `PostFormat.all`.
    ///   - size: Bytes; what no file has counts as not told.
    package init(place: String, fileExtension: String, size: Int64? = nil) {
        self.place = place
        self.fileExtension = fileExtension
        self.size = size.flatMap { (1...PictureLimits.largest).contains($0) ? $0 : nil }
    }
}

/// The formats that posts may have.
package enum PostFormat {
    package static let all: Set<String> = ["jpg", "png", "gif", "webp", "avif", "mp4", "webm", "zip"]
    /// Those that show at once what a picture viewer can.
    package static let pictures: Set<String> = ["jpg", "png", "gif", "webp", "avif"]
    /// Those that move; a GIF may stand still.
    package static let animations: Set<String> = ["mp4", "webm", "zip"]
    /// What no program plays any more.
    package static let flash = "swf"

    /// The extension as files here have it: lower case, `jpg` for `jpeg`; nil if there is none.
    package static func plain(_ text: String) -> String? {
        let lower = text.lowercased()
        guard (1...5).contains(lower.utf8.count) else { return nil }
        return lower == "jpeg" ? "jpg" : lower
    }

    /// The extension of an address's last part; nil if it has none.
    package static func ofAddress(_ address: String) -> String? {
        let name = address.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return nil }
        return plain(String(name[name.index(after: dot)...]))
    }
}

/// All files of a post that are of use here; there are none without what proves the original's bytes.
package struct PostFiles: Hashable, Sendable {
    /// Its size is told.
    package let original: PostFile
    /// The original's digest: 32 lower-case hexadecimal digits.
    package let md5: String
    /// What fills a screen, where something was made for it.
    package var sample: PostFile?
    /// A still that stands in for what is no picture.
    package var still: PostFile?
    /// A preview.
    package var small: PostFile?

    /// The files of a post; nil if the original's size is not told, or if its digest is none.
    package init?(
        original: PostFile, md5: String?, sample: PostFile? = nil, still: PostFile? = nil, small: PostFile? = nil
    ) {
        guard original.size != nil, let md5 = md5?.lowercased(), Self.isDigest(md5) else { return nil }
        self.original = original
        self.md5 = md5
        self.sample = sample
        self.still = still
        self.small = small
    }

    /// What fills a screen: the sample, the original of a small picture, or the still of what moves.
    package var regular: PostFile? {
        if let sample { return sample }
        return PostFormat.pictures.contains(original.fileExtension) ? original : still ?? small
    }

    static func isDigest(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
