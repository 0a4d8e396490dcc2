import Catalog
import Rankings

extension RankFileSystem {
    /// Why a node must not be shown now: it is for members, and nobody is signed in.
    ///
    /// Asked again where the kernel may have cached the name.
    func refusal(of node: Node) -> Failure? {
        let key: ListingKey?
        switch node {
        case .mode(let mode): return isAllowed(mode) ? nil : .modeNeedsSignIn
        case .following, .bookmarks, .link(.bookmarks), .link(.followed):
            return source.signIn == .signedOut ? .catalog(.needsSignIn) : nil
        case .picture(let listing, _): key = listing.key
        case .sharedThumbnails(let listing, _): key = listing
        case .sharedThumbnail(let file): key = file.listing.key
        default: key = node.listingKey
        }
        switch key {
        case .ranking(let mode, _): return isAllowed(mode) ? nil : .modeNeedsSignIn
        case .bookmarks: return source.signIn == .signedOut ? .catalog(.needsSignIn) : nil
        case .author, .work, .search, nil: return nil
        }
    }

    /// Whether the present sign-in state shows a ranking.
    func isAllowed(_ mode: RankingMode) -> Bool {
        !mode.needsSignIn || source.modes.contains(mode.ofAllContents)
    }

    /// The modes that `ranking/` lists: those of all contents, and the limited ones that have a stored day.
    var listedModes: [RankingMode] {
        let limited = Set(
            catalog.storedListings.compactMap { key -> RankingMode? in
                guard case .ranking(let mode, _) = key, mode.content != nil, isAllowed(mode) else { return nil }
                return mode
            })
        return (source.modes + limited.sorted { $0.rawValue < $1.rawValue }).filter(catalog.view.filter.admits)
    }
}
