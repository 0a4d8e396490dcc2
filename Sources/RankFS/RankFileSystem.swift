package import Catalog
package import Fuse
package import ImageCache
package import Rankings
package import Render
import Synchronization

/// The file system: the meaning of the paths, inodes, attributes and reads of a mount.
///
/// It answers requests (`Requests/`) with inodes and handles (`Inodes/`). Each kind of directory, file and link describes itself,
/// given the `Tree`.
///
/// ## Concurrency
///
/// libfuse's workers call every method, many at a time. Data in memory or on disk is answered on the worker; work that may wait
/// for the network or the database runs in the reply's own task. Each table has its own lock, and none is held while a reply is
/// given or a closure from outside is called.
///
/// Lock order: the inode table's lock before a listing's (to compare identities); no other two locks are ever held together.
package final class RankFileSystem: FileSystem {
    /// The inodes that the kernel knows, 1 if it knows only the root, and the open files and directories: figures for status displays.
    package typealias Figures = (inodes: Int, handles: Int)

    let configuration: MountConfiguration
    let tree: Tree
    let sizes: PictureSizes
    let thumbnails: DirectoryThumbnails
    let reporter: Reporter
    let inodes = InodeTable()
    let handles = HandleTable()
    /// The most recent records, by inode, so that `getfattr -d` reads the database once per file.
    let records = Mutex(
        RecentTable<UInt64, (picture: PictureID, record: ListedWork)>(most: TreeLimits.rememberedRecords))
    let memory: MemoryReturn
    let pages = PageVersions()

    package init(
        _ configuration: MountConfiguration, source: any RankingSource, catalog: Catalog, cache: ImageCache,
        renderer: any Rendering
    ) {
        self.configuration = configuration
        tree = Tree(
            configuration, source: source, catalog: catalog, cache: cache, renderer: renderer,
            helpers: HelperFile.all(configuration), inodes: { [inodes] in inodes.numbers(of: $0) })
        sizes = PictureSizes(tree)
        thumbnails = DirectoryThumbnails(tree: tree)
        memory = MemoryReturn(configuration)
        reporter = Reporter(configuration)
    }

    /// The present figures of the tables.
    package var figures: Figures { (inodes.count, handles.count) }

    /// Reports the failures that were only counted; for the end of the mount.
    package func tellCounts() {
        reporter.flush()
    }

    package func forget(_ inode: UInt64, lookups: UInt64) {
        if inodes.forget(inode, lookups: lookups) { pages.forget(inode) }
        memory.noteWork()
    }

    package func statistics(_ request: InodeRequest, reply: StatisticsReply) {
        if let node = inodes.node(request.inode) { noteStatistics(of: node, by: request.caller) }
        let (budget, stored) = tree.cache.room
        let free = max(0, budget - stored)
        reply.statistics(
            blocks: UInt64(max(0, budget) / TreeLimits.blockSize),
            freeBlocks: UInt64(free / TreeLimits.blockSize), longestName: UInt32(TreeLimits.longestName))
    }

    private func noteStatistics(of node: Node, by caller: Caller) {
        guard let program = tree.callers.program(of: caller) else { return }
        let key: ListingKey? = if case .directory(let directory) = node { directory.listing?.key } else { nil }
        let (path, parent) = (node.path.text, node.path.parent?.text)
        tree.callers.facts { callers, now in
            let parent = callers.shownParent(parent, of: key, to: program, now: now)
            callers.queriedFreeSpace(of: path, below: parent, by: program, now: now)
        }
    }

    // MARK: - Answering

    /// Answers with an error and reports it if it deserves a log line.
    func refuse(_ reply: Reply, _ failure: Failure, subject: @autoclosure () -> String) {
        reporter.report(failure, subject: subject())
        reply.fail(failure.errno)
    }

    /// The node of an inode; nil, and the request is answered, if it is forgotten.
    func node(_ inode: UInt64, or reply: Reply) -> Node? {
        if let node = inodes.node(inode) { return node }
        refuse(reply, .forgottenInode, subject: "inode \(inode)")
        return nil
    }

    /// Answers from a task that runs `work`; an error that `work` throws is reported and answered, and so is the end of its time.
    func later(
        _ reply: Reply, subject: @escaping @Sendable () -> String,
        _ work: @escaping @Sendable () async throws(Failure) -> Void
    ) {
        let reporter = reporter
        reply.later(late: { reporter.report(.late, subject: subject()) }) { () async throws(Errno) in
            do throws(Failure) {
                try await work()
            } catch {
                // In a cancelled task, the error may be a time-out or a broken connection that the cancellation caused.
                let failure = Task.isCancelled ? Failure.cancelled : error
                reporter.report(failure, subject: subject())
                throw failure.errno
            }
        }
    }
}

// MARK: - Memory return

/// Returns free memory to the system some time after work has ended.
///
/// A walk over thousands of files leaves unused pages in the allocator, and glibc keeps them.
///
/// ## Concurrency
///
/// Any thread may call; one atomic records whether a return is already scheduled.
final class MemoryReturn: Sendable {
    private let isDue = Atomic(false)
    private let configuration: MountConfiguration

    /// - Parameter configuration: Runs work later, and returns the memory to the system.
    init(_ configuration: MountConfiguration) {
        self.configuration = configuration
    }

    /// Notes that some work has ended: all work that ends within one interval leads to one return, at the end of the interval.
    func noteWork() {
        guard !isDue.exchange(true, ordering: .relaxed) else { return }
        configuration.later(TreeLimits.memoryInterval) { [self] in
            isDue.store(false, ordering: .relaxed)
            configuration.giveMemoryBack()
        }
    }
}
