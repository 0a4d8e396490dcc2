import Catalog
import Rankings
import System

/// Finds entries of listings by the digests in the names of their shared thumbnails.
///
/// The first query makes the digests of a whole listing: three thousand for a day, a millisecond or two.
struct SharedThumbnailNames: Sendable {
    /// A listing, the number of its entries that were known, and their indices by digest.
    private typealias Names = (listing: Listing, count: Int, indices: [String: Int])

    /// The number of listings with kept digests: a person views one directory, and came from another.
    private static let mostListings = 4

    private var kept = RecentTable<ObjectIdentifier, Names>(most: mostListings)

    /// Finds the entry with the digest in the name of its shared thumbnail, and the address that has the digest.
    mutating func find(_ digest: String, in listing: Listing) -> (index: Int, address: String)? {
        let entries = listing.entries
        // A kept listing keeps its identity.
        var names = kept[ObjectIdentifier(listing), default: (listing, 0, [:])]
        if names.count != entries.count {
            names.count = entries.count
            names.indices = [:]
            for (index, entry) in entries.enumerated() {
                for address in Self.addresses(of: entry.name) { names.indices[MD5.hex(address.utf8)] = index }
            }
        }
        kept[ObjectIdentifier(listing)] = names
        guard let index = names.indices[digest] else { return nil }
        let address = Self.addresses(of: entries[index].name).first { MD5.hex($0.utf8) == digest }
        return address.map { (index, $0) }
    }

    /// Returns the spellings that programs use for the address of a file in its directory's shared store, `.sh_thumbnails`, each once.
    ///
    /// The Thumbnail Managing Standard 0.9, section 10, requires `./` and the percent-encoded name. libxfce4util before March 2024,
    /// and Tumbler with it, uses the encoded name alone, pqiv the plain name. Each compares the text `Thumb::URI` with its own
    /// spelling, if at all: therefore each finds a thumbnail of its own.
    static func addresses(of name: String) -> [String] {
        let encoded = FileURI.escaped(name)
        return name == encoded ? ["./" + encoded, encoded] : ["./" + encoded, encoded, name]
    }

    /// Returns the digest in a thumbnail's name, `<32 digits>.png`; nil for any other name.
    static func digest(in name: [UInt8]) -> String? {
        guard name.count == 36, name.suffix(4).elementsEqual(".png".utf8), name.prefix(32).allSatisfy(\.isHexDigit)
        else {
            return nil
        }
        return String(decoding: name.prefix(32), as: UTF8.self)
    }
}
