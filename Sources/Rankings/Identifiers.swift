/// The number of a work, as the service counts them.
package struct WorkID: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: WorkID, right: WorkID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The number of an author, as the service counts them.
package struct UserID: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: UserID, right: UserID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// How large a picture is wanted.
package enum Rendition: String, Hashable, Sendable, CaseIterable {
    /// The 480-pixel preview, always JPEG.
    case small
    /// The 1200-pixel rendition, always JPEG.
    case regular
    /// The author's file, of any format.
    case original
    /// The zip of an animation's frames, as served.
    case archive
    /// An animation as WebP, made here.
    case webp
    /// The picture of an author, whose number stands in the place of the work's.
    case avatar

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

    /// The same facts as text, for database keys and cache files.
    package var key: String {
        "\(work.rawValue)_p\(page)_\(rendition.rawValue)_\(uploaded)"
    }
}

/// Which directory of entries is meant.
package enum ListingKey: Hashable, Sendable {
    case ranking(RankingMode, Day)
    case author(UserID)
}
