package import Catalog
import Dispatch
package import Fuse
import Glibc
package import ImageCache
package import Rankings
package import Render
import Synchronization
package import Thumbnails

/// The file system: what paths, inodes, attributes and reads of a mount mean.
///
/// Each aspect has its own file: `+Lookup`, `+Attributes`, `+Sizes`, `+Read`, `+Directory`, `+Latest`, `+Dates`, `+Offline`,
/// `+ExtendedAttributes`.
///
/// ## Concurrency
///
/// libfuse's workers call every method, many at a time. What is in memory or on disk is answered on the worker; what may
/// wait for the network or the database runs in the reply's own task. Each table has its own lock, and none is held while a
/// reply is given or a closure from outside is called.
///
/// LOCK ORDER: the inode table's before a listing's (to compare identities); no other two are ever held together.
package final class RankFileSystem: FileSystem {
    /// What a mount is made with.
    package struct Configuration: Sendable {
        package var user: UInt32
        package var group: UInt32
        /// Permissions that nothing has, as in umask(2).
        package var mask: UInt32 = 0
        /// Whether what is read is noted in `recent/`.
        package var notesRecent = true
        /// Whether users besides the owner and root look into the mount, who are not to see what is the owner's.
        package var keepsOwners = false
        /// Whether no request leaves, as the option says: directories then list what opens without one.
        package var isOffline = false
        /// The text of `/.rankfs/status.json`, made anew for each reader: the owner, or somebody else.
        package var status: @Sendable (_ toOwner: Bool) -> [UInt8]
        /// The text of `/.rankfs/metrics`, likewise.
        package var metrics: @Sendable () -> [UInt8]
        /// The whole text of `/.rankfs/version`, its newline included.
        package var version: String
        /// Told once for each failing request: a sentence with cause and remedy.
        package var report: @Sendable (String) -> Void
        /// Told, on no worker's time, when the kernel should forget what it knows of an inode: `Session.invalidate(inode:)`.
        package var invalidate: @Sendable (UInt64) -> Void
        /// Likewise, of its attributes alone: `Session.invalidateAttributes(inode:)`.
        package var invalidateAttributes: @Sendable (UInt64) -> Void
        /// Makes the thumbnails of directories that a desktop looks at; nil if there shall be none.
        package var thumbnails: ThumbnailSeeder?
        /// Wall clock in Unix seconds.
        package var now: @Sendable () -> Int64
        /// The monotonic clock by which it is remembered who came when.
        package var monotonicNow: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
        /// What side bars call the mount.
        package var volumeName = "Rankings"
        /// What is asked of the programs that call.
        var processes = Processes.system
        /// Gives memory that is free back to the system.
        package var giveMemoryBack: @Sendable () -> Void = {}
        /// Does something after so many seconds.
        package var later: @Sendable (_ seconds: Int64, _ work: @escaping @Sendable () -> Void) -> Void = {
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int($0)), execute: $1)
        }

        package init(
            user: UInt32, group: UInt32, status: @escaping @Sendable (_ toOwner: Bool) -> [UInt8],
            metrics: @escaping @Sendable () -> [UInt8] = { [] }, version: String,
            report: @escaping @Sendable (String) -> Void,
            invalidate: @escaping @Sendable (UInt64) -> Void = { _ in },
            now: @escaping @Sendable () -> Int64 = RankFileSystem.wallClock
        ) {
            self.user = user
            self.group = group
            self.status = status
            self.metrics = metrics
            self.version = version
            self.report = report
            self.invalidate = invalidate
            invalidateAttributes = invalidate
            self.now = now
        }
    }

    /// Figures for status displays.
    package struct Figures: Sendable {
        /// Inodes that the kernel knows; 1 when it knows the root alone.
        package var inodes: Int
        /// Open files and directories.
        package var handles: Int
    }

    let configuration: Configuration
    let source: any RankingSource
    let catalog: Catalog
    let cache: ImageCache
    let reporter: Reporter
    let inodes = InodeTable()
    let handles = HandleTable()
    let records = RecordMemory()
    let memory: MemoryReturn
    let walks = Mutex(WalkRecognition())
    let excursions = Mutex(Excursions())
    let pages = PageVersions()
    /// Inodes that were shown with a size that a download under way was told.
    let announcements = Mutex<[PictureID: Set<UInt64>]>([:])
    let looks = Mutex(LookRecognition())
    /// Which file managers show a directory now: what they learn of its entries comes no faster than the thumbnails.
    let visits = Mutex(ProgramPlaces(lifetime: TreeLimits.visit))
    let sharedNames = Mutex(SharedThumbnailNames())
    let random = Mutex(RandomChoices())
    /// Who came to a picture by its link in `recent/`: looking through what was read is not reading it again.
    let recentWays = Mutex(ProgramPlaces(lifetime: TreeLimits.recentWay))
    let datedWays = Mutex(DatedWays())
    let animations: AnimationFiles
    /// How long files that change with each reader were when they were made last.
    let liveLengths = Mutex<[HelperFile: Int]>([:])

    package init(
        _ configuration: Configuration, source: any RankingSource, catalog: Catalog, cache: ImageCache,
        renderer: any Rendering
    ) {
        self.configuration = configuration
        self.source = source
        self.catalog = catalog
        self.cache = cache
        animations = AnimationFiles(source: source, catalog: catalog, cache: cache, renderer: renderer)
        memory = MemoryReturn(later: configuration.later, giveBack: configuration.giveMemoryBack)
        reporter = Reporter(now: configuration.now, later: configuration.later, say: configuration.report)
    }

    /// What the tables hold now.
    package var figures: Figures {
        Figures(inodes: inodes.count, handles: handles.count)
    }

    /// Reports what was only counted of failures; for the end of the mount.
    package func tellCounts() {
        reporter.flush()
    }

    /// The moment of the monotonic clock.
    var moment: ContinuousClock.Instant { configuration.monotonicNow() }

    /// time(2).
    package static let wallClock: @Sendable () -> Int64 = { Int64(time(nil)) }

    package func forget(_ inode: UInt64, lookups: UInt64) {
        if inodes.forget(inode, lookups: lookups) { pages.forget(inode) }
        memory.noteWork()
    }

    package func statistics(_ request: InodeRequest, reply: StatisticsReply) {
        noteStatistics(of: request.inode, by: request.caller)
        let status = cache.status()
        let free = max(0, status.budget - status.storedBytes)
        reply.statistics(
            Statistics(
                blocks: UInt64(max(0, status.budget) / TreeLimits.blockSize),
                freeBlocks: UInt64(free / TreeLimits.blockSize),
                files: UInt64(max(0, status.storedPictures)), longestName: UInt32(TreeLimits.longestName)))
    }
}

// MARK: - Answering

extension RankFileSystem {
    /// Answers with an error and reports it if it is one worth a line.
    func refuse(_ reply: Reply, _ failure: Failure, subject: @autoclosure () -> String) {
        reporter.report(failure, subject: subject())
        reply.fail(failure.errno)
    }

    /// Answers later, when `work` did; what it throws is reported and answered.
    func later(
        _ reply: Reply, subject: @escaping @Sendable () -> String,
        _ work: @escaping @Sendable () async throws(Failure) -> Void
    ) {
        let reporter = reporter
        reply.later { () async throws(Errno) in
            do throws(Failure) {
                try await work()
            } catch {
                // A cancelled task may be told of a time-out or a broken connection that the cancelling caused.
                let failure = Task.isCancelled ? Failure.picture(.cancelled) : error
                reporter.report(failure, subject: subject())
                throw failure.errno
            }
        }
    }
}
