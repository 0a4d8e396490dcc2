import Catalog
import Fuse
import Rankings
import Synchronization
import Thumbnails

/// A desktop that looks at a directory finds thumbnails there before it asks for them, so that it reads no picture.
///
/// It shows itself by the names that it looks up first (`.hidden`: GIO and KDE; `.directory`: PCManFM and KDE's previews of
/// folders); `ls`, `cp` and `rsync` look up none of them.
extension RankFileSystem {
    /// What a directory is opened for.
    func opening(_ node: Node, _ inode: UInt64, by caller: Caller) -> LookRecognition.Opening {
        guard let program = configuration.processes.program(caller.process) else { return .ordinary }
        let path = node.path
        let parent = shownParentPath(of: node, to: program)
        let watcher = looks.withLock { $0.watcher(opening: path, below: parent, by: program, now: moment) }
        // Outside the lock: it reads what proc(5) shows.
        let isWatched = watcher.map { configuration.processes.watches($0, inode) } ?? false
        return looks.withLock { $0.opened(path, below: parent, by: program, isWatched: isWatched, now: moment) }
    }

    /// Somebody asked statfs(2) of a node.
    func noteStatistics(of inode: UInt64, by caller: Caller) {
        guard looks.withLock(\.hasDesktops), let node = inodes.node(inode),
            let program = configuration.processes.program(caller.process)
        else { return }
        let parent = shownParentPath(of: node, to: program)
        looks.withLock { $0.asked(below: parent, by: program, now: moment) }
    }

    /// Whether a program glances at a directory, so that nothing in it is worth a request.
    func isGlancing(at node: Node, _ caller: Caller) -> Bool {
        guard looks.withLock(\.hasDesktops), let program = configuration.processes.program(caller.process) else {
            return false
        }
        return looks.withLock { $0.isGlancing(at: node.path, program) }
    }

    /// Answers the look of a desktop once a screenful of thumbnails is there, or the seeder's patience is over.
    ///
    /// - Returns: False if nothing was answered: the name is another one, the directory shows no listing, nobody wants
    ///   thumbnails, or it is not the user whose thumbnails they are that looks.
    func answerDesktop(_ request: LookupRequest, in parent: Node, _ reply: EntryReply) -> Bool {
        guard EntryName.isAnnouncement(request.name) else { return false }
        let isListed = EntryName.isOpening(request.name)
        let program = configuration.processes.program(request.caller.process)
        let isWanted = looks.withLock { $0.looked(in: parent.path, isListed: isListed, by: program, now: moment) }
        // GIO and KDE list a directory first; in one that nobody listed a look may cost no request to the service.
        guard isWanted, let wish = wish(of: request.caller, in: sight(of: parent), program), refusal(of: parent) == nil,
            let key = parent.pictureDirectory.flatMap(rememberedListing), let listing = catalog.listings.loaded(key)
        else { return false }
        if isListed, let program { noteVisit(at: parent, by: program) }
        later(reply, subject: { parent.path }) { () async throws(Failure) in
            await self.seed(listing, wish, isListed ? .whole : .known)
            reply.absent(timeout: .zero)
        }
        return true
    }

    /// A program shows a directory.
    func noteVisit(at node: Node, by program: CallingProgram) {
        // Looking once more makes it no longer: what is told must not come ever slower.
        visits.withLock { $0.note(node.path, program.process, now: moment, prolongs: false) }
    }

    /// Whether a program shows a directory that it was told of lately.
    func isVisiting(_ node: Node, _ caller: Caller) -> Bool {
        guard !visits.withLock(\.isEmpty) else { return false }
        let path = node.path
        guard visits.withLock({ $0.isAnybody(at: path, now: moment) }),
            let program = configuration.processes.program(caller.process)
        else { return false }
        return visits.withLock { $0.holds(path, program.process, now: moment) }
    }

    /// Tells a file manager of a picture once the thumbnails that are being made of it are there.
    ///
    /// - Returns: False if nothing was answered: nobody waits for thumbnails of what was found.
    func answerAfterThumbnails(_ reply: EntryReply, _ finding: LookupResult, in parent: Node, _ caller: Caller) -> Bool
    {
        guard case .node(.picture(let listing, let index)) = finding, isVisiting(parent, caller),
            let wish = wish(of: caller, in: sight(of: parent)), let job = thumbnailJob(listing, Int(index), wish),
            wish.seeder.isExpected(job)
        else { return false }
        later(reply, subject: { parent.path }) { () async throws(Failure) in
            await wish.seeder.waitForTurn(of: job)
            try await self.resolve(finding, reply, for: parent.longestName)
        }
        return true
    }

    /// Whether a reader of a directory is to look a name up, so that it learns of the picture when its thumbnails are there.
    func isExpected(_ node: Node, _ wish: ThumbnailWish) -> Bool {
        guard case .picture(let listing, let index) = node, let job = thumbnailJob(listing, Int(index), wish) else {
            return false
        }
        return wish.seeder.isExpected(job)
    }

    /// Who seeds for a caller; nil if thumbnails are made for nobody, or for another user.
    func seeder(for caller: Caller) -> ThumbnailSeeder? {
        guard let seeder = configuration.thumbnails, let user = seeder.user, caller.user == user else { return nil }
        return seeder
    }

    /// Thumbnails for a desktop.
    struct ThumbnailWish: Sendable {
        let seeder: ThumbnailSeeder
        let spellings: [FileURI.Spelling]
        /// The paths of the directories in which it looks: a desktop knows a file by the path that it took to it.
        let directories: [String]
    }

    /// What thumbnails a caller finds where it looks for them; nil if nobody seeds for it.
    func wish(of caller: Caller, in directories: [String], _ program: CallingProgram? = nil) -> ThumbnailWish? {
        guard let seeder = seeder(for: caller) else { return nil }
        let name = (program ?? configuration.processes.program(caller.process))?.name
        // libgwenview, ThumbnailProvider: the digest of QUrl::url().
        let spellings: [FileURI.Spelling] = name == "gwenview" ? FileURI.Spelling.allCases : [.glib, .qt]
        return ThumbnailWish(seeder: seeder, spellings: spellings, directories: directories)
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
            return await wish.seeder.seed("\(path) at a glance", thumbnailJobs(known, of: listing, wish))
        }
        let known = part == .whole ? try? await listing.entries(reaching: TreeLimits.screenful - 1) : listing.entries
        guard let known else { return }
        await wish.seeder.seed(path, thumbnailJobs(known, of: listing, wish))
        guard part == .whole, !listing.isComplete || listing.entries.count > known.count else { return }
        // The file manager reads the whole directory too.
        Task {
            guard let all = try? await listing.entries(reaching: .max) else { return }
            await wish.seeder.seed(path, thumbnailJobs(all, of: listing, wish))
        }
    }

    /// What a thumbnail of an entry is made of; nil for what has none.
    func thumbnailJob(_ listing: Listing, _ index: Int, _ wish: ThumbnailWish) -> ThumbnailJob? {
        thumbnailJobs([listing.entries[index]], from: index, of: listing, wish).first
    }

    private func thumbnailJobs(
        _ entries: [ListingEntry], from first: Int = 0, of listing: Listing, _ wish: ThumbnailWish
    ) -> [ThumbnailJob] {
        entries.enumerated().compactMap { index, entry in
            thumbnailJob(
                entry, of: listing.key, in: wish.directories, wish.spellings, length: listing.size(at: first + index))
        }
    }

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
