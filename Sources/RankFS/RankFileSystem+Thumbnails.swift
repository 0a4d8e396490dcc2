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
        guard let seeder = configuration.thumbnails, let user = seeder.user, request.caller.user == user,
            EntryName.isAnnouncement(request.name), let key = parent.listingKey, refusal(of: parent) == nil
        else { return false }
        // The other names are also looked up in directories that nobody opens: those may cost no request to the service.
        let mayAsk = EntryName.isOpening(request.name)
        guard mayAsk || catalog.loadedListing(key) != nil else { return false }
        later(reply, subject: { parent.path }) { () async throws(Failure) in
            await seeder.wait { await self.seed(key, seeder, mayAsk: mayAsk) }
            reply.absent(timeout: .zero)
        }
        return true
    }

    /// Returns when the first screenful is there; what is not told, or not to be had, is left to the file manager.
    private func seed(_ key: ListingKey, _ seeder: ThumbnailSeeder, mayAsk: Bool) async {
        guard let listing = try? await listing(key) else { return }
        let known = mayAsk ? try? await listing.entries(reaching: Limits.screenful - 1) : listing.entries
        guard let known else { return }
        await seeder.seed(key.path, thumbnailJobs(known, of: listing))
        guard mayAsk, !listing.isComplete else { return }
        // The file manager reads the whole directory too.
        Task {
            guard let all = try? await listing.entries(reaching: .max) else { return }
            await seeder.seed(key.path, thumbnailJobs(all, of: listing))
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
