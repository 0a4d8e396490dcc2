import CLinux
import Fuse
import Glibc
import System

/// The serving process's side of a mount that a guard, which is still root, makes and removes for it.
///
/// The serving process gives up root's rights before it opens any file of the user or connection to the network, and so could
/// neither mount nor unmount. The guard is a separate process that receives the mount's description before that. It mounts once
/// on request, waits until the socket is closed, however the serving process ends, and then unmounts.
///
/// ## Concurrency
///
/// Used by the main thread.
struct MountGuard: Sendable {
    /// The descriptor of `/dev/fuse`, which the session closes.
    let device: Int32
    private let channel: Channel
    private let mount: GuardedMount

    /// The guard's end of the channel.
    static let inherited = Channel(3)
    /// The guard's descriptor of `/dev/fuse`.
    static let inheritedDevice: Int32 = 4

    /// The requests of the serving process, in this order.
    enum Message: String {
        /// Check the folder.
        case look
        /// Remove the user's own dead mount there, then check the folder.
        case clear
        case mount
    }

    /// Bytes; longer than any path and sentence.
    static let longestMessage = 32 << 10
    /// The time limit of one check of the folder.
    static let lookPatience: Duration = .seconds(5)

    /// Starts the guard, which then waits; requires root and a single thread.
    static func start(_ request: MountRequest, for account: Account) throws(ProgramError) -> MountGuard {
        let device = unsafe open("/dev/fuse", O_RDWR | O_CLOEXEC)
        guard device >= 0 else {
            throw .system(
                "/dev/fuse cannot be opened: \(SystemError.last().text); load the kernel module with `modprobe fuse`.")
        }
        let mount = try GuardedMount(request, for: account)
        let started = try Channel.start(
            "/proc/self/exe", mount.arguments, inheriting: [device], called: "the mounting process")
        return MountGuard(device: device, channel: started.channel, mount: mount)
    }

    /// Has the guard check the folder, and returns its canonical path.
    ///
    /// Runs as the user, because the kernel shows only to that user that the mount is dead. Blocks for up to 10 s; must not be
    /// called from a task.
    func prepare(log: (String) -> Void) throws(ProgramError) -> String {
        ask(MountPoint.canonical(mount.mountPoint).map(hasDied) == true ? .clear : .look)
        let answer = try answer()
        for remark in answer.dropFirst() { log(remark) }
        return answer.first ?? ""
    }

    private func hasDied(_ path: String) -> Bool {
        let mounts = MountTable.current().stack(at: path)
        guard mounts.last?.isOwn == true else { return false }
        let look = MountPoint.look(at: path, mounts: mounts, patience: Self.lookPatience)
        return MountPoint.decide(path: path, mounts: mounts, look: look) == .recover
    }

    /// Has the guard mount.
    func makeMount() throws(ProgramError) {
        ask(.mount)
        _ = try answer()
    }

    /// Has the guard unmount; the end of this process does the same.
    func release() {
        channel.close()
    }

    // MARK: Messages

    /// A packet of texts, each followed by a NUL; the first is empty, or the sentence of a failure.
    static func packet(failure: String = "", _ texts: [String] = []) -> [UInt8] {
        ([failure] + texts).flatMap { Array($0.utf8) + [0] }
    }

    private func ask(_ message: Message) {
        try? channel.send(Array(message.rawValue.utf8))
    }

    private func answer() throws(ProgramError) -> [String] {
        guard let message = try? channel.receive(upTo: Self.longestMessage) else {
            throw .system("the mounting process has ended; try again, and look into `dmesg`.")
        }
        var texts = message.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        texts.removeLast()
        guard let failure = texts.first, failure.isEmpty else { throw .mountFailure(texts.first ?? "") }
        return Array(texts.dropFirst())
    }
}

// MARK: - The guard

extension Command {
    /// The guard's main function, for rankfs itself.
    static let mountGuard = Command(
        name: GuardedMount.command, takesAnyWords: true,
        check: { arguments throws(ProgramError) in _ = try GuardedMount(words: arguments.positions) },
        run: { arguments throws(ProgramError) in try GuardedMount(words: arguments.positions).run() })
}

/// The mount that a guard makes, as its command line describes it.
struct GuardedMount: Hashable, Sendable {
    var source: SourceName
    /// The path as the user gave it, made absolute.
    var mountPoint: String
    /// The user that must own the folder and has access to the mount.
    var user: UInt32
    var group: UInt32
    /// The user's name, for error texts.
    var name: String
    var allowsOthers: Bool
    /// The largest read, in bytes; 0 for the kernel's bound.
    var longestRead: UInt32
    /// The device number of the mount, for the second guard.
    ///
    /// The first guard starts the second one once it has mounted, so that the mount is removed even if one of them was killed.
    var mounted: String?

    init(_ request: MountRequest, for account: Account) throws(ProgramError) {
        source = request.source
        mountPoint = try LocalFiles.absolute(request.mountPoint)
        user = account.user
        group = account.group
        name = account.name
        allowsOthers = request.options.admitsOthers
        longestRead = SessionConfiguration.longestRead(in: request.options.passedOn)
    }

    /// The name of the hidden command.
    static let command = "mount-guard"

    /// The guard's command line.
    var arguments: [String] {
        [
            "rankfs", Self.command, source.rawValue, mountPoint, "\(user)", "\(group)", name, allowsOthers ? "1" : "0",
            "\(longestRead)",
        ] + (mounted.map { [$0] } ?? [])
    }

    /// Parses the words that follow the command's name.
    init(words: [String]) throws(ProgramError) {
        let device = words.count == 8 ? words[7] : nil
        let numbers = device?.split(separator: ":", omittingEmptySubsequences: false).map { UInt32($0) }
        guard words.count == 7 || words.count == 8, let source = SourceName(rawValue: words[0]),
            words[1].hasPrefix("/"),
            let user = UInt32(words[2]), let group = UInt32(words[3]), let longestRead = UInt32(words[6]),
            numbers.map({ $0.count == 2 && !$0.contains(nil) }) ?? true
        else { throw .usage("\(Self.command) is for rankfs itself; use `rankfs mount -o setuid=USER`.") }
        self.source = source
        mountPoint = words[1]
        self.user = user
        self.group = group
        name = words[4]
        allowsOthers = words[5] == "1"
        self.longestRead = longestRead
        mounted = device
    }

    // MARK: Its work

    /// Checks the folder, mounts on request, and unmounts when the other end of the socket is closed.
    func run() {
        Self.leaveCaller()
        guard mounted == nil else { return wait() }
        let folder: Int32
        var prepared: MountPoint.Prepared
        do throws(ProgramError) {
            guard let request = receive() else { return }
            var remarks: [String] = []
            if request == .clear, clear() { remarks.append("cleared a dead mount of \(name)'s") }
            prepared = try MountPoint.prepare(mountPoint, patience: MountGuard.lookPatience) { remarks.append($0) }
            folder = try open(prepared.path)
            answer([prepared.path] + remarks)
        } catch {
            return answer(failure: error.message)
        }
        guard receive() == .mount else { return }
        var waiting = self
        do throws(ProgramError) {
            waiting.mounted = try mount(on: folder)
        } catch {
            return answer(failure: error.message)
        }
        // An automounter would not unmount a folder that is in use.
        close(folder)
        prepared.lock = nil
        answer()
        // Not before mounting: automounters let only their own process group through to the folder.
        _ = setsid()
        if waiting.mounted != nil {
            let inherited = [MountGuard.inherited.descriptor, MountGuard.inheritedDevice]
            _ = try? ChildProcess.start("/proc/self/exe", waiting.arguments, inheriting: inherited)
        }
        waiting.wait()
    }

    /// The next request; nil when the other end of the socket is closed.
    private func receive() -> MountGuard.Message? {
        (try? MountGuard.inherited.receive(upTo: MountGuard.longestMessage))
            .flatMap { MountGuard.Message(rawValue: String(decoding: $0, as: UTF8.self)) }
    }

    private func answer(failure: String = "", _ texts: [String] = []) {
        try? MountGuard.inherited.send(MountGuard.packet(failure: failure, texts))
    }

    /// Removes the mount when the other end of the socket is closed.
    private func wait() {
        while receive() != nil {}
        Self.detach(mounted)
    }

    /// Removes a rankfs mount of this user from the folder; users may do that to their own mounts anyway.
    private func clear() -> Bool {
        guard let path = MountPoint.canonical(mountPoint) else { return false }
        let bytes = Array(path.utf8)
        return MountTable.detach { $0.path == bytes && $0.isOwn && $0.superOptions.contains("user_id=\(user)") }
    }

    /// Makes the guard end by the socket alone: signals to the serving process's group are meant for that process.
    private static func leaveCaller() {
        closefrom(MountGuard.inheritedDevice + 1)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1] { _ = signal(number, SIG_IGN) }
        unsafe _ = chdir("/")
        let null = unsafe Glibc.open("/dev/null", O_RDWR)
        if null >= 0 { dup2(null, 2) }
        if null > MountGuard.inheritedDevice { close(null) }
    }

    /// AUTOFS_SUPER_MAGIC of linux/magic.h: a folder that the system's automounter made as a mount point.
    private static let autofs = 0x187

    /// Opens the folder, so that the checked folder is the one that is mounted on.
    ///
    /// A user with write access to the path could have put a link to another folder there, and the user's mount would cover that
    /// folder.
    private func open(_ path: String) throws(ProgramError) -> Int32 {
        let shown = LogText.escaped(path)
        // Without O_DIRECTORY, which would make an automounter mount here.
        let folder = unsafe rankfs_open_path(path)
        guard folder >= 0, let status = fileStatus(open: folder), status.st_mode.isDirectory,
            LocalFiles.link("/proc/self/fd/\(folder)") == path
        else { throw .mountFailure("\(shown) is not a folder any more; try again.") }
        let isAutomounters = rankfs_file_system_type(folder) == Self.autofs
        guard status.st_uid == user || isAutomounters else {
            throw .mountFailure(
                "\(shown) does not belong to \(LogText.escaped(name, limit: 80)), who is to serve it; run `chown "
                    + "\(LogText.escaped(name, limit: 80)) \(shown)` first.")
        }
        return folder
    }

    /// Mounts on the folder, with `/dev/fuse` as the connection, however the serving process has changed meanwhile.
    ///
    /// - Returns: The device number of the mount, which no other mount has as long as the connection lives.
    private func mount(on folder: Int32) throws(ProgramError) -> String? {
        let context = unsafe fsopen("fuse", UInt32(FSOPEN_CLOEXEC))
        defer { if context >= 0 { close(context) } }
        func tell(_ command: fsconfig_command, _ name: String?, _ value: String?) -> Bool {
            unsafe fsconfig(context, command.rawValue, name, value, 0) == 0
        }
        guard context >= 0,
            parameters.allSatisfy({ tell($1 == nil ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING, $0, $1) }),
            tell(FSCONFIG_CMD_CREATE, nil, nil)
        else { throw mountFailure }
        let attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC
        let root = fsmount(context, UInt32(FSMOUNT_CLOEXEC), UInt32(attributes))
        guard root >= 0 else { throw mountFailure }
        let mount = OpenFile(owning: root)
        let flags = UInt32(MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH)
        guard unsafe move_mount(root, "", folder, "", flags) == 0 else { throw mountFailure }
        return mount.mount?.device
    }

    /// The mount's parameters; a flag has no value.
    private var parameters: [(name: String, value: String?)] {
        var parameters: [(String, String?)] = [
            ("source", source.rawValue), ("subtype", "rankfs"), ("fd", "\(MountGuard.inheritedDevice)"),
            ("rootmode", "40000"), ("user_id", "\(user)"), ("group_id", "\(group)"), ("default_permissions", nil),
            ("ro", nil),
        ]
        if allowsOthers { parameters.append(("allow_other", nil)) }
        if longestRead > 0 { parameters.append(("max_read", "\(longestRead)")) }
        return parameters
    }

    private var mountFailure: ProgramError {
        .mountFailure(
            "mounting on \(LogText.escaped(mountPoint)) failed: \(SystemError.last().text); `dmesg` may tell more."
        )
    }

    /// Removes the mount if it still exists, wherever it is: its user may have renamed or exchanged folders above it.
    private static func detach(_ mounted: String?) {
        let device = MountGuard.inheritedDevice
        // Readers that still wait for an answer then get an error.
        defer { close(device) }
        guard let mounted else { return }
        MountTable.detach(
            where: { $0.isOwn && $0.device == mounted },
            // A connection that the kernel has closed is unmounted already, and its device number may be another mount's by now.
            isConfirmed: {
                var connection = pollfd(fd: device, events: 0, revents: 0)
                return unsafe poll(&connection, 1, 0) == 0 || connection.revents & Int16(POLLERR) == 0
            })
    }
}
