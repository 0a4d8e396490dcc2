import Catalog
import Fuse
import ImageCache
import Rankings
import Synchronization

/// The thumbnails that a desktop needs.
struct ThumbnailWish: Sendable {
    let seeder: ThumbnailSeeder
    let spellings: [FileURI.Spelling]
    /// The paths of the directories in which it searches for them: a desktop knows a file by the path that it took to it.
    let directories: [String]
    /// Whether the program reads pictures that it sees before their thumbnails are there, or has them read: each of its lookups may wait
    /// as long as a visit lasts.
    var isEager = false
    /// The number of pictures of which lookups wait for thumbnails: the first by name, which the program's window shows.
    var heldUp = TreeLimits.heldUp
}

/// The kind of reader of a directory, as far as it matters to thumbnails.
enum ThumbnailViewer: Sendable {
    /// A program that draws no thumbnails.
    case none
    /// A program that may turn out to be a file manager.
    case watcher(ThumbnailSeeder)
    /// A file manager that shows the directory.
    case visitor(ThumbnailWish)
}

/// Makes thumbnails before a desktop that shows a directory searches for them, so that it reads no picture.
///
/// ## Concurrency
///
/// Any thread may call; the only state is the seeder's.
struct DirectoryThumbnails: Sendable {
    let tree: Tree

    /// The seeder for a caller; nil if no thumbnails are made, or only for another user.
    func seeder(for caller: Caller) -> ThumbnailSeeder? {
        guard let seeder = tree.configuration.thumbnails, let user = seeder.user, caller.user == user else {
            return nil
        }
        return seeder
    }

    /// The thumbnails that a caller needs in a directory; nil without a seeder for it.
    func wish(
        of caller: Caller, in directory: any TreeDirectory, _ program: CallingProgram? = nil
    ) -> ThumbnailWish? {
        guard let seeder = seeder(for: caller) else { return nil }
        let name = (program ?? tree.callers.processes.program(caller.process))?.name
        let isDecoding = name.map(KnownPrograms.decodingViewers.contains) ?? false
        let isWhole = name.map(KnownPrograms.eagerViewers.contains) ?? false
        let isWindow = name.map(KnownPrograms.ownThumbnailers.contains) ?? false
        return ThumbnailWish(
            seeder: seeder, spellings: isDecoding ? FileURI.Spelling.allCases : [.glib, .qt],
            directories: sight(of: directory), isEager: isWhole || isWindow,
            heldUp: isWhole ? .max : isWindow ? ThumbnailSeeder.screenful : TreeLimits.heldUp)
    }

    /// The kind of reader that a caller is for a directory.
    func viewer(of directory: any TreeDirectory, _ caller: Caller) -> ThumbnailViewer {
        let stay = tree.callers.stay(of: caller, at: directory.path.text)
        if stay.visitLeft != nil { return wish(of: caller, in: directory).map { .visitor($0) } ?? .none }
        guard stay.isWatching else { return .none }
        return seeder(for: caller).map { .watcher($0) } ?? .none
    }

    /// Whether the lookup of a picture waits: for its thumbnails, or for a program to identify itself as a file manager.
    ///
    /// Only the first pictures of a window are worth the wait, and only for a moment after the visit began; those of an eager program
    /// wait as long as its lookups continue.
    func isHeldUp(_ node: Node, from viewer: ThumbnailViewer) -> Bool {
        guard case .picture(let listing, let index) = node else { return false }
        return switch viewer {
        case .none: false
        case .watcher: index >= TreeLimits.toldToWatchers
        case .visitor(let wish):
            listing.browsingOrders.windowPlaces[Int(index)] < wish.heldUp && expectedJob(of: node, wish) != nil
        }
    }

    /// Returns when the lookup of a picture may be answered, each time within the patience of a visit.
    func waitForTurn(
        of node: Node, in directory: any TreeDirectory, for viewer: ThumbnailViewer, _ caller: Caller
    ) async {
        let (callers, path) = (tree.callers, directory.path.text)
        var viewer = viewer
        if case .watcher(let seeder) = viewer {
            await seeder.wait(atMost: TreeLimits.announcement) { await callers.waitForVisit(to: path, by: caller) }
            callers.endWaiting(forVisitTo: path)
            viewer = self.viewer(of: directory, caller)
        }
        guard isHeldUp(node, from: viewer), case .visitor(let wish) = viewer, let job = expectedJob(of: node, wish),
            let left = callers.stay(of: caller, at: path).visitLeft
        else { return }
        await wish.seeder.waitForTurn(of: job, atMost: left)
        prolong(viewer, in: directory, caller)
    }

    /// Records that an eager program continues to look pictures up, so that its next lookup may wait as long.
    func prolong(_ viewer: ThumbnailViewer, in directory: any TreeDirectory, _ caller: Caller) {
        guard case .visitor(let wish) = viewer, wish.isEager,
            let program = tree.callers.processes.program(caller.process)
        else { return }
        tree.callers.facts { $0.visits(directory.path.text, program, isProlonged: true, now: $1) }
    }

    /// The thumbnail job of a picture that still waits for its thumbnails; nil otherwise.
    private func expectedJob(of node: Node, _ wish: ThumbnailWish) -> ThumbnailJob? {
        guard case .picture(let listing, let index) = node, let job = job(listing, Int(index), wish),
            wish.seeder.isExpected(job, at: Int(index), of: Self.name(of: wish))
        else { return nil }
        return job
    }

    /// The paths under which a program sees a directory now: a day may be seen in `by-date/` too.
    func sight(of directory: any TreeDirectory) -> [String] {
        let dated = directory.listing?.key.flatMap { key in tree.callers.facts { $0.datedPath(of: key, now: $1) } }
        return [directory.path.text] + [dated].compactMap(\.self)
    }

    /// The paths under which programs see each of the directories that show a listing's pictures now.
    func sightsNow(of key: ListingKey) -> [[String]] {
        let isTwice = tree.isInLatest(key) || tree.isOwn(key)
        let others = isTwice ? key.paths.filter { $0 != key.path } : []
        return [sight(of: key.directory())] + others.map { [$0.text] }
    }

    /// The seeder's name for the thumbnails in some directories: another path to a listing is another job.
    static func seeding(in directories: [String]) -> String {
        directories.joined(separator: " ")
    }

    /// Starts making the thumbnails of a directory, and returns at once.
    ///
    /// - Parameters:
    ///   - listing: The listing with the pictures.
    ///   - wish: The thumbnails that the desktop needs.
    ///   - isWhole: Whether the thumbnails on listing pages that have not been read yet are needed too.
    func seed(_ listing: Listing, _ wish: ThumbnailWish, isWhole: Bool) {
        let known = listing.entries
        let (name, seeder, first) = (Self.name(of: wish), wish.seeder, jobs(known, of: listing, wish))
        guard isWhole else {
            seeder.expect(first)
            Task { await seeder.add(name, first) }
            return
        }
        // The file manager reads the whole directory too; sizes and pages that are not available are left to it.
        seeder.follow(name, known.count, first) { count in
            guard let entries = try? await listing.entries(reaching: count), entries.count > count else { return nil }
            return (entries.count, self.jobs(Array(entries[count...]), from: count, of: listing, wish))
        }
    }

    /// Makes the thumbnails for a preview of a directory, and returns when they are made or the patience of a visit is over.
    func seedPreview(of listing: Listing, _ wish: ThumbnailWish) async {
        let jobs = jobs(Array(listing.entries.prefix(TreeLimits.glance)), of: listing, wish)
        await wish.seeder.wait { await wish.seeder.seed("\(Self.name(of: wish)) at a glance", jobs) }
    }

    /// The seeder's name for the thumbnails that a desktop needs.
    private static func name(of wish: ThumbnailWish) -> String {
        seeding(in: wish.directories) + (wish.spellings.contains(.decoded) ? " (decoded)" : "")
    }

    /// The thumbnail job of an entry; nil if the entry has no thumbnail.
    func job(_ listing: Listing, _ index: Int, _ wish: ThumbnailWish) -> ThumbnailJob? {
        jobs([listing.entries[index]], from: index, of: listing, wish).first
    }

    private func jobs(
        _ entries: [ListingEntry], from first: Int = 0, of listing: Listing, _ wish: ThumbnailWish
    ) -> [ThumbnailJob] {
        entries.enumerated().compactMap { index, entry in
            tree.thumbnailJob(
                entry, of: listing.key, in: wish.directories, wish.spellings,
                length: listing.size(at: first + index))
        }
    }
}

extension Tree {
    /// The thumbnail job of an entry in some directories; nil if the entry has no thumbnail.
    func thumbnailJob(
        _ entry: ListingEntry, of key: ListingKey, in directories: [String],
        _ spellings: [FileURI.Spelling] = [.glib, .qt], length: Int64?
    ) -> ThumbnailJob? {
        guard entry.isBrowsed,
            let preview = source.location(
                of: entry.picture.work, picture: entry.reference, page: entry.picture.page, rendition: .small)
        else { return nil }
        return ThumbnailJob(
            picture: entry.picture, paths: directories.map { "\($0)/\(entry.name)" },
            otherPaths: key.paths.map(\.text).filter { !directories.contains($0) }.map { "\($0)/\(entry.name)" },
            spellings: spellings, preview: preview, modified: entry.picture.uploaded, length: length, listing: key,
            rank: Int(entry.rank))
    }
}

// MARK: - Thumbnail reading

/// The read of a picture for a thumbnail.
///
/// A file manager that searched for thumbnails before they existed has them made from the pictures: by programs that it starts, or
/// by itself. As soon as such an attempt has failed, it finds the thumbnail of the small preview, so the picture is refused.
enum ThumbnailReading: Sendable {
    /// A file manager finds the thumbnail of the preview if this attempt fails.
    ///
    /// `desktop` is nil if the file manager itself tries a picture that was refused to its thumbnailer.
    case replaceable(ThumbnailJob, ThumbnailSeeder, desktop: CallingProgram?)
    /// A worker treats a failure as final. It is only held up until the thumbnails are there, which it then finds.
    case worker(ThumbnailSeeder, isViewer: Bool = false)

    /// Whether the picture may be one that a person looks at, so that the next ones are preloaded.
    var isViewer: Bool {
        if case .worker(_, true) = self { true } else { false }
    }
}

extension DirectoryThumbnails {
    /// The purpose of a read by a file manager's thumbnailer.
    ///
    /// Nil for every other caller, and for thumbnails that are larger than those made of previews.
    func reading(_ listing: Listing, _ index: Int, _ path: String, _ caller: Caller) -> ThumbnailReading? {
        let callers = tree.callers
        guard callers.facts({ callers, _ in callers.hasDesktops }), let seeder = seeder(for: caller) else { return nil }
        let processes = callers.processes
        var desktop: CallingProgram?
        switch Thumbnailer(arguments: processes.arguments(caller.process)) {
        case .worker: return .worker(seeder)
        case .strip: return isAwaited(listing, index, by: caller) ? .worker(seeder, isViewer: true) : nil
        case .window: return isAwaited(listing, index, by: caller) ? .worker(seeder) : nil
        case .ofOneFile(let edge):
            guard edge <= ThumbnailSize.large.edge else { return nil }
            let starters = processes.starters(caller.process)
            desktop = callers.facts { callers, _ in starters.first { callers.isDesktop($0) } }
            if desktop == nil { return nil }
        case nil:
            guard let trier = callers.facts({ $0.secondTrier(of: path, now: $1) }),
                processes.program(caller.process) == trier
            else { return nil }
            callers.facts { callers, _ in callers.triedAgain(path) }
        }
        let wish = ThumbnailWish(
            seeder: seeder, spellings: [.glib, .qt], directories: sightsNow(of: listing.key).flatMap(\.self))
        return job(listing, index, wish).map { .replaceable($0, seeder, desktop: desktop) }
    }

    /// Whether a picture's thumbnails are still to be made and none of its bytes are here: a picture that a person looks at, or
    /// comes to next, is being downloaded.
    private func isAwaited(_ listing: Listing, _ index: Int, by caller: Caller) -> Bool {
        guard tree.cache.state(of: listing.entries[index].picture) == .absent,
            let wish = wish(of: caller, in: listing.key.directory())
        else { return false }
        return expectedJob(of: .picture(listing, Int32(index)), wish) != nil
    }

    /// Holds up the open of a picture for a thumbnail until that thumbnail is there.
    ///
    /// - Throws: `.hasThumbnail` if the file manager finds the thumbnail without the picture.
    func prepare(
        _ reading: ThumbnailReading, of listing: Listing, at path: String
    ) async throws(Failure) {
        switch reading {
        case .replaceable(let job, let seeder, let desktop):
            guard await seeder.seedInPlaceOfThumbnailer(job) else { break }
            if let desktop { tree.callers.facts { $0.refused(path, toThumbnailerOf: desktop, now: $1) } }
            throw .hasThumbnail
        case .worker(let seeder, _):
            // In parallel, so that the delay in all is the patience of one visit.
            await withTaskGroup(of: Void.self) { group in
                for directories in sightsNow(of: listing.key) {
                    group.addTask { await seeder.waitForThumbnails(of: Self.seeding(in: directories)) }
                }
            }
        }
    }
}
