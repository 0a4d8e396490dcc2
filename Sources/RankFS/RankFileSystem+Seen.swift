import Catalog
import Fuse
import Rankings

/// The ways from a picture to its author and its work: `users/` and `works/` list those of the pictures that were read last.
///
/// Listing them asks nobody; whether there is such an author or work is asked when one is opened.
extension RankFileSystem {
    /// Whether a directory lists what was seen to a caller: what the owner reads is told to nobody else, as in `recent/`.
    func listsSeen(_ node: Node, to caller: Caller) -> Bool {
        switch node {
        case .users, .works: configuration.notesRecent && isOwner(caller) && !catalog.recents.pictures.isEmpty
        default: false
        }
    }

    /// The names of such a directory, in the order of their numbers.
    func withSeen(
        _ names: [(name: String, node: Node)], in node: Node
    ) async -> [(name: String, node: Node)] {
        let listed = Set(names.map(\.name))
        let seen = await seenNodes()
            .filter { $0.parent.identity == node.identity }.compactMap { node -> (name: String, node: Node)? in
                guard let key = node.listingKey, !catalog.listings.isKnownAbsent(key) else { return nil }
                let name = node.treePath.name
                return listed.contains(name) ? nil : (name, node)
            }
        // Numbers without leading zeros: the longer one is the greater one.
        return (names + seen).sorted { ($0.name.utf8.count, $0.name) < ($1.name.utf8.count, $1.name) }
    }

    /// The directories of the works that were seen and of their authors.
    func seenNodes() async -> [Node] {
        guard configuration.notesRecent else { return [] }
        let seen = await catalog.recents.seenWorks()
        return Set(seen.map(\.work)).map { .work($0) }
            + Set(seen.compactMap(\.author)).filter { $0.rawValue > 0 }.map { .author($0, modified: nil) }
    }
}
