import CLinux
import Glibc
import HTTP
import System

/// Turns a request into a mount: in this process or a new one, as this user or another.
extension MountRequest {
    /// Mounts on a folder that need not exist; with mount(8) and its helpers, the administrator makes the folder.
    func makeAndMount() throws(ProgramError) {
        // Another user's folder is made by that user; for a background process, its starter has already made the folder.
        let makes =
            !options.remounts && options.account == nil && readyDescriptor == nil
        let made = makes ? MountPoint.make(mountPoint) : nil
        do throws(ProgramError) { try mount() } catch {
            if let made { unsafe _ = rmdir(made) }
            throw error
        }
    }

    /// Mounts on a folder that exists, as mount(8) requests it.
    func mount() throws(ProgramError) {
        if options.remounts { return try MountPoint.remount(self) }
        let account = try account()
        guard foreground else {
            // Option mistakes of a background mount are found here too, before a process is started; only a process of another user
            // reads that user's own configuration.
            if account == nil { _ = try SettingsLoader.load(self) }
            return try start(as: account)
        }
        var guardian: MountGuard?
        if let account {
            if readyDescriptor == nil { Self.closeInherited(above: 2) }
            guardian = try MountGuard.start(self, for: account)
            try account.become()
        }
        let (settings, warnings, home) = try SettingsLoader.load(self)
        try MountService(request: self, settings: settings, warnings: warnings, home: home, guardian: guardian).run()
    }

    /// The user to become before anything is read; nil if this process already runs as that user.
    func account() throws(ProgramError) -> Account? {
        try Account.change(to: options.account, from: geteuid(), find: Account.find)
    }

    // MARK: - In a new process

    /// The message of the serving process on the ready descriptor once it has mounted.
    static let readyMessage = Array("ready".utf8)

    /// Opening a large cache takes seconds on a slow disk, and waiting for an older daemon's lock takes 6 s.
    private static let startPatience: Duration = .seconds(60)
    /// Short, because the root's attributes come from memory.
    private static let answerPatience: Duration = .seconds(10)

    /// Mounts in a new process and returns once the folder answers through the kernel.
    ///
    /// - Parameter account: The user that serves the mount; nil for the user of this process.
    /// - Throws: `ProgramError`; with an empty message if the serving process has already written the reason to the standard error
    ///   stream.
    private func start(as account: Account?) throws(ProgramError) {
        let (process, channel) = try Channel.start(
            "/proc/self/exe", servingArguments, called: "the serving process")
        defer { channel.close() }
        try Self.waitUntilReady(channel, process: process)
        // The kernel shows such a mount to its user, not to root.
        try account?.become()
        try Self.waitUntilAnswering(mountPoint, process: process)
    }

    /// The serving process's arguments: the options of the command line; the process reads the other settings again itself.
    var servingArguments: [String] {
        var arguments = ["rankfs", "mount", "--foreground", "--ready-fd=3"]
        let list = options.list
        if !list.isEmpty { arguments += ["-o", list] }
        return arguments + ["--", source.rawValue, mountPoint]
    }

    /// Closes the descriptors that the serving process inherited, except the standard streams and the ready pipe.
    ///
    /// A daemon that kept the caller's pipes and locks open would keep other processes waiting. Must run before anything is opened.
    static func closeInherited(above descriptor: Int32) {
        if descriptor > 2 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        closefrom(descriptor + 1)
    }

    private static func waitUntilReady(_ channel: Channel, process: pid_t) throws(ProgramError) {
        do throws(SystemError) {
            _ = try channel.receive(upTo: readyMessage.count, by: TimeSource.system.now() + startPatience)
            return
        } catch  where error == Channel.tooSlow {
            kill(process, SIGTERM)
            throw .unavailable("the mount was not ready within a minute and was given up; look into its log.")
        } catch {}
        let end = ChildProcess.wait(for: process)
        if let status = end.status.flatMap(ExitStatus.init(rawValue:)), status != .success {
            throw ProgramError(status, "")
        }
        throw .unavailable(
            "the serving process ended before it had mounted"
                + (end.signal > 0 ? " (signal \(end.signal))" : "") + "; run it with -f -d to see why.")
    }

    /// Requests the root's attributes through the kernel, as later readers do.
    private static func waitUntilAnswering(_ mountPoint: String, process: pid_t) throws(ProgramError) {
        let code = BlockingCall.run(within: answerPatience) { () -> Int32 in
            var statistics = statvfs()
            guard unsafe statvfs(mountPoint, &statistics) == 0, fileStatus(at: mountPoint) != nil else {
                return errno
            }
            return 0
        }
        if code == 0 { return }
        kill(process, SIGTERM)
        let reason = code.map { SystemError(code: $0).text } ?? "no answer within 10 s"
        throw .unavailable(
            "\(LogText.escaped(mountPoint)) was mounted but does not answer (\(reason)); run it with -f -d to see why.")
    }
}
