import CLinux
import Fuse
import Glibc
import Rankings
import System

/// Whether a folder can be mounted on: the facts, and the decision as a pure function of them.
struct MountPoint: Hashable, Sendable {
    /// The result of examining a folder.
    enum Look: Hashable, Sendable {
        case directory(isEmpty: Bool)
        case missing
        case notADirectory
        /// The errno of an examination that failed in another way; ENOTCONN stands for a mount without a living process.
        case failed(Int32)
        /// No answer in time.
        case silent
    }

    /// The action that follows.
    enum Decision: Hashable, Sendable {
        case mount
        /// Detach the dead mount on top, then examine the folder again.
        case recover
        case refuse(String)
    }

    /// Decides from the mounts on exactly this path (top last) and the result of examining it.
    static func decide(path: String, mounts: [MountTable.Mount], look: Look) -> Decision {
        let unmount = "`rankfs unmount \(LogText.word(path))`"
        let shown = LogText.escaped(path)
        let isMounted = mounts.last?.isOwn == true
        if isMounted, [.failed(ENOTCONN), .failed(ECONNABORTED)].contains(look) { return .recover }
        if !isMounted, look == .directory(isEmpty: true) { return .mount }
        let reason =
            switch look {
            case .silent where isMounted:
                "is busy: a mount there does not answer; end its process or run \(unmount)"
            // The kernel does not let other users see whether the mount is alive.
            case .failed(EACCES) where isMounted:
                "is a mount of another user's; name another folder, or have them unmount it"
            case _ where isMounted: "is already mounted; unmount it first with \(unmount)"
            case .directory: "is not empty; what is in it would be hidden, so name an empty folder"
            case .missing: "does not exist; make the folder first with `mkdir -p`"
            case .notADirectory: "is not a folder; name an empty folder"
            case .failed(let code):
                "cannot be used as a mount point: \(SystemError(code: code).text); name another folder"
            case .silent: "does not answer; unmount what is there or name another folder"
            }
        return .refuse("\(shown) \(reason).")
    }

    /// A folder that is ready for mounting: its canonical path, and the lock that keeps other processes from it until then.
    typealias Prepared = (path: String, lock: OpenFile?)

    /// Makes the folder ready for mounting.
    ///
    /// Blocks for up to `patience`; must not be called from a task.
    static func prepare(_ path: String, patience: Duration, log: (String) -> Void) throws(ProgramError) -> Prepared {
        guard let canonical = Self.canonical(try LocalFiles.absolute(path)) else {
            let reason =
                fileStatus(at: path) == nil
                ? "does not exist; make the folder first with `mkdir -p`"
                : "is in a folder whose name is not UTF-8; name another one"
            throw .mountFailure("\(LogText.escaped(path)) \(reason).")
        }
        var lock: OpenFile?
        // Each round removes one dead mount; stacks of dead mounts are rare.
        for _ in 0..<8 {
            let mounts = MountTable.current().stack(at: canonical)
            switch decide(
                path: canonical, mounts: mounts, look: look(at: canonical, mounts: mounts, patience: patience))
            {
            // Looked at once more with the lock. An automounter's folder cannot be opened before there is a mount.
            case .mount where lock == nil && mounts.last?.type != "autofs":
                let folder = OpenFile(owning: Descriptors.own.open(canonical, O_RDONLY | O_DIRECTORY))
                guard flock(folder.descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
                    throw .mountFailure(
                        "\(LogText.escaped(canonical)) is being mounted by another rankfs; name another folder.")
                }
                lock = folder
            case .mount: return (canonical, lock)
            case .refuse(let sentence): throw .mountFailure(sentence)
            case .recover:
                log("cleared a mount on \(LogText.escaped(canonical)) whose process had died")
                try MountTable.detach(canonical)
            }
        }
        throw .mountFailure("\(LogText.escaped(canonical)) holds dead mounts; run `umount -l` on it.")
    }

    /// Makes a folder that does not exist, if its parent belongs to the user.
    ///
    /// - Returns: The canonical path of the new folder; nil if none was made: the mount then reports the reason.
    static func make(_ path: String) -> String? {
        guard let canonical = LocalFiles.canonicalParent(of: path), fileStatus(link: canonical) == nil, errno == ENOENT,
            let parent = LocalFiles.parent(of: canonical), let status = fileStatus(at: parent),
            status.st_uid == geteuid(),
            unsafe mkdir(canonical, 0o700) == 0
        else { return nil }
        return canonical
    }

    /// The canonical path of a folder that may be a mount that does not answer; nil if its parent does not exist, or it is not UTF-8.
    static func canonical(_ path: String) -> String? {
        guard let path = LocalFiles.canonicalParent(of: path) else { return nil }
        do throws(SystemError) { return try LocalFiles.resolved(path) } catch {
            return error.code == EILSEQ ? nil : path
        }
    }

    /// Examines a folder and waits at most `patience` for the file system that is mounted there.
    static func look(at path: String, mounts: [MountTable.Mount], patience: Duration) -> Look {
        // Listing a folder of systemd's automount would wait for the very mount that is being made.
        let listing = mounts.last?.type != "autofs"
        // The attributes of a dead mount's root may be cached, so stat(2) alone can succeed; statfs(2) always reaches the mount.
        let asksMount = mounts.last?.isOwn == true
        return BlockingCall.run(within: patience) {
            do throws(SystemError) {
                if asksMount {
                    var statistics = statvfs()
                    guard unsafe statvfs(path, &statistics) == 0 else { throw .last() }
                }
                guard let status = fileStatus(at: path) else { throw .last() }
                guard status.st_mode.isDirectory else { return .notADirectory }
                return .directory(isEmpty: listing ? try LocalFiles.names(in: path).isEmpty : true)
            } catch {
                return error.code == ENOENT ? .missing : error.code == ENOTDIR ? .notADirectory : .failed(error.code)
            }
        } ?? .silent
    }

    // MARK: - Remount

    /// The time limit for reading the command lines of all processes.
    private static let processPatience: Duration = .seconds(2)

    /// Remounts: succeeds if the folder is a mount of rankfs that has all requested options.
    ///
    /// A mount keeps the options that it was made with.
    /// Reads only tables of the kernel: the mount is not asked.
    static func remount(_ request: MountRequest) throws(ProgramError) {
        let path = MountPoint.canonical(request.mountPoint) ?? request.mountPoint
        let served = BlockingCall.run(within: processPatience) { options(servedAt: [path, request.mountPoint]) } ?? nil
        let mount = MountTable.current().stack(at: path).last
        if let refusal = refusalOfRemount(path: path, mount: mount, request.options, served: served ?? MountOptions()) {
            throw .mountFailure(refusal)
        }
    }

    /// The options on the command line of the process that serves a mount; nil if there is none to be seen.
    private static func options(servedAt names: Set<String>) -> MountOptions? {
        for process in (try? LocalFiles.names(in: "/proc")) ?? [] where process.utf8.allSatisfy(\.isDigit) {
            guard let line = try? Files.read("/proc/\(process)/cmdline", upTo: 64 << 10) else { continue }
            let words = line.split(separator: 0, omittingEmptySubsequences: false).dropLast()
                .map { String(decoding: $0, as: UTF8.self) }
            if let options = options(of: words, servedAt: names) { return options }
        }
        return nil
    }

    /// The options on a command line, in whatever order it is written; nil if it makes no mount at one of these paths.
    static func options(of words: [String], servedAt names: Set<String>) -> MountOptions? {
        guard words.first?.hasSuffix("rankfs") == true, words.dropFirst().first == "mount",
            let request = try? Command.mount.parse(words.dropFirst(2)).request, names.contains(request.mountPoint),
            !request.options.remounts
        else { return nil }
        return request.options
    }

    /// Decides whether a remount is refused.
    ///
    /// - Parameters:
    ///   - path: The mount point, for the text.
    ///   - mount: The visible mount on that path; nil if there is none.
    ///   - options: The options of mount(8): those of the line in fstab or of the kernel's table, then the requested ones.
    ///   - served: The options that the mount was made with.
    /// - Returns: The reason of the refusal; nil if there is nothing to change.
    static func refusalOfRemount(
        path: String, mount: MountTable.Mount?, _ options: MountOptions, served: MountOptions
    ) -> String? {
        let shown = LogText.escaped(path)
        guard let mount, mount.isOwn else {
            return "\(shown) is not a mount of rankfs, which could be mounted anew; leave remount out."
        }
        let isSame =
            options.values.allSatisfy { served.values[$0] == $1 } && [nil, served.user].contains(options.user)
            && [nil, served.group].contains(options.group) && [0, served.mask].contains(options.mask)
            && [nil, served.account].contains(options.account)
            && options.passedOn.allSatisfy(mount.superOptions.contains)
        return isSame
            ? nil
            : "\(shown) keeps the options that it was mounted with; unmount it and mount it again to change them."
    }
}
