/// The number of a work, as the service counts them.
package struct WorkID: RawRepresentable, Hashable, Comparable, Codable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: WorkID, right: WorkID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The number of an author, as the service counts them.
package struct UserID: RawRepresentable, Hashable, Comparable, Codable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: UserID, right: UserID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// How large a picture is wanted; what each is of a source, its description tells.
package enum Rendition: String, Hashable, Sendable, CaseIterable {
    /// A preview, of which thumbnails are made.
    case small
    /// What fills a screen.
    case regular
    /// The author's file, of any format.
    case original
    /// The zip of an animation's frames, as served.
    case archive
    /// An animation as WebP, made here.
    case webp
    /// An animation as GIF, made here.
    case gif
    /// An animation as Matroska, made here.
    case matroska
    /// The picture of an author, whose number stands in the place of the work's.
    case avatar
    /// A thumbnail of 128 pixels without texts, as PNG, made here.
    case normalThumbnail = "normal"
    /// One of 256 pixels.
    case largeThumbnail = "large"

    /// What listings can be made of: the option `images`.
    package static let ofListings: [Rendition] = [.original, .regular, .small]
}

/// One picture, exactly: bytes under one `PictureID` never change.
package struct PictureID: Hashable, Sendable {
    package let work: WorkID
    /// The page, from 0.
    package let page: Int
    package let rendition: Rendition
    /// When the picture was uploaded, in Unix seconds; a new upload is another picture.
    package let uploaded: Int64

    package init(work: WorkID, page: Int, rendition: Rendition, uploaded: Int64) {
        self.work = work
        self.page = page
        self.rendition = rendition
        self.uploaded = uploaded
    }

    /// Reads `key` back; nil for a text that no picture has.
    package init?(key: String) {
        let parts = key.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 4, let work = Int64(parts[0]), parts[1].first == "p", let page = Int(parts[1].dropFirst()),
            let rendition = Rendition(rawValue: String(parts[2])), let uploaded = Int64(parts[3])
        else { return nil }
        self.init(work: WorkID(rawValue: work), page: page, rendition: rendition, uploaded: uploaded)
        // Numbers have other spellings (`+1`, `01`) that would be the same picture under another name.
        guard self.key == key else { return nil }
    }

    /// The same facts as text, for database keys and cache files.
    package var key: String {
        "\(work.rawValue)_p\(page)_\(rendition.rawValue)_\(uploaded)"
    }
}

// MARK: - Picture limits

/// What a picture can be at most, whoever tells its length.
package enum PictureLimits {
    /// The largest picture that is believed in, in bytes.
    ///
    /// The service takes uploads of 32 MB; archives of animations and pictures of other hosts may have some times that. A host
    /// that tells more is mistaken or hostile, and nothing must be thrown away to make room for what it tells.
    package static let largest: Int64 = 256 << 20
}
