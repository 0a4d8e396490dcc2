import Catalog
import Fuse
import Rankings

extension RankFileSystem {
    /// Why a node must not be shown now: it is for members, and nobody is signed in.
    ///
    /// Asked again where the kernel may have cached the name.
    func refusal(of node: Node) -> Failure? {
        switch node {
        case .mode(let mode), .latest(let mode), .sharedThumbnails(.latest(let mode), _), .link(.dated(let mode, _)):
            return isAllowed(mode) ? nil : .modeNeedsSignIn
        case .dates(let directory): return directory.mode.map(isAllowed) ?? true ? nil : .modeNeedsSignIn
        case .following, .link(.bookmarks), .link(.followed):
            return source.signIn == .signedOut ? .catalog(.needsSignIn) : nil
        default: break
        }
        switch node.shownListingKey {
        case .ranking(let mode, _): return isAllowed(mode) ? nil : .modeNeedsSignIn
        case .bookmarks, .following: return source.signIn == .signedOut ? .catalog(.needsSignIn) : nil
        case .author, .work, .search, nil: return nil
        }
    }

    /// Whether the present sign-in state shows a ranking.
    func isAllowed(_ mode: RankingMode) -> Bool {
        !source.description.needsSignIn(mode) || source.has(mode)
    }

    /// The modes that `ranking/` lists: those of all contents, and the limited ones that have a stored day.
    var listedModes: [RankingMode] {
        let limited = Set(
            catalog.listings.keys.compactMap { key -> RankingMode? in
                guard case .ranking(let mode, _) = key, source.description.whole(of: mode) != mode, isAllowed(mode)
                else { return nil }
                return mode
            })
        return (source.modes + limited.sorted { $0.rawValue < $1.rawValue }).filter(catalog.listings.view.shows)
    }
}

// MARK: - The owner and others

/// On a mount that others look into, what is the owner's stays the owner's.
///
/// The owner is whom the files belong to; root may do what the owner may. The kernel, which keeps names and attributes for
/// everybody alike, is told by the mode bits (`default_permissions`), and so stops others on the way to whatever lies below;
/// what reaches the file system is looked at again by the caller's user (fuse_req_ctx(3)).
extension RankFileSystem {
    /// Why a node must not be shown to a caller.
    func refusal(of node: Node, to caller: Caller) -> Failure? {
        refusal(of: node) ?? (isKept(node) && !isOwner(caller) ? .ownersOnly : nil)
    }

    /// Whether a caller may see the owner's things and give commands.
    func isOwner(_ caller: Caller) -> Bool {
        !configuration.keepsOwners || caller.user == configuration.user || caller.user == 0
    }

    /// Whether a node is for the owner and root alone.
    func isKept(_ node: Node) -> Bool {
        configuration.keepsOwners && isOwners(node)
    }

    /// The attributes that everybody gets to see: what is kept from others has no permissions for them.
    func narrowed(_ attributes: Attributes, of node: Node) -> Attributes {
        guard isKept(node), attributes.kind != .link else { return attributes }
        var attributes = attributes
        attributes.permissions &= 0o700
        return attributes
    }

    /// The names of a directory that a caller is shown.
    ///
    /// Looked up by name they answer to everybody: the kernel would take a refusal for the end of the name, also where the
    /// owner works in it.
    func shown(_ names: [(name: String, node: Node)], to caller: Caller) -> [(name: String, node: Node)] {
        isOwner(caller) ? names : names.filter { !isOfSession($0.node) }
    }

    /// Whether a node is the owner's: what the session adds, what was searched for, and what was read last.
    private func isOwners(_ node: Node) -> Bool {
        if isOfSession(node) { return true }
        switch node {
        case .searches, .recent, .link(.recent), .link(.followed): return true
        default: break
        }
        switch node.shownListingKey {
        case .ranking(let mode, _): return source.description.needsSignIn(mode)
        case .bookmarks, .following, .search: return true
        case .author, .work, nil: return false
        }
    }

    /// Whether a session adds this name to a directory that everybody sees.
    private func isOfSession(_ node: Node) -> Bool {
        switch node {
        case .mode(let mode), .latest(let mode), .sharedThumbnails(.latest(let mode), _), .link(.dated(let mode, _)):
            source.description.needsSignIn(mode)
        case .dates(let directory): directory.mode.map(source.description.needsSignIn) ?? false
        case .following, .bookmarks, .link(.bookmarks): true
        default: false
        }
    }
}

extension Node {
    /// The listing that this node is, or is in.
    fileprivate var shownListingKey: ListingKey? {
        switch self {
        case .picture(let listing, _): listing.key
        case .sharedThumbnails(.listing(let listing), _): listing
        case .sharedThumbnail(let file): file.listing.key
        default: listingKey
        }
    }
}
