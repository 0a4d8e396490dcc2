internal import CFuse3
import Dispatch
import Glibc
import Synchronization

/// A file system in terms of libfuse's low-level API: each request is a value, and its reply object takes the answer.
///
/// ## Concurrency
///
/// libfuse's worker threads call every method. A method must not wait: it answers at once from memory or disk, or passes the
/// reply to `reply.later { … }`, which starts a task, cancels the task when the kernel interrupts the request, and answers
/// ETIMEDOUT at the hard deadline. A reply that is dropped answers EIO. A method without an implementation answers ENOSYS;
/// operations that would write answer EROFS.
package protocol FileSystem: Sendable {
    func lookup(_ request: LookupRequest, reply: EntryReply)
    func forget(_ inode: UInt64, lookups: UInt64)
    func attributes(_ request: InodeRequest, reply: AttributesReply)
    func readLink(_ request: InodeRequest, reply: LinkReply)
    func open(_ request: OpenRequest, reply: OpenReply)
    /// The complete answer to a read that needs no further decision; with nil, `read` is called.
    ///
    /// Called for every read, before any bookkeeping for the read exists. Must not take a lock on which other threads wait.
    func part(of request: ReadRequest) -> FilePart?
    func read(_ request: ReadRequest, reply: DataReply)
    /// Ends an open file or directory.
    func release(_ inode: UInt64, handle: UInt64)
    func openDirectory(_ request: OpenRequest, reply: OpenReply)
    func readDirectory(_ request: ReadRequest, reply: DirectoryReply)
    func statistics(_ request: InodeRequest, reply: StatisticsReply)
    func getExtendedAttribute(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply)
    func listExtendedAttributes(_ request: InodeRequest, reply: ExtendedAttributeReply)
    func ioctl(_ request: IoctlRequest, reply: IoctlReply)
}

// MARK: - Dispatcher

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

    init(fileSystem: any FileSystem, deadline: Duration, longestRead: UInt32) {
        self.fileSystem = fileSystem
        waiting = WaitingRequests(deadline: deadline)
        self.longestRead = longestRead
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
    ///   - directory: The directory that the kernel locks until the answer; nil if it locks none.
    ///   - body: Makes the reply and calls the file system; takes the calling process as well.
    static func serve(
        _ request: fuse_req_t?, size: Int = 0, read: ReadRequest? = nil, directory: fuse_ino_t? = nil,
        _ body: (Dispatcher, PendingRequest, Caller) -> Void
    ) {
        guard let request = unsafe request, let dispatcher = unsafe of(request) else { return }
        dispatcher.outstanding.enter()
        let destination = unsafe KernelDestination(request, size: size, outstanding: dispatcher.outstanding)
        let pending = PendingRequest(
            destination: destination, waiting: dispatcher.waiting, read: read, directory: directory.map { UInt64($0) })
        body(dispatcher, pending, unsafe caller(of: request))
        pending.park()
    }

    /// Serves a request with an inode as its only argument.
    static func serve(
        _ request: fuse_req_t?, _ inode: fuse_ino_t, size: Int = 0,
        _ body: (any FileSystem, InodeRequest, PendingRequest) -> Void
    ) {
        unsafe serve(request, size: size) { dispatcher, pending, caller in
            body(dispatcher.fileSystem, InodeRequest(inode: UInt64(inode), caller: caller), pending)
        }
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
                _ = unsafe KernelDestination.send(
                    part.descriptor, offset: part.offset, count: part.count, to: request)
            }
            return true
        }
    }

    /// Returns the process that made the request.
    static func caller(of request: fuse_req_t?) -> Caller {
        guard let context = unsafe fuse_req_ctx(request) else { return Caller(user: 0, process: 0) }
        return unsafe Caller(user: context.pointee.uid, process: context.pointee.pid)
    }

    /// The action that takes back a lookup after its answer did not arrive.
    var forgetting: @Sendable (_ inode: UInt64) -> Void {
        { [fileSystem] inode in fileSystem.forget(inode, lookups: 1) }
    }

    /// The action that takes back an open after its answer did not arrive.
    func releasing(_ inode: UInt64) -> @Sendable (_ handle: UInt64) -> Void {
        { [fileSystem] handle in fileSystem.release(inode, handle: handle) }
    }

    /// Whether the file system is queried for an extended attribute at all; all outside of `user.` answer EOPNOTSUPP.
    ///
    /// `ls -l` queries `security.selinux` and `system.posix_acl_access`, and does not repeat the query after that answer.
    static func mayHaveAttribute(_ name: UnsafePointer<CChar>) -> Bool { unsafe strncmp(name, "user.", 5) == 0 }
}

// MARK: - Callbacks

/// The table of callbacks that libfuse calls.
///
/// Nonisolated functions form the callbacks, because a closure formed in main-actor code traps on libfuse's threads. libfuse
/// answers operations without an entry with ENOSYS, which the kernel remembers: flush, fsync, access, lseek, poll, locks.
enum Operations {
    /// All callbacks.
    static func table() -> fuse_lowlevel_ops {
        var operations = fuse_lowlevel_ops()
        addNames(to: &operations)
        addFiles(to: &operations)
        addDirectories(to: &operations)
        addExtras(to: &operations)
        refuseWrites(in: &operations)
        return operations
    }

    private static func addNames(to operations: inout fuse_lowlevel_ops) {
        unsafe operations.`init` = { pointer, connection in
            guard let connection = unsafe connection else { return }
            let dispatcher = unsafe Dispatcher.behind(pointer)
            unsafe InitialAnswer.choose(&connection.pointee)
            // libfuse ends a session whose option says otherwise.
            unsafe connection.pointee.max_read = dispatcher?.longestRead ?? 0
            let agreed = unsafe connection.pointee.want
            dispatcher?.owesParallelDirectories.store(
                agreed & UInt32(FUSE_CAP_PARALLEL_DIROPS) != 0, ordering: .relaxed)
        }
        unsafe operations.lookup = { request, parent, name in
            guard let name = unsafe name else { return }
            unsafe Dispatcher.serve(request, directory: parent) { dispatcher, pending, caller in
                let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: name, count: strlen(name)))
                let lookup = LookupRequest(parent: UInt64(parent), name: bytes, caller: caller)
                dispatcher.fileSystem.lookup(lookup, reply: EntryReply(pending, undo: dispatcher.forgetting))
            }
        }
        unsafe operations.forget = { request, inode, lookups in
            unsafe Dispatcher.of(request)?.fileSystem.forget(UInt64(inode), lookups: lookups)
            unsafe fuse_reply_none(request)
        }
        unsafe operations.forget_multi = { request, count, forgets in
            let fileSystem = unsafe Dispatcher.of(request)?.fileSystem
            for index in 0..<count {
                guard let forget = unsafe forgets?[index] else { break }
                fileSystem?.forget(UInt64(forget.ino), lookups: forget.nlookup)
            }
            unsafe fuse_reply_none(request)
        }
        unsafe operations.getattr = { request, inode, _ in
            unsafe Dispatcher.serve(request, inode) { $0.attributes($1, reply: AttributesReply($2)) }
        }
        unsafe operations.readlink = { request, inode in
            unsafe Dispatcher.serve(request, inode) { $0.readLink($1, reply: LinkReply($2)) }
        }
    }

    private static func addFiles(to operations: inout fuse_lowlevel_ops) {
        unsafe operations.open = { request, inode, information in
            let flags = unsafe information?.pointee.flags ?? 0
            guard flags & O_ACCMODE == O_RDONLY, flags & O_TRUNC == 0 else {
                unsafe fuse_reply_err(request, EROFS)
                return
            }
            unsafe Dispatcher.serve(request) { dispatcher, pending, caller in
                dispatcher.waiting.forgetFailures(of: UInt64(inode))
                let open = OpenRequest(inode: UInt64(inode), flags: flags, caller: caller)
                dispatcher.fileSystem.open(open, reply: OpenReply(pending, undo: dispatcher.releasing(open.inode)))
            }
        }
        unsafe operations.read = { request, inode, size, offset, information in
            let read = unsafe ReadRequest(
                inode: UInt64(inode), handle: information?.pointee.fh ?? 0, offset: Int64(offset), size: size,
                caller: unsafe Dispatcher.caller(of: request), isForPages: information?.pointee.lock_owner == 0)
            if unsafe Dispatcher.answersAtOnce(read, of: request) { return }
            unsafe Dispatcher.serve(request, read: read) { dispatcher, pending, _ in
                dispatcher.fileSystem.read(read, reply: DataReply(pending))
            }
        }
        unsafe operations.release = { request, inode, information in
            unsafe Dispatcher.of(request)?.fileSystem.release(UInt64(inode), handle: information?.pointee.fh ?? 0)
            unsafe fuse_reply_err(request, 0)
        }
    }

    private static func addDirectories(to operations: inout fuse_lowlevel_ops) {
        unsafe operations.opendir = { request, inode, information in
            let flags = unsafe information?.pointee.flags ?? 0
            unsafe Dispatcher.serve(request) { dispatcher, pending, caller in
                let open = OpenRequest(inode: UInt64(inode), flags: flags, caller: caller)
                dispatcher.fileSystem.openDirectory(
                    open, reply: OpenReply(pending, undo: dispatcher.releasing(open.inode)))
            }
        }
        unsafe operations.readdir = { request, inode, size, offset, information in
            unsafe Operations.readDirectory(request, inode, size, offset, information, withAttributes: false)
        }
        unsafe operations.readdirplus = { request, inode, size, offset, information in
            unsafe Operations.readDirectory(request, inode, size, offset, information, withAttributes: true)
        }
        unsafe operations.releasedir = operations.release
    }

    private static func readDirectory(
        _ request: fuse_req_t?, _ inode: fuse_ino_t, _ size: Int, _ offset: off_t,
        _ information: UnsafeMutablePointer<fuse_file_info>?, withAttributes: Bool
    ) {
        let handle = unsafe information?.pointee.fh ?? 0
        unsafe Dispatcher.serve(request, directory: inode) { dispatcher, pending, caller in
            let read = ReadRequest(
                inode: UInt64(inode), handle: handle, offset: Int64(offset), size: size,
                caller: caller)
            let reply = DirectoryReply(
                pending, undo: dispatcher.forgetting, wantsAttributes: withAttributes, size: size)
            dispatcher.fileSystem.readDirectory(read, reply: reply)
        }
    }

    private static func addExtras(to operations: inout fuse_lowlevel_ops) {
        unsafe operations.statfs = { request, inode in
            unsafe Dispatcher.serve(request, inode) { $0.statistics($1, reply: StatisticsReply($2)) }
        }
        unsafe operations.getxattr = { request, inode, name, size in
            guard let name = unsafe name, unsafe Dispatcher.mayHaveAttribute(name) else {
                // "The file system does not support extended attributes" of that namespace (getxattr(2)): ls(1) queries each file
                // for security.selinux and system.posix_acl_access until it gets this answer, and then queries no other file of
                // this device.
                unsafe fuse_reply_err(request, EOPNOTSUPP)
                return
            }
            unsafe Dispatcher.serve(request, size: size) { dispatcher, pending, caller in
                let get = unsafe ExtendedAttributeRequest(
                    inode: UInt64(inode), name: String(cString: name), caller: caller)
                dispatcher.fileSystem.getExtendedAttribute(get, reply: ExtendedAttributeReply(pending))
            }
        }
        unsafe operations.listxattr = { request, inode, size in
            unsafe Dispatcher.serve(request, inode, size: size) {
                $0.listExtendedAttributes($1, reply: ExtendedAttributeReply($2))
            }
        }
        unsafe operations.ioctl = { request, inode, command, _, information, flags, input, inputSize, outputSize in
            // The structures of a 32-bit program would need translation.
            guard flags & UInt32(FUSE_IOCTL_COMPAT) == 0 else {
                unsafe fuse_reply_err(request, ENOTTY)
                return
            }
            let handle = unsafe information?.pointee.fh ?? 0
            unsafe Dispatcher.serve(request, size: outputSize) { dispatcher, pending, caller in
                let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: input, count: inputSize))
                let call = IoctlRequest(
                    inode: UInt64(inode), handle: handle, command: command, input: bytes, outputSize: outputSize,
                    caller: caller)
                dispatcher.fileSystem.ioctl(call, reply: IoctlReply(pending))
            }
        }
    }

    /// Answers every operation that would write with EROFS, even if the mount was made without `ro`.
    private static func refuseWrites(in operations: inout fuse_lowlevel_ops) {
        unsafe operations.setattr = { request, _, _, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.mknod = { request, _, _, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.mkdir = { request, _, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.unlink = { request, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.rmdir = { request, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.symlink = { request, _, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.rename = { request, _, _, _, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.link = { request, _, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.write = { request, _, _, _, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.setxattr = { request, _, _, _, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.removexattr = { request, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.create = { request, _, _, _, _ in unsafe Operations.refuse(request) }
        unsafe operations.fallocate = { request, _, _, _, _, _ in unsafe Operations.refuse(request) }
    }

    private static func refuse(_ request: fuse_req_t?) {
        unsafe fuse_reply_err(request, EROFS)
    }

    /// Plain system calls on `/dev/fuse`, except for the answer to INIT.
    ///
    /// There is no function to splice requests in, because the requests of a read-only file system are small. libfuse cancels its
    /// threads in `read`, so that function must not need any cleanup.
    static func deviceAccess() -> fuse_custom_io {
        var access = fuse_custom_io()
        unsafe access.read = { device, buffer, size, _ in
            unsafe read(device, buffer, size)
        }
        unsafe access.writev = { device, parts, count, userData in
            if let userData = unsafe userData {
                // The session keeps the dispatcher, as in `answersAtOnce`.
                unsafe Unmanaged<Dispatcher>.fromOpaque(userData)._withUnsafeGuaranteedRef { dispatcher in
                    guard dispatcher.owesParallelDirectories.load(ordering: .relaxed) else { return }
                    let answer = unsafe UnsafeMutableBufferPointer(start: parts, count: Int(count))
                    guard unsafe InitialAnswer.complete(answer) else { return }
                    dispatcher.owesParallelDirectories.store(false, ordering: .relaxed)
                }
            }
            return unsafe writev(device, parts, count)
        }
        unsafe access.splice_send = { pipe, pipeOffset, device, deviceOffset, size, flags, _ in
            unsafe rankfs_splice(pipe, pipeOffset, device, deviceOffset, size, flags)
        }
        return access
    }
}
