internal import CFuse3
import Glibc
import Synchronization

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
            unsafe Capabilities.choose(&connection.pointee)
            // libfuse ends a session whose option says otherwise.
            unsafe connection.pointee.max_read = dispatcher?.longestRead ?? 0
            let agreed = unsafe connection.pointee.want
            dispatcher?.owesParallelDirectories.store(
                agreed & UInt32(FUSE_CAP_PARALLEL_DIROPS) != 0, ordering: .relaxed)
        }
        unsafe operations.lookup = { request, parent, name in
            guard let name = unsafe name else { return }
            unsafe Dispatcher.serve(request) { dispatcher, pending in
                let lookup = LookupRequest(
                    parent: UInt64(parent), name: unsafe Operations.bytes(name),
                    caller: unsafe Dispatcher.caller(of: request))
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
            unsafe Dispatcher.serve(request) { dispatcher, pending in
                let get = InodeRequest(inode: UInt64(inode), caller: unsafe Dispatcher.caller(of: request))
                dispatcher.fileSystem.attributes(get, reply: AttributesReply(pending))
            }
        }
        unsafe operations.readlink = { request, inode in
            unsafe Dispatcher.serve(request) { dispatcher, pending in
                let read = InodeRequest(inode: UInt64(inode), caller: unsafe Dispatcher.caller(of: request))
                dispatcher.fileSystem.readLink(read, reply: LinkReply(pending))
            }
        }
    }

    private static func addFiles(to operations: inout fuse_lowlevel_ops) {
        unsafe operations.open = { request, inode, information in
            let flags = unsafe information?.pointee.flags ?? 0
            guard flags & O_ACCMODE == O_RDONLY, flags & O_TRUNC == 0 else {
                unsafe fuse_reply_err(request, EROFS)
                return
            }
            unsafe Dispatcher.serve(request) { dispatcher, pending in
                dispatcher.waiting.forgetFailures(of: UInt64(inode))
                let open = OpenRequest(
                    inode: UInt64(inode), flags: flags, caller: unsafe Dispatcher.caller(of: request))
                dispatcher.fileSystem.open(open, reply: OpenReply(pending, undo: dispatcher.releasing(open.inode)))
            }
        }
        unsafe operations.read = { request, inode, size, offset, information in
            let read = unsafe ReadRequest(
                inode: UInt64(inode), handle: information?.pointee.fh ?? 0, offset: Int64(offset), size: size,
                caller: unsafe Dispatcher.caller(of: request), isForPages: information?.pointee.lock_owner == 0)
            if unsafe Dispatcher.answersAtOnce(read, of: request) { return }
            unsafe Dispatcher.serve(request, read: read) { dispatcher, pending in
                dispatcher.fileSystem.read(read, reply: DataReply(pending))
            }
        }
        unsafe operations.release = { request, inode, information in
            let release = unsafe ReleaseRequest(inode: UInt64(inode), handle: information?.pointee.fh ?? 0)
            unsafe Dispatcher.of(request)?.fileSystem.release(release)
            unsafe fuse_reply_err(request, 0)
        }
    }

    private static func addDirectories(to operations: inout fuse_lowlevel_ops) {
        unsafe operations.opendir = { request, inode, information in
            let flags = unsafe information?.pointee.flags ?? 0
            unsafe Dispatcher.serve(request) { dispatcher, pending in
                let open = OpenRequest(
                    inode: UInt64(inode), flags: flags, caller: unsafe Dispatcher.caller(of: request))
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
        unsafe Dispatcher.serve(request) { dispatcher, pending in
            let read = ReadRequest(
                inode: UInt64(inode), handle: handle, offset: Int64(offset), size: size,
                caller: unsafe Dispatcher.caller(of: request))
            let reply = DirectoryReply(
                pending, undo: dispatcher.forgetting, wantsAttributes: withAttributes,
                packer: KernelPacker(size: size, withAttributes: withAttributes))
            dispatcher.fileSystem.readDirectory(read, reply: reply)
        }
    }

    private static func addExtras(to operations: inout fuse_lowlevel_ops) {
        unsafe operations.statfs = { request, inode in
            unsafe Dispatcher.serve(request) { dispatcher, pending in
                let get = InodeRequest(inode: UInt64(inode), caller: unsafe Dispatcher.caller(of: request))
                dispatcher.fileSystem.statistics(get, reply: StatisticsReply(pending))
            }
        }
        unsafe operations.getxattr = { request, inode, name, size in
            guard let name = unsafe name, unsafe Dispatcher.mayHaveAttribute(name) else {
                // "The file system does not support extended attributes" of that namespace (getxattr(2)): ls(1) queries each file
                // for security.selinux and system.posix_acl_access until it gets this answer, and then queries no other file of
                // this device.
                unsafe fuse_reply_err(request, EOPNOTSUPP)
                return
            }
            unsafe Dispatcher.serve(request, size: size) { dispatcher, pending in
                let get = unsafe ExtendedAttributeRequest(
                    inode: UInt64(inode), name: String(cString: name), size: size,
                    caller: unsafe Dispatcher.caller(of: request))
                dispatcher.fileSystem.getExtendedAttribute(get, reply: ExtendedAttributeReply(pending))
            }
        }
        unsafe operations.listxattr = { request, inode, size in
            unsafe Dispatcher.serve(request, size: size) { dispatcher, pending in
                let list = ExtendedAttributeRequest(
                    inode: UInt64(inode), name: "", size: size, caller: unsafe Dispatcher.caller(of: request))
                dispatcher.fileSystem.listExtendedAttributes(list, reply: ExtendedAttributeReply(pending))
            }
        }
        unsafe operations.ioctl = { request, inode, command, _, information, flags, input, inputSize, outputSize in
            // The structures of a 32-bit program would need translation.
            guard flags & UInt32(FUSE_IOCTL_COMPAT) == 0 else {
                unsafe fuse_reply_err(request, ENOTTY)
                return
            }
            let handle = unsafe information?.pointee.fh ?? 0
            unsafe Dispatcher.serve(request, size: outputSize) { dispatcher, pending in
                let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: input, count: inputSize))
                let call = IoctlRequest(
                    inode: UInt64(inode), handle: handle, command: command, input: bytes, outputSize: outputSize,
                    caller: unsafe Dispatcher.caller(of: request))
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

    /// Returns the bytes of a name as the kernel sent them.
    private static func bytes(_ name: UnsafePointer<CChar>) -> [UInt8] {
        unsafe [UInt8](UnsafeRawBufferPointer(start: name, count: strlen(name)))
    }
}
