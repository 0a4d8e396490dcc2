package import Rankings

/// An entry as it is kept in memory: small, because a hundred thousand of them may be looked at.
package struct ListingEntry: Hashable, Sendable {
    /// The file name, made when the entry was first listed and frozen since.
    package let name: String
    /// The place in the ranking; 0 where the listing has no ranks.
    package let rank: Int32
    package let picture: PictureID
    /// The source's reference to the picture, for `RankingSource.location`.
    package let reference: String
    /// Whether the service withholds the picture (reading it is EACCES).
    package let isWithheld: Bool

    package init(name: String, rank: Int32, picture: PictureID, reference: String, isWithheld: Bool) {
        self.name = name
        self.rank = rank
        self.picture = picture
        self.reference = reference
        self.isWithheld = isWithheld
    }
}
