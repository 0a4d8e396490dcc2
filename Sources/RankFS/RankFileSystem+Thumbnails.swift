import Catalog
import Fuse
import Rankings
import Synchronization
import Thumbnails

/// A desktop that looks at a directory finds thumbnails there before it asks for them, so that it reads no picture.
///
/// It shows itself by the names that it looks up first; `ls`, `cp` and `rsync` look up none of them
/// (reference/desktop.md 2.3b).
extension RankFileSystem {
    /// What a directory is opened for.
    func opening(_ node: Node, by caller: Caller) -> LookRecognition.Opening {
        let path = node.path
        guard looks.withLock({ $0.matters(opening: path) }) else { return .ordinary }
        let program = configuration.program(caller.process)
        let parent: String? = if case .root = node { nil } else { node.parent.path }
        return looks.withLock { $0.opened(path, below: parent, by: program, now: .now) }
    }

    /// Whether a program glances at a directory, so that nothing in it is worth a request.
    func isGlancing(at node: Node, _ caller: Caller) -> Bool {
        let path = node.path
        guard looks.withLock({ $0.matters(opening: path) }) else { return false }
        let program = configuration.program(caller.process)
        return looks.withLock { $0.isGlancing(at: path, program) }
    }

    /// Answers the look of a desktop once a screenful of thumbnails is there, or the seeder's patience is over.
    ///
    /// - Returns: False if nothing was answered: the name is another one, the directory shows no listing, nobody wants
    ///   thumbnails, or it is not the user whose thumbnails they are that looks.
    func answerDesktop(_ request: LookupRequest, in parent: Node, _ reply: EntryReply) -> Bool {
        guard EntryName.isAnnouncement(request.name) else { return false }
        let isListed = EntryName.isOpening(request.name)
        let program = configuration.program(request.caller.process)
        let isWanted = looks.withLock { $0.looked(in: parent.path, isListed: isListed, by: program, now: .now) }
        // GIO and KDE list a directory first; in one that nobody listed a look may cost no request to the service.
        guard isWanted, let seeder = seeder(for: request.caller), refusal(of: parent) == nil,
            let key = parent.listingKey, let listing = catalog.loadedListing(key)
        else { return false }
        later(reply, subject: { parent.path }) { () async throws(Failure) in
            await self.seed(listing, seeder, isListed ? .whole : .known)
            reply.absent(timeout: .zero)
        }
        return true
    }

    /// Who seeds for a caller; nil if nobody does.
    func seeder(for caller: Caller) -> ThumbnailSeeder? {
        guard let seeder = configuration.thumbnails, let user = seeder.user, caller.user == user else { return nil }
        return seeder
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
    func seed(_ listing: Listing, _ seeder: ThumbnailSeeder, _ part: SeededPart) async {
        await seeder.wait { await self.seedPatiently(listing, seeder, part) }
    }

    private func seedPatiently(_ listing: Listing, _ seeder: ThumbnailSeeder, _ part: SeededPart) async {
        let path = listing.key.path
        if part == .beginning {
            let known = Array(listing.entries.prefix(Limits.glance))
            return await seeder.seed("\(path) at a glance", thumbnailJobs(known, of: listing))
        }
        let known = part == .whole ? try? await listing.entries(reaching: Limits.screenful - 1) : listing.entries
        guard let known else { return }
        await seeder.seed(path, thumbnailJobs(known, of: listing))
        guard part == .whole, !listing.isComplete else { return }
        // The file manager reads the whole directory too.
        Task {
            guard let all = try? await listing.entries(reaching: .max) else { return }
            await seeder.seed(path, thumbnailJobs(all, of: listing))
        }
    }

    private func thumbnailJobs(_ entries: [ListingEntry], of listing: Listing) -> [ThumbnailJob] {
        let directories = [listing.key.path] + otherPaths(of: listing.key)
        return entries.enumerated().compactMap { index, entry in
            thumbnailJob(
                entry, paths: directories.map { "\($0)/\(entry.name)" }, length: listing.size(at: index))
        }
    }

    /// What a thumbnail of an entry is made of; nil for what has none.
    func thumbnailJob(_ entry: ListingEntry, paths: [String], length: Int64?) -> ThumbnailJob? {
        guard !entry.isWithheld, !entry.isHidden, entry.picture.rendition != .archive,
            let preview = source.location(
                of: entry.picture.work, picture: entry.reference, page: entry.picture.page, rendition: .small)
        else { return nil }
        return ThumbnailJob(
            picture: entry.picture, paths: paths, preview: preview, modified: entry.picture.uploaded, length: length)
    }

    /// Desktops know a file by the path that they took to it: the newest day is also behind its link.
    private func otherPaths(of key: ListingKey) -> [String] {
        guard case .ranking(let mode, let day) = key, newestDays.withLock({ $0[mode] }) == day else { return [] }
        return [Link.latest(mode).path]
    }
}
