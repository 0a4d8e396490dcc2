import CLinux
import Fuse
import Glibc
import Posix

/// What a guard mounts, as its command line tells; and the guard's whole life.
struct GuardedMount: Hashable, Sendable {
    var source: SourceName
    /// As given.
    var mountPoint: String
    /// The user whom the folder must belong to, and who may look into the mount.
    var user: UInt32
    var group: UInt32
    /// The user's name, for error texts.
    var name: String
    var allowsOthers: Bool
    /// Bytes of one read; 0 for the kernel's bound.
    var longestRead: UInt32
    /// The device number of the mount, for the second guard, which the first one starts once it has mounted: the mount is taken
    /// away even if one of them was killed.
    var mounted: String?

    init(_ request: MountRequest, for account: Account) {
        source = request.source
        mountPoint = LocalFiles.absolute(request.mountPoint)
        user = account.user
        group = account.group
        name = account.name
        allowsOthers = request.options.admitsOthers
        let passedOn = request.options.passedOn
        longestRead = passedOn.compactMap { $0.hasPrefix("max_read=") ? UInt32($0.dropFirst(9)) : nil }.last ?? 0
    }

    /// The hidden command.
    static let command = "mount-guard"

    /// The guard's command line.
    var arguments: [String] {
        [
            "rankfs", Self.command, source.rawValue, mountPoint, "\(user)", "\(group)", name, allowsOthers ? "1" : "0",
            "\(longestRead)",
        ] + (mounted.map { [$0] } ?? [])
    }

    /// Takes the words behind the command's name back.
    init(words: [String]) throws(ProgramError) {
        guard words.count == 7 || words.count == 8, let source = SourceName(rawValue: words[0]),
            words[1].hasPrefix("/"),
            let user = UInt32(words[2]), let group = UInt32(words[3]), let longestRead = UInt32(words[6])
        else { throw ProgramError(.usage, "\(Self.command) is for rankfs itself; use `rankfs mount -o setuid=USER`.") }
        self.source = source
        mountPoint = words[1]
        self.user = user
        self.group = group
        name = words[4]
        allowsOthers = words[5] == "1"
        self.longestRead = longestRead
        mounted = words.count == 8 ? words[7] : nil
        let numbers = mounted?.split(separator: ":", omittingEmptySubsequences: false).map { UInt32($0) }
        guard numbers.map({ $0.count == 2 && !$0.contains(nil) }) ?? true else {
            throw ProgramError(.usage, "\(Self.command) is for rankfs itself; use `rankfs mount -o setuid=USER`.")
        }
    }

    // MARK: The guard

    /// Looks at the folder, mounts when told, and unmounts when nobody is left at the other end.
    func serve() {
        let connection = MountGuard.Inherited.connection
        Self.leaveCaller()
        guard mounted == nil else { return wait(connection) }
        let folder: Int32
        do throws(ProgramError) {
            guard let request = MountGuard.receive(on: connection) else { return }
            var remarks: [String] = []
            if request == Self.bytes(.clear), clear() { remarks.append("cleared a dead mount of \(name)'s") }
            let path = try MountPoint.prepare(mountPoint, patience: MountGuard.lookPatience) { remarks.append($0) }
            folder = try open(path)
            MountGuard.send(MountGuard.packet([path] + remarks), on: connection)
        } catch {
            return MountGuard.send(MountGuard.packet(failure: error.message), on: connection)
        }
        guard MountGuard.receive(on: connection) == Self.bytes(.mount) else { return }
        var waiting = self
        do throws(ProgramError) {
            waiting.mounted = try mount(on: folder)
        } catch {
            return MountGuard.send(MountGuard.packet(failure: error.message), on: connection)
        }
        // An automounter would not unmount a folder that is in use.
        close(folder)
        MountGuard.send(MountGuard.packet(), on: connection)
        // Not before mounting: automounters let only their own process group through to the folder.
        _ = setsid()
        if waiting.mounted != nil {
            let inherited = [connection, MountGuard.Inherited.device]
            _ = try? ChildProcess.start("/proc/self/exe", waiting.arguments, inheriting: inherited)
        }
        waiting.wait(connection)
    }

    /// Takes the mount away when nobody is left at the other end.
    private func wait(_ connection: Int32) {
        while MountGuard.receive(on: connection) != nil {}
        Self.detach(mounted)
    }

    private static func bytes(_ message: MountGuard.Message) -> [UInt8] { Array(message.rawValue.utf8) }

    /// Takes the mount on the folder away if it is a rankfs of this user's; users may do that to their mounts anyway.
    private func clear() -> Bool {
        guard let path = MountPoint.canonical(mountPoint) else { return false }
        let bytes = Array(path.utf8)
        return Unmounter.detach { $0.path == bytes && $0.isOwn && $0.superOptions.contains("user_id=\(user)") }
    }

    /// Ends by the socket alone: signals to the group of the serving process are for that one to obey.
    private static func leaveCaller() {
        closefrom(MountGuard.Inherited.device + 1)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1] { _ = signal(number, SIG_IGN) }
        unsafe _ = chdir("/")
        let null = unsafe Glibc.open("/dev/null", O_RDWR)
        if null >= 0 { dup2(null, 2) }
        if null > MountGuard.Inherited.device { close(null) }
    }

    /// AUTOFS_SUPER_MAGIC of linux/magic.h: folders that a system's automounter made to be mounted on.
    private static let autofs = 0x187

    /// The folder, so that what is mounted on is what was looked at.
    ///
    /// Who may write to a path could have put a link to another folder there, and what the user serves would cover that one.
    private func open(_ path: String) throws(ProgramError) -> Int32 {
        let shown = LogText.escaped(path)
        // Without O_DIRECTORY, which would make an automounter mount here.
        let folder = unsafe rankfs_open_path(path)
        var status = stat()
        guard folder >= 0, unsafe fstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
            LocalFiles.target(ofDescriptor: folder) == path
        else { throw ProgramError(.mountFailure, "\(shown) is not a folder any more; try again.") }
        let isAutomounters = rankfs_file_system_type(folder) == Self.autofs
        guard status.st_uid == user || isAutomounters else {
            throw ProgramError(
                .mountFailure,
                "\(shown) does not belong to \(LogText.escaped(name, limit: 80)), who is to serve it; run `chown "
                    + "\(LogText.escaped(name, limit: 80)) \(shown)` first.")
        }
        return folder
    }

    /// Mounts what `/dev/fuse` will be answered with, whatever the serving process has become meanwhile.
    ///
    /// - Returns: The device number of the mount, which is its own for as long as the connection lives.
    private func mount(on folder: Int32) throws(ProgramError) -> String? {
        let context = unsafe rankfs_mount_begin("fuse")
        defer { if context >= 0 { close(context) } }
        guard context >= 0, parameters.allSatisfy({ unsafe rankfs_mount_set(context, $0, $1) == 0 }) else {
            throw mountFailure
        }
        let attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC
        let root = rankfs_mount_make(context, UInt32(attributes))
        guard root >= 0 else { throw mountFailure }
        let mount = MountDescriptor(root)
        guard rankfs_mount_attach(root, folder) == 0 else { throw mountFailure }
        return mount.found?.device
    }

    /// The mount's parameters, flags without a value.
    private var parameters: [(name: String, value: String?)] {
        var parameters: [(String, String?)] = [
            ("source", source.rawValue), ("subtype", "rankfs"), ("fd", "\(MountGuard.Inherited.device)"),
            ("rootmode", "40000"), ("user_id", "\(user)"), ("group_id", "\(group)"), ("default_permissions", nil),
            ("ro", nil),
        ]
        if allowsOthers { parameters.append(("allow_other", nil)) }
        if longestRead > 0 { parameters.append(("max_read", "\(longestRead)")) }
        return parameters
    }

    private var mountFailure: ProgramError {
        ProgramError(
            .mountFailure,
            "mounting on \(LogText.escaped(mountPoint)) failed: \(LocalFiles.Failure.last().text); `dmesg` may tell more."
        )
    }

    /// Takes the mount away if it is still there, wherever that is: its user may have renamed or exchanged folders above it.
    private static func detach(_ mounted: String?) {
        let device = MountGuard.Inherited.device
        // Whoever still waits for an answer then gets an error.
        defer { close(device) }
        guard let mounted else { return }
        Unmounter.detach(
            where: { $0.isOwn && $0.device == mounted },
            // A connection that the kernel has closed has been unmounted, and its device number may be another's by now.
            isConfirmed: {
                var connection = pollfd(fd: device, events: 0, revents: 0)
                return unsafe poll(&connection, 1, 0) == 0 || connection.revents & Int16(POLLERR) == 0
            })
    }
}
