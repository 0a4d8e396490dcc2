import Catalog
import Fuse
import Rankings
import Synchronization
import Thumbnails

/// Thumbnails for a desktop.
struct ThumbnailWish: Sendable {
    let seeder: ThumbnailSeeder
    let spellings: [FileURI.Spelling]
    /// The paths of the directories in which it looks: a desktop knows a file by the path that it took to it.
    let directories: [String]
}

/// A desktop that looks at a directory finds thumbnails there before it asks for them, so that it reads no picture.
///
/// ## Concurrency
///
/// Any thread may call; it has no state but the seeder's.
final class DirectoryThumbnails: Sendable {
    let tree: Tree

    init(_ tree: Tree) {
        self.tree = tree
    }

    /// Who seeds for a caller; nil if thumbnails are made for nobody, or for another user.
    func seeder(for caller: Caller) -> ThumbnailSeeder? {
        guard let seeder = tree.configuration.thumbnails, let user = seeder.user, caller.user == user else {
            return nil
        }
        return seeder
    }

    /// What thumbnails a caller finds in a directory; nil if nobody seeds for it.
    func wish(
        of caller: Caller, in directory: any TreeDirectory, _ program: CallingProgram? = nil
    ) -> ThumbnailWish? {
        guard let seeder = seeder(for: caller) else { return nil }
        let name = (program ?? tree.desktops.processes.program(caller.process))?.name
        let isDecoding = name.map(KnownPrograms.decodingViewers.contains) ?? false
        return ThumbnailWish(
            seeder: seeder, spellings: isDecoding ? FileURI.Spelling.allCases : [.glib, .qt],
            directories: tree.desktops.sight(of: directory))
    }

    /// What is made of a picture that a reader of its directory is to learn of when its thumbnails are there; nil otherwise.
    func expectedJob(of node: Node, _ wish: ThumbnailWish) -> ThumbnailJob? {
        guard case .picture(let listing, let index) = node, let job = job(listing, Int(index), wish),
            wish.seeder.isExpected(job)
        else { return nil }
        return job
    }

    /// The paths under which programs see each of the directories in which a listing's pictures are now.
    func sightsNow(of key: ListingKey) -> [[String]] {
        let others = tree.isInLatest(key) ? key.paths.filter { $0 != key.path } : []
        return [tree.desktops.sight(of: DirectoryKinds.directory(showing: key))] + others.map { [$0.text] }
    }

    /// What the seeder calls the thumbnails in some directories: another way to a listing is other work.
    static func seeding(in directories: [String]) -> String {
        directories.joined(separator: " ")
    }

    /// How much of a directory is worth thumbnails.
    enum SeededPart: Sendable {
        /// What a preview of the directory shows.
        case beginning
        /// The entries that are known.
        case known
        /// All, with the pages that nobody has read yet.
        case whole
    }

    /// Returns when the first screenful is there or the seeder's patience is over; what is not told, or not to be had, is left
    /// to the file manager.
    func seed(_ listing: Listing, _ wish: ThumbnailWish, _ part: SeededPart) async {
        await wish.seeder.wait { await self.seedPatiently(listing, wish, part) }
    }

    private func seedPatiently(_ listing: Listing, _ wish: ThumbnailWish, _ part: SeededPart) async {
        let path = Self.seeding(in: wish.directories) + (wish.spellings.contains(.decoded) ? " (decoded)" : "")
        if part == .beginning {
            let known = Array(listing.entries.prefix(TreeLimits.glance))
            return await wish.seeder.seed("\(path) at a glance", jobs(known, of: listing, wish))
        }
        let known = part == .whole ? try? await listing.entries(reaching: TreeLimits.screenful - 1) : listing.entries
        guard let known else { return }
        await wish.seeder.seed(path, jobs(known, of: listing, wish))
        guard part == .whole, !listing.isComplete || listing.entries.count > known.count else { return }
        // The file manager reads the whole directory too.
        Task {
            guard let all = try? await listing.entries(reaching: .max) else { return }
            await wish.seeder.seed(path, jobs(all, of: listing, wish))
        }
    }

    /// What a thumbnail of an entry is made of; nil for what has none.
    func job(_ listing: Listing, _ index: Int, _ wish: ThumbnailWish) -> ThumbnailJob? {
        jobs([listing.entries[index]], from: index, of: listing, wish).first
    }

    private func jobs(
        _ entries: [ListingEntry], from first: Int = 0, of listing: Listing, _ wish: ThumbnailWish
    ) -> [ThumbnailJob] {
        entries.enumerated().compactMap { index, entry in
            tree.thumbnailJob(
                entry, of: listing.key, in: wish.directories, wish.spellings, length: listing.size(at: first + index))
        }
    }
}

extension Tree {
    /// What thumbnails of an entry in some directories are made of; nil for what has none.
    func thumbnailJob(
        _ entry: ListingEntry, of key: ListingKey, in directories: [String],
        _ spellings: [FileURI.Spelling] = [.glib, .qt], length: Int64?
    ) -> ThumbnailJob? {
        guard !entry.isWithheld, !entry.isHidden, entry.picture.rendition != .archive,
            let preview = source.location(
                of: entry.picture.work, picture: entry.reference, page: entry.picture.page, rendition: .small)
        else { return nil }
        return ThumbnailJob(
            picture: entry.picture, paths: directories.map { "\($0)/\(entry.name)" },
            otherPaths: key.paths.map(\.text).filter { !directories.contains($0) }.map { "\($0)/\(entry.name)" },
            spellings: spellings, preview: preview, modified: entry.picture.uploaded, length: length)
    }
}
