package import Rankings

/// The choice and form of the works that a mount's listings show; set by options, constant for the life of a catalog.
package struct ListingView: Hashable, Sendable {
    /// `small`, `regular` or `original`.
    package var rendition: Rendition
    /// Whether every page of a work is an entry, or only its first page.
    package var allPages: Bool
    package var filter: ListingFilter
    /// The last rank of a ranking that is shown; nil for all.
    ///
    /// Pages after this rank are not requested.
    package var top: Int?
    /// The rankings of works made with AI; taken from the source's description.
    var generated: Set<RankingMode> = []
    /// Whether files of different renditions have names of their own; taken from the source's description.
    var hasOwnNames = false

    package init(
        rendition: Rendition, allPages: Bool = false, filter: ListingFilter = ListingFilter(), top: Int? = nil
    ) {
        self.rendition = rendition
        self.allPages = allPages
        self.filter = filter
        self.top = top
    }

    /// Sets the facts that come from a source's rankings and renditions.
    mutating func learn(_ source: SourceDescription) {
        generated = Set(source.rankings.filter(\.isGenerated).map(\.mode))
        let extensions = source.renditions.filter { $0.rendition != .original }.map(\.fileExtension)
        hasOwnNames = extensions.contains(nil) || Set(extensions).count > 1
    }

    /// Whether an entry of this rank is shown; 0 stands for none.
    func shows(rank: Int32) -> Bool {
        rank == 0 || top.map { rank <= $0 } ?? true
    }

    /// Whether a ranking can show any work.
    package func shows(_ mode: RankingMode) -> Bool {
        filter.admits(rankingOfGenerated: generated.contains(mode))
    }

    /// Whether a work of a listing is shown.
    func shows(_ work: Work, in key: ListingKey) -> Bool {
        if let mode = key.mode { return filter.admits(work, rankedAsGenerated: generated.contains(mode)) }
        return key.isSameInEveryView || filter.admits(work)
    }

    /// Whether stored entries can be filtered only with their works' records.
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
    /// The extension without a dot.
    var fileExtension: String
    /// The name; nil for a name made of rank or number and title.
    var name: String?
    /// The size in bytes; 0 if unknown.
    var size: Int64 = 0
    /// Whether it takes the place of an older picture of its work.
    var isRenewed = false

    /// The extension of a picture of unknown format, such as a withheld one.
    static let unknown = "jpg"

    var id: PictureID {
        PictureID(work: listed.work.id, page: page, rendition: rendition, uploaded: listed.work.uploaded)
    }
}

extension ListedPicture {
    /// Page 0 of a work under the listing's own reference, as the source describes its renditions.
    init(_ listed: ListedWork, rendition: Rendition, of source: any RankingSource) {
        let work = listed.work
        let always = source.description.facts(of: rendition)?.fileExtension
        guard always == nil || source.description.tellsSizes else {
            self.init(
                listed: listed, rendition: rendition, reference: work.picture, fileExtension: always ?? Self.unknown)
            return
        }
        let location = source.location(of: work.id, picture: work.picture, page: 0, rendition: rendition)
        self.init(
            listed: listed, rendition: rendition, reference: work.picture,
            fileExtension: always ?? location?.fileExtension ?? Self.unknown)
        size = location?.size ?? 0
    }
}
