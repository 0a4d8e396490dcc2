import Catalog
import Rankings

/// The names that directories list besides pictures.
extension RankFileSystem {
    var namesInRoot: [(name: String, node: Node)] {
        var names: [(name: String, node: Node)] = [("ranking", .rankings), (DateDirectory.name, .dates(.all))]
        if source.can(.authors) { names.append(("users", .users)) }
        if source.can(.works) { names.append(("works", .works)) }
        if source.can(.search) { names.append(("search", .searches)) }
        if configuration.notesRecent { names.append(("recent", .recent)) }
        names.append((Link.randomName, .link(.random(to: nil))))
        if source.signIn != .signedOut {
            if source.can(.bookmarks) { names.append(("bookmarks", .link(.bookmarks))) }
            if source.can(.following) { names.append(("following", .following)) }
        }
        return names
    }

    /// What stands beside the pictures of a listing.
    func extras(of listing: Listing) -> [(name: String, node: Node)] {
        switch listing.key {
        case .author(let author):
            var extras = files(of: author).map { (name: $0.name, node: Node.made($0)) }
            if source.can(.bookmarks), source.signIn != .signedOut { extras.append(("bookmarks", .bookmarks(author))) }
            return extras
        case .work(let work):
            return MadeFile.ofWork(work, isAnimation: listing.isAnimation).map { ($0.name, .made($0)) }
        case .ranking, .search, .bookmarks, .following: return []
        }
    }

    /// The files that are made of what the service tells of an author.
    func files(of author: UserID) -> [MadeFile] {
        source.can(.profiles) ? MadeFile.ofAuthor(author) : []
    }

    /// The numbers that stored listings of one kind have, in order.
    func storedNumbers(_ number: (ListingKey) -> Int64?) -> [Int64] {
        catalog.storedListings.compactMap(number).sorted()
    }

    /// The words of stored searches, in order.
    var storedSearches: [String] {
        catalog.storedListings.compactMap { key in
            guard case .search(let words) = key else { return nil }
            return words
        }.sorted()
    }
}
