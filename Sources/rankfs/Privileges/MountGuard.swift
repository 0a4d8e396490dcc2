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
    private let connection: Int32
    private let mount: GuardedMount

    /// Descriptors of the guard.
    enum Inherited {
        static let connection: Int32 = 3
        static let device: Int32 = 4
    }

    /// The requests of the serving process, in this order.
    enum Message: String {
        /// Check the folder.
        case look
        /// Remove the user's own dead mount there, then check the folder.
        case clear
        case mount
    }

    /// Bytes; longer than any path and sentence.
    private static let longestMessage = 32 << 10
    /// The time limit of one check of the folder.
    static let lookPatience: Duration = .seconds(5)

    /// Starts the guard, which then waits; requires root and a single thread.
    static func start(_ request: MountRequest, for account: Account) throws(ProgramError) -> MountGuard {
        let device = unsafe open("/dev/fuse", O_RDWR | O_CLOEXEC)
        guard device >= 0 else {
            throw ProgramError(
                .system,
                "/dev/fuse cannot be opened: \(LocalFiles.Failure.last().text); load the kernel module with `modprobe fuse`."
            )
        }
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw ProgramError(.system, "no socket can be made: \(LocalFiles.Failure.last().text).")
        }
        defer { close(ends[1]) }
        let mount = GuardedMount(request, for: account)
        do throws(LocalFiles.Failure) {
            _ = try ChildProcess.start("/proc/self/exe", mount.arguments, inheriting: [ends[1], device])
        } catch {
            throw ProgramError(.system, "the mounting process cannot be started: \(error.text).")
        }
        return MountGuard(device: device, connection: ends[0], mount: mount)
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
        close(connection)
    }

    // MARK: Messages

    /// A packet of texts, each followed by a NUL; the first is empty, or the sentence of a failure.
    static func packet(failure: String = "", _ texts: [String] = []) -> [UInt8] {
        ([failure] + texts).flatMap { Array($0.utf8) + [0] }
    }

    static func send(_ message: [UInt8], on connection: Int32) {
        unsafe _ = message.withUnsafeBytes {
            unsafe Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// The next message; nil when the other end is closed.
    static func receive(on connection: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: longestMessage)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(connection, $0.baseAddress, $0.count, 0) }
            if count > 0 { return Array(buffer[..<count]) }
            if count == 0 || errno != EINTR { return nil }
        }
    }

    private func ask(_ message: Message) {
        Self.send(Array(message.rawValue.utf8), on: connection)
    }

    private func answer() throws(ProgramError) -> [String] {
        guard let message = Self.receive(on: connection) else {
            throw ProgramError(.system, "the mounting process has ended; try again, and look into `dmesg`.")
        }
        var texts = message.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        texts.removeLast()
        guard let failure = texts.first, failure.isEmpty else { throw ProgramError(.mountFailure, texts.first ?? "") }
        return Array(texts.dropFirst())
    }
}
