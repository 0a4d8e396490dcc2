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
    /// Whether the program has pictures read that it is told of before their thumbnails are there (`KnownPrograms.eagerViewers`).
    var isEager = false
}

/// Who is told of the entries of a directory, as far as it matters to thumbnails.
enum ThumbnailViewer: Sendable {
    /// Who draws none.
    case none
    /// Who may turn out to be a file manager.
    case watcher(ThumbnailSeeder)
    /// A file manager that shows the directory.
    case visitor(ThumbnailWish)
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
            directories: tree.desktops.sight(of: directory),
            isEager: name.map(KnownPrograms.eagerViewers.contains) ?? false)
    }

    /// Who a caller is that reads a directory.
    func viewer(of directory: any TreeDirectory, _ caller: Caller) -> ThumbnailViewer {
        if tree.desktops.isVisiting(directory, caller) {
            return wish(of: caller, in: directory).map { .visitor($0) } ?? .none
        }
        guard tree.desktops.isWatching(directory, caller) else { return .none }
        return seeder(for: caller).map { .watcher($0) } ?? .none
    }

    /// Whether the lookup of a picture waits: for its thumbnails, or for a program to show itself as a file manager.
    ///
    /// Only those that a window shows first are worth that, and only for a moment after somebody went there; an eager program's lookups
    /// all wait, as long as they go on.
    func isHeldUp(_ node: Node, from viewer: ThumbnailViewer) -> Bool {
        guard case .picture(_, let index) = node else { return false }
        return switch viewer {
        case .none: false
        case .watcher: index >= TreeLimits.toldToWatchers
        case .visitor(let wish): (wish.isEager || index < TreeLimits.heldUp) && expectedJob(of: node, wish) != nil
        }
    }

    /// Returns when somebody may learn of a picture, each time within the patience of a look.
    func waitForTurn(
        of node: Node, in directory: any TreeDirectory, for viewer: ThumbnailViewer, _ caller: Caller
    ) async {
        let desktops = tree.desktops
        var viewer = viewer
        if case .watcher(let seeder) = viewer {
            await seeder.wait(atMost: TreeLimits.announcement) {
                await desktops.waitForVisit(to: directory, by: caller)
            }
            desktops.endWaiting(forVisitTo: directory.path.text)
            viewer = self.viewer(of: directory, caller)
        }
        guard isHeldUp(node, from: viewer), case .visitor(let wish) = viewer, let job = expectedJob(of: node, wish),
            let left = desktops.timeOfVisit(to: directory, by: caller)
        else { return }
        await wish.seeder.waitForTurn(of: job, atMost: left)
        if wish.isEager { desktops.prolongVisit(to: directory, by: caller) }
    }

    /// What is made of a picture that is still to get its thumbnails; nil otherwise.
    private func expectedJob(of node: Node, _ wish: ThumbnailWish) -> ThumbnailJob? {
        guard case .picture(let listing, let index) = node, let job = job(listing, Int(index), wish),
            wish.seeder.isExpected(job, at: Int(index), of: Self.name(of: wish))
        else { return nil }
        return job
    }

    /// The paths under which programs see each of the directories in which a listing's pictures are now.
    func sightsNow(of key: ListingKey) -> [[String]] {
        let isTwice = tree.isInLatest(key) || key == tree.source.signIn.user.map { .bookmarks($0) }
        let others = isTwice ? key.paths.filter { $0 != key.path } : []
        return [tree.desktops.sight(of: DirectoryKinds.directory(showing: key))] + others.map { [$0.text] }
    }

    /// What the seeder calls the thumbnails in some directories: another way to a listing is other work.
    static func seeding(in directories: [String]) -> String {
        directories.joined(separator: " ")
    }

    /// Has the thumbnails of a directory made, and returns at once.
    ///
    /// - Parameters:
    ///   - listing: Of what.
    ///   - wish: For whom.
    ///   - isWhole: Whether those on pages that nobody has read yet are wanted too.
    func seed(_ listing: Listing, _ wish: ThumbnailWish, isWhole: Bool) {
        let known = listing.entries
        let (name, seeder, first) = (Self.name(of: wish), wish.seeder, jobs(known, of: listing, wish))
        guard isWhole else {
            seeder.expect(first)
            Task { await seeder.add(name, first) }
            return
        }
        // The file manager reads the whole directory too; what is not told, or not to be had, is left to it.
        seeder.follow(name, known.count, first) { count in
            guard let entries = try? await listing.entries(reaching: count), entries.count > count else { return nil }
            return (entries.count, self.jobs(Array(entries[count...]), from: count, of: listing, wish))
        }
    }

    /// Has the thumbnails made that a preview of a directory shows; returns when they are, or the patience of a look is over.
    func seedPreview(of listing: Listing, _ wish: ThumbnailWish) async {
        let jobs = jobs(Array(listing.entries.prefix(TreeLimits.glance)), of: listing, wish)
        await wish.seeder.wait { await wish.seeder.seed("\(Self.name(of: wish)) at a glance", jobs) }
    }

    /// What the seeder calls what somebody wishes.
    private static func name(of wish: ThumbnailWish) -> String {
        seeding(in: wish.directories) + (wish.spellings.contains(.decoded) ? " (decoded)" : "")
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

// MARK: - Thumbnail reading

/// Who reads a picture for a thumbnail.
///
/// A file manager that asked for thumbnails before they were there has them made of the pictures: by programs that it starts,
/// or by itself. It finds the thumbnail of the small preview as soon as such an attempt has failed, so the picture is refused.
enum ThumbnailReading: Sendable {
    /// A file manager will find what is made of the preview if this attempt fails; nil if it tries by itself what its
    /// thumbnailer was refused.
    case replaceable(ThumbnailJob, ThumbnailSeeder, desktop: CallingProgram?)
    /// A worker takes a failure for the last word. It is only held up until thumbnails are there that it finds then.
    case worker(ThumbnailSeeder)
}

extension DirectoryThumbnails {
    /// What a caller reads a picture for, if it is a file manager's thumbnailer; nil for every other caller, and for
    /// thumbnails that are larger than those made of previews.
    func reading(_ listing: Listing, _ index: Int, _ path: String, _ caller: Caller) -> ThumbnailReading? {
        let desktops = tree.desktops
        guard desktops.looks.withLock(\.hasDesktops), let seeder = seeder(for: caller) else { return nil }
        let processes = desktops.processes
        var desktop: CallingProgram?
        switch Thumbnailer(arguments: processes.arguments(caller.process)) {
        case .worker: return .worker(seeder)
        case .ofOneFile(let edge):
            guard edge <= ThumbnailSize.large.edge else { return nil }
            let starters = processes.starters(caller.process)
            desktop = desktops.looks.withLock { looks in starters.first { looks.isDesktop($0) } }
            if desktop == nil { return nil }
        case nil:
            guard let trier = desktops.looks.withLock({ $0.secondTrier(of: path, now: desktops.moment) }),
                processes.program(caller.process) == trier
            else { return nil }
            desktops.looks.withLock { $0.triedAgain(path) }
        }
        let wish = ThumbnailWish(
            seeder: seeder, spellings: [.glib, .qt], directories: sightsNow(of: listing.key).flatMap(\.self))
        return job(listing, index, wish).map { .replaceable($0, seeder, desktop: desktop) }
    }

    /// Holds a picture up that is opened for a thumbnail, until that is there.
    ///
    /// - Throws: `.hasThumbnail` if the file manager finds the thumbnail without the picture.
    func prepare(
        _ reading: ThumbnailReading, of listing: Listing, at path: String
    ) async throws(Failure) {
        switch reading {
        case .replaceable(let job, let seeder, let desktop):
            guard await seeder.seedInPlaceOfThumbnailer(job) else { break }
            if let desktop {
                tree.desktops.looks.withLock {
                    $0.refused(path, toThumbnailerOf: desktop, now: tree.desktops.moment)
                }
            }
            throw .hasThumbnail
        case .worker(let seeder):
            // At once, so that it is held up by the patience of one look in all.
            await withTaskGroup(of: Void.self) { group in
                for directories in sightsNow(of: listing.key) {
                    group.addTask { await seeder.waitForThumbnails(of: Self.seeding(in: directories)) }
                }
            }
        }
    }
}
