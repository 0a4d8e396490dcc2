import CLinux
import Fuse
import Glibc
import HTTP
import System

/// Removes mounts: with umount2(2) where that is allowed, otherwise with fusermount3(1).
extension MountTable {
    /// The attempts at a busy mount, and the microseconds between them: half a second in all.
    private static let (busyTries, busyPause): (Int, UInt32) = (6, 100_000)

    /// Detaches a mount at once, even a dead or busy one.
    static func detach(_ path: String) throws(ProgramError) {
        let bytes = Array(path.utf8)
        guard geteuid() == 0 ? detach(where: { $0.path == bytes }) : unmountLazily(path) else {
            let shown = LogText.escaped(path)
            throw .mountFailure("\(shown) cannot be unmounted; run `umount -l \(shown)` as root.")
        }
    }

    /// Whether a mount is still there although its session has ended and no process serves it.
    ///
    /// Its device number may by now be that of a new mount, which does have a process. Blocks for two seconds at most.
    static func hasLeft(_ session: Session, at path: String) -> Bool {
        guard session.isVisible else { return false }
        return BlockingCall.run(within: .seconds(2)) { isStale(path) } ?? false
    }

    /// The error for a mount that could not be removed at the end.
    static func leftBehind(_ path: String) -> ProgramError {
        let shown = LogText.escaped(path)
        return .mountFailure(
            "\(shown) could not be unmounted and is left without a process; run `fusermount3 -u \(shown)` to see why, or "
                + "`umount -l \(shown)` as root.")
    }

    /// The process that serves a mount; nil if the mount does not say so in time.
    ///
    /// A program of its own reads the status, because it can be ended: a mount that does not answer would be busy with the reader.
    static func server(of path: String) -> OpenFile? {
        let answer = try? ChildProcess.run(
            "/proc/self/exe", ["rankfs", "status", "--json", path], reading: STDOUT_FILENO,
            upTo: StatusDocument.longest, by: TimeSource.system.now() + .seconds(2))
        guard let document = answer.flatMap({ StatusDocument(json: $0.text) }) else { return nil }
        let process = pidfd_open(Int32(clamping: document.number("pid")), 0)
        return process < 0 ? nil : OpenFile(owning: process)
    }

    /// Waits for the end of the process that served a mount, which writes to its cache directory until then.
    ///
    /// Five seconds at most: it goes on as long as another mount namespace has a copy of the mount.
    static func waitForEnd(of server: OpenFile) {
        var end = pollfd(fd: server.descriptor, events: Int16(POLLIN), revents: 0)
        unsafe _ = poll(&end, 1, 5000)
    }

    /// Unmounts; a busy mount stays.
    static func unmount(_ path: String) throws(ProgramError) {
        var failure = SystemError(code: EBUSY)
        // Programs that look into every mount, as indexers do, have it open for moments.
        for attempt in 0..<busyTries where failure.code == EBUSY {
            if attempt > 0 { usleep(busyPause) }
            // Never follows a link that was put in place of the folder.
            if unsafe umount2(path, Int32(UMOUNT_NOFOLLOW)) == 0 { return }
            failure = SystemError.last()
        }
        let shown = LogText.escaped(path)
        switch failure.code {
        case EBUSY: throw refusal(shown, "busy")
        case EINVAL: throw .mountFailure("\(shown) is not mounted.")
        case EPERM where current().isOthers(path):
            throw .mountFailure("\(shown) is another user's mount; they or root can unmount it.")
        case EPERM: break
        default: throw .mountFailure("\(shown) cannot be unmounted: \(failure.text).")
        }
        guard let helper = helpers.first(where: { unsafe access($0, X_OK) == 0 }) else {
            throw .unavailable("\(shown) needs fusermount3 to be unmounted; install the package fuse3.")
        }
        let end: (status: Int32?, text: [UInt8])
        do throws(SystemError) {
            end = try ChildProcess.run(helper, ["fusermount3", "-u", "--", path])
        } catch {
            throw .mountFailure("fusermount3 cannot be started: \(error.text); try again.")
        }
        if end.status != 0 { throw refusal(shown, String(decoding: end.text, as: UTF8.self)) }
    }

    /// The error for a refused unmount.
    ///
    /// - Parameters:
    ///   - shown: The path, escaped for a sentence.
    ///   - said: The error text of fusermount3(1), which does not translate the system's texts.
    /// - Returns: An error that says "in use" only if the text does.
    static func refusal(_ shown: String, _ said: String) -> ProgramError {
        let line = said.split(separator: "\n").first.map(String.init) ?? ""
        guard !line.lowercased().contains("busy") else {
            return .mountFailure(
                "\(shown) is in use; close the programs that use it (`fuser -vm \(shown)` lists them) and unmount it again."
            )
        }
        let reason = line.isEmpty ? "it does not say why" : LogText.escaped(line)
        return .mountFailure(
            "fusermount3 does not unmount \(shown): \(reason); mend that, or run `umount` as root.")
    }
}

// MARK: - Root of a mount

/// A mount held by a descriptor of its root.
///
/// The owner of a folder on the way to a mount can put another mount under its path, but not under a descriptor. An open
/// descriptor makes the mount busy for umount(8) and automounters, so it is held only briefly.
extension OpenFile {
    /// Opens the root of a mount at its path in the mount table; nil if another mount or folder is there by now.
    ///
    /// Follows no link, sends no request to the file system of a mount, and triggers no automounter.
    static func root(of mount: MountTable.Mount) -> OpenFile? {
        let opened = unsafe rankfs_open_exactly(String(decoding: mount.path, as: UTF8.self))
        guard opened >= 0 else { return nil }
        let root = OpenFile(owning: opened)
        guard let found = root.mount, found.number == mount.number, found.device == mount.device else { return nil }
        return root
    }

    /// The mount as the kernel's table lists it; nil if it is attached nowhere.
    var mount: MountTable.Mount? {
        let name = "mnt_id:"
        guard let text = try? Files.read("/proc/self/fdinfo/\(descriptor)", upTo: 4096),
            let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first(where: { $0.hasPrefix(name) })
        else { return nil }
        let number = line.dropFirst(name.count).filter { !$0.isWhitespace }
        return MountTable.current().mounts.first { $0.number == number }
    }

    /// Detaches exactly this mount, as root; returns whether it was attached.
    func detach() -> Bool {
        // The link of proc(5) leads to the descriptor's file itself, not by a name.
        unsafe umount2("/proc/self/fd/\(descriptor)", Int32(MNT_DETACH)) == 0
    }
}

extension MountTable {
    /// Attempts to open a mount that moves meanwhile: a user that keeps renaming folders above it only keeps it where it is, dead.
    private static let attempts = 64

    /// Detaches the newest matching mount, wherever it is by now, and no other; as root.
    ///
    /// - Parameters:
    ///   - isMeant: Whether a mount of the table is the mount to detach.
    ///   - isConfirmed: A second check, made while the mount cannot go away, because mount numbers and devices are reused.
    /// - Returns: Whether the mount was detached.
    @discardableResult
    static func detach(
        where isMeant: (Mount) -> Bool, isConfirmed: () -> Bool = { true }
    ) -> Bool {
        for _ in 0..<attempts {
            guard let mount = current().mounts.last(where: isMeant) else { return false }
            guard let root = OpenFile.root(of: mount) else { continue }
            return isConfirmed() && root.detach()
        }
        return false
    }

    // MARK: - Own mounts

    /// The mounts on exactly this path, the visible one last.
    func stack(at path: String) -> [Mount] {
        let bytes = Array(path.utf8)
        return mounts.filter { $0.path == bytes }
    }

    /// The mount points of rankfs.
    var ownMountPoints: [String] {
        mounts.filter(\.isOwn).map { String(decoding: $0.path, as: UTF8.self) }
    }

    /// The mount points of a user's mounts of rankfs; without any, or `withOthers`, also those of other users that are open to all.
    func mountPoints(of user: UInt32, withOthers: Bool = false) -> [String] {
        let all = mounts.filter(\.isOwn)
        let own = all.filter { $0.belongs(to: user) }
        let open = all.filter { !$0.belongs(to: user) && $0.superOptions.contains("allow_other") }
        return (own + (own.isEmpty || withOthers ? open : [])).map { String(decoding: $0.path, as: UTF8.self) }
    }

    /// Whether a path is in another user's mount of rankfs, or is one.
    func isOthers(_ path: String, user: UInt32 = geteuid()) -> Bool {
        let place = LocalFiles.innermost(of: ownMountPoints, above: path)
        return place.flatMap { mount(at: $0.mount.utf8) }?.belongs(to: user) == false
    }
}

extension MountTable.Mount {
    /// Whether the mount is one of rankfs, by the type that `subtype=rankfs` gives.
    var isOwn: Bool { type == "fuse.rankfs" }

    /// Whether a user made the mount, or it was made for that user.
    func belongs(to user: UInt32) -> Bool { superOptions.contains("user_id=\(user)") }
}
