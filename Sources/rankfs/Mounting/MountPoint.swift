import CLinux
import Fuse
import Glibc
import Posix

/// Whether a folder can be mounted on: the facts, and the pure decision over them.
struct MountPoint: Hashable, Sendable {
    /// What a look at the folder found.
    enum Look: Hashable, Sendable {
        case directory(isEmpty: Bool)
        case missing
        case notADirectory
        /// The errno of a look that failed otherwise; ENOTCONN is a mount whose process has died.
        case failed(Int32)
        /// No answer in time.
        case silent
    }

    /// What to do about it.
    enum Decision: Hashable, Sendable {
        case mount
        /// Detach the dead mount on top, then look again.
        case recover
        case refuse(String)
    }

    /// Decides from the mounts on exactly this path (top last) and a look at it.
    static func decide(path: String, mounts: [MountTable.Mount], look: Look) -> Decision {
        let shown = LogText.escaped(path)
        if let top = mounts.last, top.isOwn {
            switch look {
            case .failed(ENOTCONN), .failed(ECONNABORTED): return .recover
            case .silent:
                return .refuse(
                    "\(shown) is busy: a mount there does not answer; end its process or run `rankfs unmount \(shown)`."
                )
            // The kernel lets nobody else see whether it is alive.
            case .failed(EACCES):
                return .refuse("\(shown) is a mount of another user's; name another folder, or have them unmount it.")
            default: return .refuse("\(shown) is already mounted; unmount it first with `rankfs unmount \(shown)`.")
            }
        }
        switch look {
        case .directory(isEmpty: true): return .mount
        case .directory(isEmpty: false):
            return .refuse("\(shown) is not empty; what is in it would be hidden, so name an empty folder.")
        case .missing: return .refuse("\(shown) does not exist; make the folder first with `mkdir -p`.")
        case .notADirectory: return .refuse("\(shown) is not a folder; name an empty folder.")
        case .failed(let code):
            return .refuse(
                "\(shown) cannot be used as a mount point: \(LocalFiles.Failure(code: code).text); name another folder."
            )
        case .silent: return .refuse("\(shown) does not answer; unmount what is there or name another folder.")
        }
    }

    /// Makes the folder ready for mounting and returns its canonical path.
    ///
    /// Blocks for up to `patience`; not for tasks.
    static func prepare(_ path: String, patience: Duration, log: (String) -> Void) throws(ProgramError) -> String {
        guard let canonical = Self.canonical(path) else {
            throw ProgramError(
                .mountFailure, "\(LogText.escaped(path)) does not exist; make the folder first with `mkdir -p`.")
        }
        // Each round removes one dead mount; stacks of them are rare.
        for _ in 0..<8 {
            let mounts = MountTable.current().stack(at: canonical)
            switch decide(
                path: canonical, mounts: mounts, look: look(at: canonical, mounts: mounts, patience: patience))
            {
            case .mount: return canonical
            case .refuse(let sentence): throw ProgramError(.mountFailure, sentence)
            case .recover:
                log("cleared a mount on \(LogText.escaped(canonical)) whose process had died")
                try Unmounter.detach(canonical)
            }
        }
        throw ProgramError(.mountFailure, "\(LogText.escaped(canonical)) holds dead mounts; run `umount -l` on it.")
    }

    /// Makes a folder that does not exist, where the one that it is to be in is the user's own.
    ///
    /// - Returns: The canonical path of what was made; nil if nothing was, which the mount then says.
    static func make(_ path: String) -> String? {
        var status = stat()
        guard let canonical = LocalFiles.canonicalParent(of: path), unsafe lstat(canonical, &status) != 0,
            errno == ENOENT,
            let parent = LocalFiles.parent(of: canonical), unsafe stat(parent, &status) == 0,
            status.st_uid == geteuid(),
            unsafe mkdir(canonical, 0o700) == 0
        else { return nil }
        return canonical
    }

    /// The canonical path of a folder that may be a mount that does not answer; nil if its parent does not exist.
    static func canonical(_ path: String) -> String? {
        LocalFiles.canonicalParent(of: path).map { LocalFiles.canonical($0) ?? $0 }
    }

    /// Looks at a folder without waiting longer than `patience` for whatever is mounted there.
    static func look(at path: String, mounts: [MountTable.Mount], patience: Duration) -> Look {
        // Listing a folder of systemd's automount would wait for the very mount that is being made.
        let listing = mounts.last?.type != "autofs"
        // The attributes of a dead mount's root may be cached, so stat(2) alone can succeed; statfs(2) always asks.
        let asksMount = mounts.last?.isOwn == true
        return BlockingCall.run(within: patience) {
            do throws(LocalFiles.Failure) {
                if asksMount {
                    var statistics = statvfs()
                    guard unsafe statvfs(path, &statistics) == 0 else { throw .last() }
                }
                guard try LocalFiles.isDirectory(path) else { return .notADirectory }
                return .directory(isEmpty: listing ? try LocalFiles.isEmptyDirectory(path) : true)
            } catch {
                return error.code == ENOENT ? .missing : error.code == ENOTDIR ? .notADirectory : .failed(error.code)
            }
        } ?? .silent
    }
}

// MARK: - Remount

/// `mount -o remount`: a mount keeps the options that it was made with, so this either changes nothing or is refused.
enum Remount {
    /// Succeeds if the folder is a mount of rankfs and nothing is asked for that it does not have.
    ///
    /// Reads the kernel's table only and never waits.
    static func check(_ request: MountRequest) throws(ProgramError) {
        let path = MountPoint.canonical(request.mountPoint) ?? request.mountPoint
        if let refusal = refusal(path: path, mount: MountTable.current().stack(at: path).last, request.options) {
            throw ProgramError(.mountFailure, refusal)
        }
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - path: For the text.
    ///   - mount: What is seen there.
    ///   - options: mount(8) sends those of the line in fstab or of the kernel's table, with what was asked for behind them.
    /// - Returns: Why nothing can be done; nil if nothing is to be done.
    static func refusal(path: String, mount: MountTable.Mount?, _ options: MountOptions) -> String? {
        let shown = LogText.escaped(path)
        guard let mount, mount.isOwn else {
            return "\(shown) is not a mount of rankfs, which could be mounted anew; leave remount out."
        }
        let isSame =
            options.assignments.isEmpty && options.user == nil && options.group == nil && options.mask == 0
            && options.account == nil && options.passedOn.allSatisfy(mount.superOptions.contains)
        return isSame
            ? nil
            : "\(shown) keeps the options that it was mounted with; unmount it and mount it again to change them."
    }
}
