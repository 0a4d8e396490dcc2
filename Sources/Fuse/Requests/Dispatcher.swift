internal import CFuse3
import Dispatch
import Synchronization

/// What libfuse's callbacks find behind their session's user data: turns C requests into values and replies.
///
/// ## Concurrency
///
/// Called on all of libfuse's worker threads at once; everything in it is immutable or safe by itself.
final class Dispatcher: Sendable {
    let fileSystem: any FileSystem
    let waiting: WaitingRequests
    /// Requests that libfuse still knows, and callers inside its session: it may be destroyed when all have left.
    let outstanding = DispatchGroup()
    /// Extended attributes outside this namespace do not exist.
    private let attributeNamespace: [UInt8]

    /// Whether the kernel waits for each page read, see ``SessionConfiguration/interruptibleReads``.
    let interruptibleReads: Bool

    /// Set when directories were agreed to be asked many requests at a time and the kernel is still to be told.
    let owesParallelDirectories = Atomic(false)

    init(fileSystem: any FileSystem, configuration: SessionConfiguration) {
        self.fileSystem = fileSystem
        waiting = WaitingRequests(deadline: configuration.deadline)
        attributeNamespace = Array(configuration.attributeNamespace.utf8)
        interruptibleReads = configuration.interruptibleReads
    }

    /// The dispatcher of a request's session.
    static func of(_ request: fuse_req_t?) -> Dispatcher? {
        unsafe behind(fuse_req_userdata(request))
    }

    /// The dispatcher that was given to a session as its user data.
    static func behind(_ pointer: UnsafeMutableRawPointer?) -> Dispatcher? {
        guard let pointer = unsafe pointer else { return nil }
        // The session keeps the dispatcher until libfuse's session is destroyed, after its last request.
        return unsafe Unmanaged<Dispatcher>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Serves one request: `body` answers it or hands its reply on, in which case deadline and interrupts begin.
    ///
    /// - Parameters:
    ///   - request: libfuse's request.
    ///   - size: What the answer may have at most, where that is limited.
    ///   - read: What is read, if it is a read.
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

    /// Answers a read that needs neither deadline nor interrupt, and nothing to keep track of it.
    ///
    /// Only on the thread that libfuse calls: libfuse's session ends no sooner than its workers.
    ///
    /// - Returns: Whether it was answered.
    static func answersAtOnce(_ read: ReadRequest, of request: fuse_req_t?) -> Bool {
        guard let request = unsafe request, let userData = unsafe fuse_req_userdata(request) else { return false }
        // The session keeps the dispatcher. To count the references of all workers would have them wait for each other.
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

    /// Who asks.
    static func caller(of request: fuse_req_t?) -> Caller {
        guard let context = unsafe fuse_req_ctx(request) else { return Caller(user: 0, group: 0, process: 0) }
        return unsafe Caller(user: context.pointee.uid, group: context.pointee.gid, process: context.pointee.pid)
    }

    /// Takes back a lookup that did not arrive.
    var forgetting: Reply.Undo {
        Reply.Undo(forget: { [fileSystem] inode in fileSystem.forget(inode, lookups: 1) })
    }

    /// Whether the file system is asked for an extended attribute at all.
    func mayHaveAttribute(_ name: UnsafePointer<CChar>) -> Bool {
        for (index, byte) in attributeNamespace.enumerated() {
            // Stops at the name's NUL, which no namespace contains.
            guard unsafe UInt8(bitPattern: name[index]) == byte else { return false }
        }
        return true
    }
}
