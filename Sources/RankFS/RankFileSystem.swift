package import Catalog
package import Fuse
package import ImageCache
package import Rankings
package import Render
import Synchronization

/// The file system: what paths, inodes, attributes and reads of a mount mean.
///
/// It answers requests (`Requests/`) with inodes and handles (`Inodes/`); what there is to say of a directory, a file or a link,
/// each kind of them says itself, when it is asked with the `Tree`.
///
/// ## Concurrency
///
/// libfuse's workers call every method, many at a time. What is in memory or on disk is answered on the worker; what may
/// wait for the network or the database runs in the reply's own task. Each table has its own lock, and none is held while a
/// reply is given or a closure from outside is called.
///
/// LOCK ORDER: the inode table's before a listing's (to compare identities); no other two are ever held together.
package final class RankFileSystem: FileSystem {
    /// Figures for status displays.
    package struct Figures: Sendable {
        /// Inodes that the kernel knows; 1 when it knows the root alone.
        package var inodes: Int
        /// Open files and directories.
        package var handles: Int
    }

    let configuration: MountConfiguration
    let tree: Tree
    let sizes: PictureSizes
    let thumbnails: DirectoryThumbnails
    let reporter: Reporter
    let inodes = InodeTable()
    let handles = HandleTable()
    let records = RecordMemory()
    let memory: MemoryReturn
    let pages = PageVersions()

    package init(
        _ configuration: MountConfiguration, source: any RankingSource, catalog: Catalog, cache: ImageCache,
        renderer: any Rendering
    ) {
        self.configuration = configuration
        tree = Tree(configuration, source: source, catalog: catalog, cache: cache, renderer: renderer)
        sizes = PictureSizes(tree)
        thumbnails = DirectoryThumbnails(tree)
        memory = MemoryReturn(later: configuration.later, giveBack: configuration.giveMemoryBack)
        reporter = Reporter(
            now: configuration.now, later: configuration.later, say: configuration.report,
            troubled: configuration.troubled)
    }

    /// What the tables hold now.
    package var figures: Figures {
        Figures(inodes: inodes.count, handles: handles.count)
    }

    /// Reports what was only counted of failures; for the end of the mount.
    package func tellCounts() {
        reporter.flush()
    }

    package func forget(_ inode: UInt64, lookups: UInt64) {
        if inodes.forget(inode, lookups: lookups) { pages.forget(inode) }
        memory.noteWork()
    }

    package func statistics(_ request: InodeRequest, reply: StatisticsReply) {
        tree.desktops.noteStatistics(of: inodes.node(request.inode), by: request.caller)
        let status = tree.cache.status()
        let free = max(0, status.budget - status.storedBytes)
        reply.statistics(
            Statistics(
                blocks: UInt64(max(0, status.budget) / TreeLimits.blockSize),
                freeBlocks: UInt64(free / TreeLimits.blockSize), longestName: UInt32(TreeLimits.longestName)))
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

// MARK: - Memory return

/// Gives free memory back to the system some time after work ended.
///
/// A walk over thousands of files leaves pages in the allocator that nothing uses any more, and glibc keeps them.
///
/// ## Concurrency
///
/// Any thread may call; one atomic tells whether a turn is due already.
final class MemoryReturn: Sendable {
    private let isDue = Atomic(false)
    private let later: @Sendable (_ seconds: Int64, _ work: @escaping @Sendable () -> Void) -> Void
    private let giveBack: @Sendable () -> Void

    /// - Parameters:
    ///   - later: Does something after so many seconds.
    ///   - giveBack: Gives the memory back.
    init(
        later: @escaping @Sendable (_ seconds: Int64, _ work: @escaping @Sendable () -> Void) -> Void,
        giveBack: @escaping @Sendable () -> Void
    ) {
        self.later = later
        self.giveBack = giveBack
    }

    /// Notes that something ended: whatever ends within a while is one turn, at the while's end.
    func noteWork() {
        guard !isDue.exchange(true, ordering: .relaxed) else { return }
        later(TreeLimits.memoryInterval) { [self] in
            isDue.store(false, ordering: .relaxed)
            giveBack()
        }
    }
}
