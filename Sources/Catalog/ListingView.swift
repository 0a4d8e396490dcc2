package import Rankings

/// What of its works a mount's listings show, and in which form; decided by options, the same for the life of a catalog.
package struct ListingView: Hashable, Sendable {
    /// `small`, `regular` or `original`.
    package var rendition: Rendition
    /// Whether every page of a work is an entry, or its first one only.
    package var allPages: Bool
    package var filter: ListingFilter
    /// The last rank of a ranking that is shown; nil for all.
    ///
    /// Pages behind it are not asked for.
    package var top: Int?

    package init(
        rendition: Rendition, allPages: Bool = false, filter: ListingFilter = ListingFilter(), top: Int? = nil
    ) {
        self.rendition = rendition
        self.allPages = allPages
        self.filter = filter
        self.top = top
    }

    /// Whether an entry of this rank is shown; 0 stands for none.
    func shows(rank: Int32) -> Bool {
        rank == 0 || top.map { rank <= $0 } ?? true
    }

    /// Whether a work of a listing is shown.
    func shows(_ work: Work, in key: ListingKey) -> Bool {
        switch key {
        case .ranking(let mode, _): filter.admits(work, rankedIn: mode)
        case .author, .search, .bookmarks: filter.admits(work, rankedIn: nil)
        case .work, .following: true
        }
    }

    /// Whether stored entries can only be judged with their works' records.
    func needsRecords(of key: ListingKey) -> Bool {
        !key.isSameInEveryView && (allPages || !filter.admitsAll)
    }
}

/// A picture that a listing shows, before it has a name.
struct ListedPicture: Sendable {
    var listed: ListedWork
    var page = 0
    var rendition: Rendition
    var reference: String
    /// Without a dot.
    var fileExtension: String
    /// Nil for a name made of rank or number and title.
    var name: String?
    /// Bytes, 0 for unknown.
    var size: Int64 = 0

    /// Page 0 of a work in a rendition that is always JPEG.
    init(_ listed: ListedWork, rendition: Rendition) {
        self.init(listed, rendition: rendition, reference: listed.work.picture, fileExtension: "jpg")
    }

    init(_ listed: ListedWork, page: Int = 0, rendition: Rendition, reference: String, fileExtension: String) {
        self.listed = listed
        self.page = page
        self.rendition = rendition
        self.reference = reference
        self.fileExtension = fileExtension
    }

    var id: PictureID {
        PictureID(work: listed.work.id, page: page, rendition: rendition, uploaded: listed.work.uploaded)
    }
}
