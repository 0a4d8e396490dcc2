import Catalog
import Fuse
import ImageCache
import Rankings

/// With the option `offline` directories list what opens, since nothing else can be had before the next mount.
///
/// Names that are not listed are found as ever: what is known of them is told, and opening them says why it fails.
extension RankFileSystem {
    /// The days that a mode lists.
    func shownDays(of mode: RankingMode) -> [Day] {
        configuration.isOffline ? catalog.days.stored(of: mode) : catalog.days.listed(of: mode)
    }

    /// Those of some names that open without a request.
    func opening(_ names: [(name: String, node: Node)]) async -> [(name: String, node: Node)] {
        var opening: [(name: String, node: Node)] = []
        for entry in names where await opens(entry.node) { opening.append(entry) }
        return opening
    }

    /// Whether an entry of a listing opens without a request: a picture that is stored, an author whose works are.
    func opens(_ entry: ListingEntry, of listing: Listing) -> Bool {
        if listing.key.listsAuthors { return catalog.listings.isStored(.author(entry.author.id)) }
        return !entry.isWithheld && cache.storedSize(of: entry.picture) != nil
    }

    private func opens(_ node: Node) async -> Bool {
        switch node {
        case .mode(let mode), .latest(let mode): return !catalog.days.stored(of: mode).isEmpty
        case .day, .author, .bookmarks, .work, .search: return isStored(node)
        case .dates(let directory): return opens(directory)
        case .link(.dated(let mode, let day)): return catalog.listings.isStored(.ranking(mode, day))
        case .following: return source.signIn.user.map { catalog.listings.isStored(.following($0)) } ?? false
        case .link(.bookmarks): return source.signIn.user.map { catalog.listings.isStored(.bookmarks($0)) } ?? false
        case .link(.followed(let author)): return catalog.listings.isStored(.author(author.id))
        case .link(.named(_, let author)): return catalog.listings.isStored(.author(author))
        case .link(.recent(let picture)):
            guard let target = await self.node(at: picture.path) else { return false }
            return await opens(target)
        case .picture(let listing, let index):
            return listing.entry(at: Int(index)).map { opens($0, of: listing) } ?? false
        case .made(let file): return await opens(file)
        case .root, .rankings, .users, .works, .searches, .recent, .helpers, .helper, .link(.random),
            .sharedThumbnails, .sharedThumbnail:
            return true
        }
    }

    private func opens(_ file: MadeFile) async -> Bool {
        switch file {
        case .info(let work): return await catalog.records.hasDetails(of: work)
        case .profile(let author): return (try? await catalog.records.profile(of: author)) != nil
        case .avatar(let author):
            guard let avatar = try? await avatar(of: author) else {
                // Who has no picture gets a drawn one.
                return (try? await catalog.records.avatar(of: author)) == .some(nil)
            }
            return cache.storedSize(of: avatar.id) != nil
        case .matroska(let work), .webp(let work):
            guard let listing = await catalog.listings.stored(.work(work)) else { return false }
            if case .webp = file, let made = AnimationFiles.picture(.webp, in: listing),
                cache.storedSize(of: made) != nil
            {
                return true
            }
            let archive = listing.entries.first { $0.picture.rendition == .archive }
            guard let archive, cache.storedSize(of: archive.picture) != nil else { return false }
            return (try? await catalog.records.animation(of: work)) != nil
        }
    }

    /// What a path below the mount point leads to; nil if it cannot be told.
    private func node(at path: String) async -> Node? {
        let owner = Caller(user: configuration.user, group: configuration.group, process: 0)
        var node = Node.root
        for name in path.split(separator: "/") {
            var finding = find(Array(name.utf8), in: node, owner)
            while case .unknown(let ask) = finding {
                guard let found = try? await ask() else { return nil }
                finding = found
            }
            guard case .node(let next) = finding else { return nil }
            node = next
        }
        return node
    }
}
