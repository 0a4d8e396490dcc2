import CLinux
import Fuse
import Glibc
import RankFS
import Rankings
import Synchronization
import System

/// A piece of work of a fetch: one path of the mount.
struct FetchWork: Hashable, Sendable {
    /// The path below the mount's root.
    let path: String
    /// The listing that a file belongs to; its own path for a listing.
    let group: String
    /// Whether the path is listed, and not read.
    var isListing = false
}

/// The result of a piece of work.
enum FetchOutcome: Sendable {
    /// A directory: its files, its directories, the number of pictures that it does not list because they are withheld, and whether
    /// it lacks others that are not stored; a file has itself, without a name.
    case listed(files: [String], directories: [String], withheld: Int = 0, isPartial: Bool = false)
    /// Another name of this path.
    case elsewhere(String)
    /// A file that was read to its end: its bytes, and whether the target path held another file before.
    case fetched(Int64, replaced: Bool)
    /// A file that was there already.
    case skipped
    /// The service withholds the file.
    case withheld
    case missing
    /// A failure that may pass.
    case failed(SystemError)
    /// A failure that all other works would share.
    case stopped(ProgramError)
}

/// Performs the work of a fetch with ordinary file operations.
///
/// ## Concurrency
///
/// Any number of threads may call; every call blocks until the mount has answered.
final class FetchReader: Sendable {
    /// Bytes of one read: the most that the kernel passes to the mount in one request.
    static let pieceSize = 1 << 20

    let mount: String
    /// Nil if files are only read.
    private let target: ExportFolder?
    /// Whether the mount lists only what is stored.
    let isOffline: Bool
    private let received = Atomic<Int64>(0)

    init(mount: String, target: ExportFolder?, isOffline: Bool = false) {
        self.mount = mount
        self.target = target
        self.isOffline = isOffline
    }

    /// Bytes read so far, including those of failed attempts.
    var receivedBytes: Int64 { received.load(ordering: .relaxed) }

    // MARK: Listings

    /// Lists a directory, or a path that may be a file.
    func list(_ work: FetchWork) -> FetchOutcome {
        do throws(SystemError) {
            if let path = try ofDay(work.path) { return .elsewhere(path) }
        } catch { return outcome(of: error) }
        let path = work.path.isEmpty ? mount : "\(mount)/\(work.path)"
        do throws(SystemError) {
            let status = try LocalFiles.status(of: path)
            if status.st_mode.isFile {
                return .listed(files: [""], directories: [])
            }
            let entries = try Directory.entries(at: path)
            // One status after the other, which the mount takes for a walk: it requests all sizes at once.
            let (files, directories) = Self.parts(of: entries, in: work.path)
            for name in files { _ = try? LocalFiles.status(of: "\(path)/\(name)") }
            return .listed(
                files: files, directories: directories, withheld: LocalFiles.withheld(in: path),
                isPartial: isOffline && lacksPictures(path))
        } catch {
            return outcome(of: error)
        }
    }

    /// The names of a directory's files, and of the directories that a traversal goes into.
    static func parts(of entries: [ListedFile], in path: String) -> (files: [String], directories: [String]) {
        let own = entries.filter { !FetchPath.isFurther($0.name, in: path, isRoot: path.isEmpty) }
        // An author's bookmarks are works of other authors: fetched only when they are named.
        let inner = Set(ListingKind.allCases.flatMap { $0.inside.map(\.name) })
        return (
            own.filter { $0.kind == .file }.map(\.name),
            own.filter { $0.kind == .directory && !inner.contains($0.name) }.map(\.name)
        )
    }

    /// Whether not all of a listing is stored; false for a directory of other things.
    private func lacksPictures(_ path: String) -> Bool {
        do throws(SystemError) {
            return try LocalFiles.give(.lacking, to: path, in: [mount]) > 0
        } catch { return error.code != ENOTTY }
    }

    /// The path by day of an entry that is named through `latest`; nil for other paths.
    func ofDay(_ path: String) throws(SystemError) -> String? {
        try FetchPath.ofDay(path) { directory throws(SystemError) in
            try LocalFiles.day(shownBy: "\(mount)/\(directory)")
        }
    }

    // MARK: Files

    /// Reads a file from its beginning to its end, and writes it to the target if there is one.
    func fetch(_ work: FetchWork) -> FetchOutcome {
        let path = "\(mount)/\(work.path)"
        do throws(SystemError) {
            let status = try LocalFiles.status(of: path)
            guard let target else { return try store(path).map { .fetched($0, replaced: false) } ?? .skipped }
            do throws(ProgramError) { return try export(work.path, status, to: target) } catch {
                return .stopped(error)
            }
        } catch {
            return outcome(of: error)
        }
    }

    /// Copies a file to the target.
    ///
    /// - Throws: An error of the target; one of the original is an outcome.
    private func export(_ file: String, _ status: stat, to target: ExportFolder) throws(ProgramError) -> FetchOutcome {
        let path = "\(mount)/\(file)"
        let isThere = target.has(file, of: status)
        if isThere == true {
            try target.writeSidecar(of: file)
            return .skipped
        }
        let (descriptor, count): (Int32, Int64)
        // Opened first: an unreadable original leaves no empty file.
        do throws(SystemError) { descriptor = try open(path) } catch { return outcome(of: error) }
        defer { close(descriptor) }
        // Tried again: what another fetch is writing is there in a moment.
        guard let copy = try target.create(file, of: file) else { return .failed(SystemError(code: EBUSY)) }
        defer { copy.discard() }
        do throws(SystemError) { count = try read(descriptor) { copy.write($0) } } catch { return outcome(of: error) }
        if copy.failure != nil { throw target.error(copy.failure, path: file) }
        try target.finish(copy, as: file, status: try? LocalFiles.status(of: path))
        return .fetched(count, replaced: isThere != nil)
    }

    private func open(_ path: String) throws(SystemError) -> Int32 {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .last() }
        return descriptor
    }

    /// Reads a file from its beginning to its end, so that the mount stores it.
    ///
    /// - Parameter path: The absolute path.
    /// - Returns: The number of bytes read; nil if the file is stored already.
    /// - Throws: The error of a call, and EIO for a length that differs from the status of the file.
    func store(_ path: String) throws(SystemError) -> Int64? {
        guard LocalFiles.attribute("user.rankfs.state", of: path) != "stored" else { return nil }
        let descriptor = try open(path)
        defer { close(descriptor) }
        // The mount does not see reads of pages that the kernel still caches, so a dropped picture would not be stored again.
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        return try read(descriptor) { _ in true }
    }

    /// Reads to the end; a length that differs from the status of the file is a failure, whatever the cause.
    private func read(_ descriptor: Int32, each: ([UInt8]) -> Bool) throws(SystemError) -> Int64 {
        var total: Int64 = 0
        var buffer = [UInt8](repeating: 0, count: Self.pieceSize)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 { throw .last() }
            if count == 0 { break }
            total += Int64(count)
            received.wrappingAdd(Int64(count), ordering: .relaxed)
            if !each(count == buffer.count ? buffer : Array(buffer[..<count])) { return total }
        }
        guard let status = fileStatus(open: descriptor) else { throw .last() }
        guard Int64(status.st_size) == total else { throw SystemError(code: EIO) }
        return total
    }

    // MARK: Failures

    private func outcome(of failure: SystemError) -> FetchOutcome {
        Self.outcome(of: failure, mount: mount) { MountTable.current().mount(at: $0.utf8)?.isOwn == true }
    }

    /// The outcome that an errno of the mount stands for.
    ///
    /// - Parameters:
    ///   - failure: The error of a call.
    ///   - mount: The mount point.
    ///   - isMounted: Returns whether the mount is still there: without it (`umount -l`) the empty folder has no names.
    /// - Returns: The outcome.
    static func outcome(
        of failure: SystemError, mount: String, isMounted: (_ mount: String) -> Bool
    ) -> FetchOutcome {
        switch failure.code {
        case EACCES, EPERM: .withheld
        case ENOTCONN, ECONNABORTED, ENODEV,
            ENOENT where !isMounted(mount):
            .stopped(
                .unavailable(
                    "the mount at \(LogText.escaped(mount)) has ended; mount it again and run the same command."))
        case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG: .missing
        default: .failed(failure)
        }
    }
}
