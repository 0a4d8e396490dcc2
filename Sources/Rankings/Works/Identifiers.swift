/// The number of a work in the service's own numbering.
package struct WorkID: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// The number of an author in the service's own numbering.
package struct UserID: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// The size or form in which a picture is wanted; a source's description has the facts of each.
package enum Rendition: String, Hashable, Sendable, CaseIterable {
    /// A preview, of which thumbnails are made.
    case small
    /// A picture that fills a screen.
    case regular
    /// The author's file, of any format.
    case original
    /// The zip archive of an animation's frames, as served.
    case archive
    /// An animation as WebP, made here.
    case webp
    /// An animation as GIF, made here.
    case gif
    /// An animation as Matroska, made here.
    case matroska
    /// The picture of an author; the author's number takes the place of the work's.
    case avatar
    /// A thumbnail of 128 pixels without texts, as PNG, made here.
    case normalThumbnail = "normal"
    /// The same with 256 pixels.
    case largeThumbnail = "large"

    /// The renditions that listings can show: the option `images`.
    package static let ofListings: [Rendition] = [.original, .regular, .small]
}

/// The identity of one picture: the bytes under one `PictureID` never change.
package struct PictureID: Hashable, Sendable {
    package let work: WorkID
    /// The page, from 0.
    package let page: Int
    package let rendition: Rendition
    /// The upload time in Unix seconds; a new upload is another picture.
    package let uploaded: Int64

    package init(work: WorkID, page: Int, rendition: Rendition, uploaded: Int64) {
        self.work = work
        self.page = page
        self.rendition = rendition
        self.uploaded = uploaded
    }

    /// The identity as text, for database keys, cache files and objects of the tier.
    package var key: String {
        "\(work.rawValue)_p\(page)_\(rendition.rawValue)_\(uploaded)"
    }
}

// MARK: - Picture limits

/// The limits of a picture, whatever length a host declares.
package enum PictureLimits {
    /// The largest accepted picture, in bytes.
    ///
    /// The service takes uploads of 32 MB; archives of animations and pictures of other hosts may have a few times that. A host
    /// that declares more is mistaken or hostile, and nothing must be evicted to make room for the declared length.
    package static let largest: Int64 = 256 << 20
}
