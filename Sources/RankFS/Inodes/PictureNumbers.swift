import Catalog
import Rankings

/// The inode numbers of a listing's pictures: what belongs to the directory is worked out once, and no text made for each.
struct PictureNumbers: Sendable {
    /// The number of the directory's identity.
    private let directory: UInt64
    /// What the identities of all its pictures begin with.
    private let beginning: IdentityHash

    init(_ key: ListingKey) {
        let path = key.path.text
        directory = InodeNumber.of(path)
        var hash = IdentityHash()
        hash.add(path)
        hash.add("/")
        beginning = hash
    }

    /// The number of an entry: in the order in which its directory lists it.
    func number(of entry: ListingEntry) -> UInt64 {
        let picture = entry.picture
        let order: InodeOrder =
            entry.rank > 0
            ? .rank(Int(entry.rank), page: picture.page) : .newestFirst(picture.work, page: picture.page)
        // `Node.identity(of:in:)` in parts.
        var identity = beginning
        identity.add(picture.work.rawValue)
        identity.add("_p")
        identity.add(picture.page)
        identity.add("_")
        identity.add(picture.uploaded)
        identity.add(Node.mark(of: picture.rendition))
        return InodeNumber.place(InodeNumber.of(identity), in: directory, order: order)
    }
}
