import Catalog
import Digests
import Thumbnails

/// Finds entries of listings by the digests that name their shared thumbnails.
///
/// Digests are made for a whole listing when the first one is asked for: three thousand for a day, a millisecond or two.
struct SharedThumbnailNames: Sendable {
    private struct Names {
        var listing: Listing
        /// How many of the listing's entries were known.
        var count: Int
        var indices: [String: Int]
    }

    /// Listings of which digests are kept: a person looks at one directory, and came from another.
    private static let mostListings = 4

    /// The one asked last is the last.
    private var kept: [Names] = []

    /// The entry whose shared thumbnail has a digest, and the address of which it is.
    mutating func find(_ digest: String, in listing: Listing) -> (index: Int, address: String)? {
        let entries = listing.entries
        var names = Names(listing: listing, count: 0, indices: [:])
        if let place = kept.firstIndex(where: { $0.listing === listing }) { names = kept.remove(at: place) }
        if names.count != entries.count {
            names.count = entries.count
            names.indices = [:]
            for (index, entry) in entries.enumerated() {
                for address in SharedAddress.all(of: entry.name) { names.indices[MD5.hex(address.utf8)] = index }
            }
        }
        kept.append(names)
        if kept.count > Self.mostListings { kept.removeFirst() }
        guard let index = names.indices[digest] else { return nil }
        let address = SharedAddress.all(of: entries[index].name).first { MD5.hex($0.utf8) == digest }
        return address.map { (index, $0) }
    }
}
