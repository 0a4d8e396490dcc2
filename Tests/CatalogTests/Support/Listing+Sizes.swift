import Rankings

@testable import Catalog

extension Listing {
    /// The size of an entry in bytes, by the sizes of the listing's catalog.
    func resolveSize(at index: Int, wholeListing: Bool) async throws(Failure) -> Int64 {
        guard let listings = owner as? Listings else { throw .absent }
        return try await listings.sizes.resolve(in: self, at: index, wholeListing: wholeListing)
    }
}
