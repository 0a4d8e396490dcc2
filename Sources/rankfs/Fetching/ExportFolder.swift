import CLinux
import Glibc
import System
import Rankings
import Synchronization

/// The target folder of an export: each file appears whole, with time and attributes, under its path below the mount.
///
/// ## Concurrency
///
/// Any thread may call; no two threads write the same path at once.
final class ExportFolder: Sendable {
    let path: String
    private let mount: String
    private let sidecars: Bool
    private let temporaries: TemporaryFiles
    private let lacksAttributes = Atomic<Bool>(false)
    private let onLackingAttributes: @Sendable () -> Void

    /// - Parameters:
    ///   - path: The folder, created with the first file if it does not exist.
    ///   - mount: The mount point, below which the originals are.
    ///   - sidecars: Whether pictures get a sidecar.
    ///   - temporaries: The record of unfinished files.
    ///   - onLackingAttributes: Called once if the target's file system takes no extended attributes.
    init(
        path: String, mount: String, sidecars: Bool, temporaries: TemporaryFiles,
        onLackingAttributes: @escaping @Sendable () -> Void
    ) {
        self.path = path
        self.mount = mount
        self.sidecars = sidecars
        self.temporaries = temporaries
        self.onLackingAttributes = onLackingAttributes
    }

    /// Whether the target path of a file has the same size and modification time as its source, so that it is not written again; nil if
    /// nothing is there.
    func has(_ file: String, of source: stat) -> Bool? {
        guard let there = try? LocalFiles.status(of: "\(path)/\(file)") else { return nil }
        if Self.isSame(there, source) { return true }
        guard there.st_size == source.st_size, there.st_mode.isFile,
            abs(there.st_mtim.tv_sec - source.st_mtim.tv_sec) < Self.coarsestStep
        else { return false }
        return Self.keeps(there, of: source, at: "\(path)/\(file)")
    }

    /// The coarsest step of modification times, in seconds: that of FAT.
    private static let coarsestStep = 2

    /// UTIME_OMIT of utimensat(2), which leaves a time unchanged.
    private static let omitted = (1 << 30) - 2

    /// Whether a file's time is the source's time as far as the file system keeps it; determined by setting the time.
    private static func keeps(_ there: stat, of source: stat, at path: String) -> Bool {
        func set(_ time: timespec) -> Bool {
            // The access time stays: it is for the file's user.
            let times = [timespec(tv_sec: 0, tv_nsec: omitted), time]
            return unsafe times.withUnsafeBufferPointer {
                unsafe utimensat(AT_FDCWD, path, $0.baseAddress, AT_SYMLINK_NOFOLLOW) == 0
            }
        }
        guard set(source.st_mtim), let now = try? LocalFiles.status(of: path) else { return false }
        if isSame(now, there) { return true }
        _ = set(there.st_mtim)
        return false
    }

    /// Whether the type, the size and the modification time of two files are equal.
    static func isSame(_ there: stat, _ source: stat) -> Bool {
        there.st_mode.isFile && there.st_size == source.st_size
            && there.st_mtim.tv_sec == source.st_mtim.tv_sec && there.st_mtim.tv_nsec == source.st_mtim.tv_nsec
    }

    /// Begins a file in its final folder, closed to whom the original is closed; nil if the process is stopping, or another one is
    /// writing the file.
    func create(_ file: String, of original: String) throws(ProgramError) -> ExportedFile? {
        let temporary = Self.temporaryPath(of: "\(path)/\(file)")
        do throws(SystemError) {
            try makeFolder(LocalFiles.parent(of: file) ?? "")
            let permissions = permissions(of: original) | 0o600
            guard let opened = try temporaries.open(temporary, permissions: permissions) else { return nil }
            return ExportedFile(path: temporary, opened, temporaries: temporaries)
        } catch {
            if error.code == EBUSY { return nil }
            throw self.error(error, path: file)
        }
    }

    /// Makes a missing folder and those above it, each closed to whom its original is closed.
    private func makeFolder(_ folder: String) throws(SystemError) {
        guard !folder.isEmpty else { return try Directory.make(path, permissions: 0o755) }
        guard fileStatus(at: "\(path)/\(folder)") == nil else { return }
        try makeFolder(LocalFiles.parent(of: folder) ?? "")
        try Directory.make("\(path)/\(folder)", permissions: permissions(of: folder) | 0o700)
    }

    /// The permissions of an original, which the umask narrows as it does for cp(1); none if it cannot be looked at.
    private func permissions(of original: String) -> mode_t {
        ((try? LocalFiles.status(of: "\(mount)/\(original)"))?.st_mode ?? 0) & 0o777
    }

    /// The temporary path: hidden, beside the file, and always the same, so that the next run overwrites the remains of a kill.
    static func temporaryPath(of path: String) -> String {
        let scalars = path.unicodeScalars
        guard let slash = scalars.lastIndex(of: "/") else { return ".\(path).part" }
        // By scalars: a name may begin with a scalar that joins the slash before it.
        return "\(String(scalars[...slash])).\(String(scalars[scalars.index(after: slash)...])).part"
    }

    /// Completes a written file: attributes, time, name and sidecar.
    ///
    /// - Parameters:
    ///   - written: The file, written to its end.
    ///   - file: The path below the folder, and that of the original below the mount.
    ///   - status: The status of the original; nil if it is no longer available, so that the time of writing stays.
    /// - Throws: The reason why the file cannot be written, as a sentence.
    func finish(_ written: ExportedFile, as file: String, status: stat?) throws(ProgramError) {
        copyAttributes(of: "\(mount)/\(file)", to: written.descriptor)
        if let status {
            let times = [status.st_mtim, status.st_mtim]
            unsafe _ = times.withUnsafeBufferPointer { unsafe futimens(written.descriptor, $0.baseAddress) }
        }
        try rename(written, to: file)
        try writeSidecar(of: file)
    }

    /// Writes the sidecar of a picture, unless an identical sidecar exists.
    func writeSidecar(of file: String) throws(ProgramError) {
        guard sidecars,
            let text = Self.sidecar(of: file, attribute: { LocalFiles.attribute($0, of: "\(mount)/\(file)") })
        else { return }
        let name = file + Self.sidecarSuffix
        let bytes = Array(text.utf8)
        if let present = try? Files.read("\(path)/\(name)", upTo: bytes.count + 1), present == bytes { return }
        guard let written = try create(name, of: file) else { return }
        defer { written.discard() }
        guard written.write(bytes) else { throw error(written.failure, path: name) }
        try rename(written, to: name)
    }

    private func rename(_ written: ExportedFile, to name: String) throws(ProgramError) {
        do throws(SystemError) { try written.rename(to: "\(path)/\(name)") } catch {
            throw self.error(error, path: name)
        }
    }

    private func copyAttributes(of source: String, to descriptor: Int32) {
        guard let attributes = try? LocalFiles.attributes(of: source) else { return }
        for (name, value) in attributes {
            let result = unsafe value.withUnsafeBytes { bytes in
                unsafe fsetxattr(descriptor, name, bytes.baseAddress, bytes.count, 0)
            }
            guard result != 0 else { continue }
            if !lacksAttributes.exchange(true, ordering: .relaxed) { onLackingAttributes() }
            // One that is too long for ext4 leaves room for others; a file system without attributes takes none of those either.
            if errno == ENOTSUP { return }
        }
    }

    /// The reason why a file cannot be written, with the remedy.
    func error(_ failure: SystemError?, path file: String) -> ProgramError {
        let folder = LogText.escaped(path)
        let shown = LogText.escaped("\(path)/\(file)")
        let sentence =
            switch failure?.code {
            case ENOSPC, EDQUOT:
                "the disk of \(folder) is full; make room and run the same command, which goes on from here."
            case EFBIG:
                "\(shown) is larger than files may be there; raise that limit (`ulimit -f`) or name another folder."
            case EISDIR, ENOTEMPTY, EEXIST: "\(shown) is a folder; move it away or name another folder."
            default: "\(shown) cannot be written: \(failure?.text ?? "no reason given"); name another folder."
            }
        return ProgramError(.cannotCreate, sentence)
    }
}

// MARK: - Exported file

/// A file that is being written under a temporary name.
///
/// ## Concurrency
///
/// Used by one thread.
final class ExportedFile {
    let path: String
    private let file: OpenFile
    /// The reason why writing failed; nil without a failure.
    private(set) var failure: SystemError?
    private let temporaries: TemporaryFiles
    private var isRenamed = false

    init(path: String, _ file: OpenFile, temporaries: TemporaryFiles) {
        self.path = path
        self.file = file
        self.temporaries = temporaries
    }

    var descriptor: Int32 { file.descriptor }

    /// Appends bytes; returns false on failure.
    func write(_ bytes: [UInt8]) -> Bool {
        guard !Files.write(bytes, to: descriptor) else { return true }
        failure = SystemError.last()
        return false
    }

    /// Renames the file to its final path.
    func rename(to final: String) throws(SystemError) {
        // Renamed while locked, so that another process cannot take the name for its own.
        guard unsafe Glibc.rename(path, final) == 0 else { throw .last() }
        temporaries.forget(path)
        isRenamed = true
    }

    /// Removes the file; harmless after `rename`.
    func discard() {
        if !isRenamed { temporaries.remove(path) }
    }
}

// MARK: - Sidecar

/// The JSON file beside an exported picture: it holds the picture's attributes, so that no further request is needed.
extension ExportFolder {
    /// The suffix of the picture's whole name, so that `001-A.jpg` and `001-A.png` do not share a sidecar.
    private static let sidecarSuffix = ".json"

    /// The text of a picture's sidecar.
    ///
    /// - Parameters:
    ///   - path: The picture's path below the mount's root; the path of a day provides mode and date.
    ///   - attribute: Returns the value of an extended attribute.
    /// - Returns: Nil for a file that is no picture of a listing.
    static func sidecar(of path: String, attribute: (String) -> String?) -> String? {
        guard let work = number(attribute("user.rankfs.work")) else { return nil }
        var ranking: (mode: RankingMode, day: Day)?
        if case .entry(.day(let mode, let day), _) = TreePath(path) { ranking = (mode, day) }
        let author = JSON.members([
            ("id", number(attribute("user.rankfs.user"))),
            ("name", attribute("user.dublincore.creator").map { .string($0) }),
        ])
        let tags = attribute("user.xdg.tags").map { list in
            JSON.array(list.unicodeScalars.split(separator: ",").map { .string(String($0)) })
        }
        let numbers = ["rank", "previous_rank", "width", "height", "views", "ratings"].map { name in
            (name: name, value: number(attribute("user.rankfs.\(name)")))
        }
        let members: [(name: String, value: JSON?)] =
            [
                ("url", attribute("user.xdg.origin.url").map { .string($0) }),
                ("work", work),
                ("page", number(attribute("user.rankfs.page"))),
                ("type", attribute("user.rankfs.type").map { .string($0) }),
                ("title", attribute("user.dublincore.title").map { .string($0) }),
                ("author", author),
                ("tags", tags),
            ] + numbers + [
                ("series", number(attribute("user.rankfs.series"))),
                ("posted", attribute("user.rankfs.posted").map { .string($0) }),
                ("mode", ranking.map { .string($0.mode.rawValue) }),
                ("date", ranking.map { .string($0.day.description) }),
            ]
        return JSON.members(members).document
    }

    private static func number(_ text: String?) -> JSON? {
        text.flatMap { Int64($0) }.map { .integer($0) }
    }
}

// MARK: - Temporary files

/// The unfinished files of this process, recorded so that a Ctrl-C leaves none.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the set; a file is opened under it, so that none appears after all were removed.
final class TemporaryFiles: Sendable {
    /// Nil after all files were removed.
    private let paths = Mutex<Set<String>?>([])

    /// Opens a file for writing, with these permissions at most, and records it; nil if the process is stopping.
    ///
    /// - Returns: An empty file, locked against other processes.
    /// - Throws: EBUSY if another process is writing the file.
    func open(_ path: String, permissions: mode_t) throws(SystemError) -> OpenFile? {
        try paths.withLock { paths throws(SystemError) in
            guard paths != nil else { return nil }
            let file = try Self.openLocked(path, permissions)
            paths?.insert(path)
            return file
        }
    }

    /// Removes a renamed file from the record.
    func forget(_ path: String) {
        paths.withLock { _ = $0?.remove(path) }
    }

    /// Removes a file.
    func remove(_ path: String) {
        unsafe _ = unlink(path)
        forget(path)
    }

    /// Removes all files; none can be opened afterwards.
    func removeAll() {
        let left = paths.withLock { paths in
            defer { paths = nil }
            return paths ?? []
        }
        for path in left { unsafe _ = unlink(path) }
    }

    private static func openLocked(_ path: String, _ permissions: mode_t) throws(SystemError) -> OpenFile {
        // A second try for a file that its writer renamed between open and lock.
        for _ in 0..<2 {
            let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, permissions)
            guard descriptor >= 0 else { throw .last() }
            let file = OpenFile(owning: descriptor)
            // A file system that has no locks is written without them (flock(2)).
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
                throw SystemError(code: EBUSY)
            }
            guard let opened = fileStatus(open: descriptor), let named = fileStatus(link: path),
                opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
            else { continue }
            guard ftruncate(descriptor, 0) == 0 else { throw .last() }
            return file
        }
        throw SystemError(code: EBUSY)
    }
}
