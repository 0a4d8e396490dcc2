package import Rankings

/// An entry in its form in memory: small, because a listing may have a hundred thousand of them.
package struct ListingEntry: Hashable, Sendable {
    /// The file name, made when the entry was first listed and frozen since.
    package private(set) var name: String
    /// The place in the ranking; 0 where the listing has no ranks.
    package let rank: Int32
    package private(set) var picture: PictureID
    /// The source's reference to the picture, for `RankingSource.location`.
    package let reference: String
    /// Whether the service withholds the picture (reading it is EACCES).
    package let isWithheld: Bool
    /// Whether the mount's filter hides it.
    package var isHidden = false

    /// Whether the entry shows a picture as an answer of the service lists it now.
    func shows(_ listed: ListedPicture) -> Bool {
        picture == listed.id && rank == Int32(clamping: listed.listed.rank ?? 0)
            && isWithheld == (listed.listed.work.withheld != nil)
    }

    /// The entry with the work's number before the title: `005-7 Title.jpg`.
    var withNumber: ListingEntry {
        // By scalars: a dash and a mark that combines with it are one character.
        let scalars = name.unicodeScalars
        let title = scalars.firstIndex(of: "-").map { scalars.index(after: $0) } ?? name.startIndex
        var entry = self
        entry.name = "\(name[..<title])\(picture.work.rawValue) \(name[title...])"
        return entry
    }

    /// The same work's entry for a further page: `001-Title_p3.jpg`.
    func ofPage(_ page: Int) -> ListingEntry {
        // By scalars: a letter that combines with the next scalar would be one character with the dot.
        let dot = name.unicodeScalars.lastIndex(of: ".") ?? name.endIndex
        var entry = self
        entry.name = "\(name[..<dot])_p\(page)\(name[dot...])"
        entry.picture = PictureID(
            work: picture.work, page: page, rendition: picture.rendition, uploaded: picture.uploaded)
        return entry
    }
}
