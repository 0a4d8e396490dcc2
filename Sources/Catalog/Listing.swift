package import Rankings

/// The entries of one directory: append-only, paged in as it is read.
///
/// ## Concurrency
///
/// Any thread may call. `entries`, `isComplete`, `entry(named:)` and `size(at:)` only take a lock for microseconds; they never wait.
package final class Listing: Sendable {
    package let key: ListingKey

    init(key: ListingKey) {
        self.key = key
    }

    /// The entries known now, in order; an index once given keeps its entry.
    package var entries: [ListingEntry] {
        fatalError("written by the owner of Catalog")
    }

    /// Whether no further entry will come.
    package var isComplete: Bool {
        fatalError("written by the owner of Catalog")
    }

    /// Whether this listing can never change again (a past day, complete): kernel and clients may cache it.
    package var isFrozen: Bool {
        fatalError("written by the owner of Catalog")
    }

    /// When its content last changed, in Unix seconds: the directory's modification time.
    package var modified: Int64 {
        fatalError("written by the owner of Catalog")
    }

    /// Waits until the entry at `index` is there or the end is known, then returns all entries known.
    ///
    /// Asks for one page ahead; a reader that goes on behind the first page gets all remaining pages asked at once.
    package func entries(reaching index: Int) async throws(CatalogError) -> [ListingEntry] {
        fatalError("written by the owner of Catalog: \(index)")
    }

    /// The index of a name among the known entries, compared by bytes. Never waits.
    package func index(named name: [UInt8]) -> Int? {
        fatalError("written by the owner of Catalog: \(name)")
    }

    /// The index of a name; asks for further pages while the name may still come (a rank behind the known ones).
    package func find(named name: [UInt8]) async throws(CatalogError) -> Int? {
        fatalError("written by the owner of Catalog: \(name)")
    }

    /// The size of an entry's picture in bytes, if known. Never waits.
    package func size(at index: Int) -> Int64? {
        fatalError("written by the owner of Catalog: \(index)")
    }

    /// Finds out an entry's size: from the database, by HEAD, by a one-byte range; coalesced.
    ///
    /// - Parameters:
    ///   - index: The entry.
    ///   - wholeListing: A walk was recognised: ask for every entry's size at once.
    /// - Throws: `.sizeNotTold` if the host tells no length.
    package func resolveSize(at index: Int, wholeListing: Bool) async throws(CatalogError) -> Int64 {
        fatalError("written by the owner of Catalog: \(index) \(wholeListing)")
    }
}

/// An entry as it is kept in memory: small, because a hundred thousand of them may be looked at.
package struct ListingEntry: Sendable {
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
