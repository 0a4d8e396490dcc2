import Catalog
import Fuse
import Rankings

/// `users/`: the authors whose works were listed, and those of the pictures that were read last.
struct UsersDirectory: TreeDirectory {
    var path: TreePath { .users }
    var parent: any TreeDirectory { RootDirectory() }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.authors) }

    func names(in tree: Tree) -> [NamedNode]? {
        let authors = tree.catalog.listings.opened.compactMap { key -> UserID? in
            if case .author(let author) = key { author } else { nil }
        }
        return authors.sorted().map { author in
            AuthorDirectory(author, modified: tree.catalog.listings.loaded(.author(author))?.modified).named
        }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if let text = EntryName.authorName(name) {
            return .unknown { () async throws(Failure) in
                guard let author = await tree.catalog.records.author(named: text) else {
                    return .absent(TreeLimits.current)
                }
                return .node(.link(.named(text, author)))
            }
        }
        return EntryName.author(name).map { tree.findNumbered(.author($0)) } ?? .absent(TreeLimits.frozen)
    }

    var listsSeen: Bool { true }

    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode] {
        let authors = Set(await tree.catalog.recents.seenWorks().compactMap(\.author)).filter { $0.rawValue > 0 }
        return tree.inOrder(names, with: authors.map { AuthorDirectory($0) })
    }
}

extension Tree {
    /// Names and those of what was seen lately, in the order of their numbers.
    ///
    /// The ways from a picture to its author and its work: listing them asks nobody; whether there is such an author or work is
    /// asked when one is opened.
    func inOrder(_ names: [NamedNode], with seen: [any ListingDirectory]) -> [NamedNode] {
        let listed = Set(names.map(\.name))
        let seen = seen.filter { directory in
            !listed.contains(directory.path.name)
                && directory.key.map { !catalog.listings.isKnownAbsent($0) } == true
        }
        // Numbers without leading zeros: the longer one is the greater one.
        return (names + seen.map(\.named)).sorted { ($0.name.utf8.count, $0.name) < ($1.name.utf8.count, $1.name) }
    }
}
