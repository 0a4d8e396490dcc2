import CLinux
import Fuse
import Glibc
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
        let shown = LogText.escaped(path)
        if let top = mounts.last, top.isOwn {
            switch look {
            case .failed(ENOTCONN), .failed(ECONNABORTED): return .recover
            case .silent:
                return .refuse(
                    "\(shown) is busy: a mount there does not answer; end its process or run `rankfs unmount \(shown)`."
                )
            // The kernel does not let other users see whether the mount is alive.
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
                "\(shown) cannot be used as a mount point: \(SystemError(code: code).text); name another folder."
            )
        case .silent: return .refuse("\(shown) does not answer; unmount what is there or name another folder.")
        }
    }

    /// Makes the folder ready for mounting and returns its canonical path.
    ///
    /// Blocks for up to `patience`; must not be called from a task.
    static func prepare(_ path: String, patience: Duration, log: (String) -> Void) throws(ProgramError) -> String {
        guard let canonical = Self.canonical(path) else {
            throw ProgramError(
                .mountFailure, "\(LogText.escaped(path)) does not exist; make the folder first with `mkdir -p`.")
        }
        // Each round removes one dead mount; stacks of dead mounts are rare.
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

    /// Makes a folder that does not exist, if its parent belongs to the user.
    ///
    /// - Returns: The canonical path of the new folder; nil if none was made: the mount then reports the reason.
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
                guard try LocalFiles.isDirectory(path) else { return .notADirectory }
                return .directory(isEmpty: listing ? try LocalFiles.names(in: path).isEmpty : true)
            } catch {
                return error.code == ENOENT ? .missing : error.code == ENOTDIR ? .notADirectory : .failed(error.code)
            }
        } ?? .silent
    }
}

// MARK: - Remount

/// `mount -o remount`: a mount keeps the options that it was made with, so a remount changes nothing or is refused.
enum Remount {
    /// Succeeds if the folder is a mount of rankfs that already has all requested options.
    ///
    /// Reads only the kernel's mount table and never waits.
    static func check(_ request: MountRequest) throws(ProgramError) {
        let path = MountPoint.canonical(request.mountPoint) ?? request.mountPoint
        if let refusal = refusal(path: path, mount: MountTable.current().stack(at: path).last, request.options) {
            throw ProgramError(.mountFailure, refusal)
        }
    }

    /// Decides whether a remount is refused.
    ///
    /// - Parameters:
    ///   - path: The mount point, for the text.
    ///   - mount: The visible mount on that path; nil if there is none.
    ///   - options: The options of mount(8): those of the line in fstab or of the kernel's table, then the requested ones.
    /// - Returns: The reason of the refusal; nil if there is nothing to change.
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
