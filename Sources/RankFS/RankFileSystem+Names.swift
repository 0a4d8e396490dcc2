import Catalog
import Rankings

/// The names that directories list besides pictures.
extension RankFileSystem {
    var namesInRoot: [(name: String, node: Node)] {
        var names: [(name: String, node: Node)] = [Self.named(.rankings), Self.named(.dates(.all))]
        if source.can(.authors) { names.append(Self.named(.users)) }
        if source.can(.works) { names.append(Self.named(.works)) }
        if source.can(.search) { names.append(Self.named(.searches)) }
        if configuration.notesRecent { names.append(Self.named(.recent)) }
        names.append((Link.randomName, .link(.random(to: nil))))
        if source.signIn != .signedOut {
            if source.can(.bookmarks) { names.append(Self.named(.link(.bookmarks))) }
            if source.can(.following) { names.append(Self.named(.following)) }
        }
        return names
    }

    private static func named(_ node: Node) -> (name: String, node: Node) {
        (node.treePath.name, node)
    }

    /// What stands beside the pictures of a listing.
    func extras(of listing: Listing) -> [(name: String, node: Node)] {
        switch listing.key {
        case .author(let author):
            var extras = files(of: author).map { (name: $0.name, node: Node.made($0)) }
            if source.can(.bookmarks), source.signIn != .signedOut { extras.append(Self.named(.bookmarks(author))) }
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
        catalog.listings.keys.compactMap(number).sorted()
    }

    /// The words of stored searches, in order.
    var storedSearches: [String] {
        catalog.listings.keys.compactMap { key in
            guard case .search(let words) = key else { return nil }
            return words
        }.sorted()
    }
}
