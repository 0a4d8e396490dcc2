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
    /// Answers the look of a desktop once a screenful of thumbnails is there, or the seeder's patience is over.
    ///
    /// - Returns: False if nothing was answered: the name is another one, the directory shows no listing, thumbnails are off,
    ///   or it is not the user whose thumbnails they are that looks.
    func answerDesktop(_ request: LookupRequest, in parent: Node, _ reply: EntryReply) -> Bool {
        guard EntryName.isAnnouncement(request.name), let seeder = seeder(for: request.caller),
            refusal(of: parent) == nil
        else { return false }
        let isOpening = EntryName.isOpening(request.name)
        guard let key = parent.listingKey else {
            if isOpening { looks.withLock { $0.looked(atParent: parent.path, now: .now) } }
            return false
        }
        // GIO and KDE list a directory first; in one that nobody listed a look may cost no request to the service.
        guard let listing = catalog.loadedListing(key) else { return false }
        let extent = looks.withLock { looks in
            isOpening ? looks.looked(at: key, below: parent.parent.path, now: .now) : .whole
        }
        later(reply, subject: { parent.path }) { () async throws(Failure) in
            await seeder.wait { await self.seed(listing, seeder, extent, mayAsk: isOpening) }
            reply.absent(timeout: .zero)
        }
        return true
    }

    /// Who seeds for a caller; nil if nobody does.
    private func seeder(for caller: Caller) -> ThumbnailSeeder? {
        guard let seeder = configuration.thumbnails, let user = seeder.user, caller.user == user else { return nil }
        return seeder
    }

    /// Makes the thumbnails that a file manager will want of a directory that it opens right after its parent.
    ///
    /// - Returns: Nil if nothing is to be waited for.
    func glance(_ request: OpenRequest, at node: Node) -> (@Sendable (Listing) async -> Void)? {
        guard let seeder = seeder(for: request.caller), node.listingKey != nil,
            looks.withLock({ $0.opened(below: node.parent.path, now: .now) })
        else { return nil }
        return { listing in
            await seeder.wait { await self.seed(listing, seeder, .beginning, mayAsk: false) }
        }
    }

    /// Returns when the first screenful is there; what is not told, or not to be had, is left to the file manager.
    private func seed(
        _ listing: Listing, _ seeder: ThumbnailSeeder, _ extent: LookRecognition.Extent, mayAsk: Bool
    ) async {
        let path = listing.key.path
        if extent == .beginning {
            let known = Array(listing.entries.prefix(Limits.glance))
            return await seeder.seed("\(path) at a glance", thumbnailJobs(known, of: listing))
        }
        let known = mayAsk ? try? await listing.entries(reaching: Limits.screenful - 1) : listing.entries
        guard let known else { return }
        await seeder.seed(path, thumbnailJobs(known, of: listing))
        guard mayAsk, !listing.isComplete else { return }
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
