internal import CFuse3
import Dispatch
import Glibc
import Synchronization

/// The user data of libfuse's session: converts C requests to values and replies.
///
/// ## Concurrency
///
/// All of libfuse's worker threads call it at once; every property is immutable or safe by itself.
final class Dispatcher: Sendable {
    let fileSystem: any FileSystem
    let waiting: WaitingRequests
    /// The requests that libfuse still holds and the callers inside its session, which may be destroyed when all have left.
    let outstanding = DispatchGroup()
    /// Whether parallel directory requests are agreed on but not yet declared to the kernel.
    let owesParallelDirectories = Atomic(false)
    /// The largest read in bytes; 0 for the kernel's own.
    let longestRead: UInt32

    init(fileSystem: any FileSystem, configuration: SessionConfiguration) {
        self.fileSystem = fileSystem
        waiting = WaitingRequests(deadline: configuration.deadline)
        longestRead = SessionConfiguration.longestRead(in: configuration.options)
    }

    /// The dispatcher of a request's session.
    static func of(_ request: fuse_req_t?) -> Dispatcher? {
        unsafe behind(fuse_req_userdata(request))
    }

    /// The dispatcher that was passed to a session as its user data.
    static func behind(_ pointer: UnsafeMutableRawPointer?) -> Dispatcher? {
        guard let pointer = unsafe pointer else { return nil }
        // The session keeps the dispatcher until libfuse's session is destroyed, after its last request.
        return unsafe Unmanaged<Dispatcher>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Serves one request: `body` answers it or passes its reply on, in which case the deadline and interrupts begin.
    ///
    /// - Parameters:
    ///   - request: libfuse's request.
    ///   - size: The maximum length of the answer, in bytes, where there is a limit.
    ///   - read: The read, if the request is one.
    ///   - body: Makes the reply and calls the file system.
    static func serve(
        _ request: fuse_req_t?, size: Int = 0, read: ReadRequest? = nil,
        _ body: (Dispatcher, PendingRequest) -> Void
    ) {
        guard let request = unsafe request, let dispatcher = unsafe of(request) else { return }
        dispatcher.outstanding.enter()
        let destination = unsafe KernelDestination(request, size: size, outstanding: dispatcher.outstanding)
        let pending = PendingRequest(destination: destination, waiting: dispatcher.waiting, read: read)
        body(dispatcher, pending)
        pending.park()
    }

    /// Answers a read that needs neither deadline nor interrupt, and therefore no bookkeeping.
    ///
    /// Only for the thread that libfuse calls: libfuse's session does not end before its workers.
    ///
    /// - Returns: Whether the read was answered.
    static func answersAtOnce(_ read: ReadRequest, of request: fuse_req_t?) -> Bool {
        guard let request = unsafe request, let userData = unsafe fuse_req_userdata(request) else { return false }
        // The session keeps the dispatcher. Counting references on all workers would make them wait for each other.
        return unsafe Unmanaged<Dispatcher>.fromOpaque(userData)._withUnsafeGuaranteedRef { dispatcher in
            if let error = dispatcher.waiting.rememberedError(for: read) {
                unsafe fuse_reply_err(request, error.rawValue)
                return true
            }
            guard let part = dispatcher.fileSystem.part(of: read) else { return false }
            withExtendedLifetime(part) {
                _ = unsafe FileAnswer.send(part.descriptor, offset: part.offset, count: part.count, to: request)
            }
            return true
        }
    }

    /// Returns the process that made the request.
    static func caller(of request: fuse_req_t?) -> Caller {
        guard let context = unsafe fuse_req_ctx(request) else { return Caller(user: 0, group: 0, process: 0) }
        return unsafe Caller(user: context.pointee.uid, group: context.pointee.gid, process: context.pointee.pid)
    }

    /// The action that undoes a lookup after its answer did not arrive.
    var forgetting: Reply.Undo {
        Reply.Undo(forget: { [fileSystem] inode in fileSystem.forget(inode, lookups: 1) })
    }

    /// The action that undoes an open after its answer did not arrive.
    func releasing(_ inode: UInt64) -> Reply.Undo {
        Reply.Undo(release: { [fileSystem] in fileSystem.release(ReleaseRequest(inode: inode, handle: $0)) })
    }

    /// Whether the file system is queried for an extended attribute at all; all outside of `user.` answer EOPNOTSUPP.
    ///
    /// `ls -l` queries `security.selinux` and `system.posix_acl_access`, and does not repeat the query after that answer.
    static func mayHaveAttribute(_ name: UnsafePointer<CChar>) -> Bool { unsafe strncmp(name, "user.", 5) == 0 }
}
