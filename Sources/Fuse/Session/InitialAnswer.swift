internal import CFuse3
import Glibc
import Synchronization

/// Completes libfuse's answer to the kernel's first request, INIT.
///
/// libfuse before 3.17 agrees to FUSE_CAP_PARALLEL_DIROPS but never sends FUSE_PARALLEL_DIROPS (lib/fuse_lowlevel.c,
/// do_init; mended there by "Pass FUSE_PARALLEL_DIROPS to kernel"). The kernel then asks for the names of a directory one
/// at a time, and whoever waits for his turn (fuse_lock_inode) is deaf to every signal. So libfuse is given functions
/// of our own to reach `/dev/fuse` with (fuse_session_custom_io(3)), which do what its own do and add the missing flag.
///
/// Likewise FUSE_DIRECT_IO_ALLOW_MMAP, which libfuse cannot be told to send either: files that go past the page cache may then
/// be mapped as shared ones, from Linux 6.6 on. libfuse's debug output shows its answer without both.
enum InitialAnswer {
    /// The first version of libfuse that sends the flag by itself, as FUSE_MAKE_VERSION(3, 17) has it.
    private static let firstCompleteVersion: Int32 = 317

    /// FUSE_DIRECT_IO_ALLOW_MMAP of Linux 6.6, bit 36, as `flags2` has it; younger than the headers of Debian 12.
    private static let mapsDirect: UInt32 = 1 << 4

    /// Whether the libfuse of this process leaves the flags out.
    static var needsCompletion: Bool {
        fuse_version() < firstCompleteVersion
    }

    /// Plain system calls on `/dev/fuse`, but for the answer to INIT.
    ///
    /// Without a function for splicing requests in, which nothing here wants: those of a file system that is only read are small.
    /// libfuse cancels its threads in `read`, so nothing there may need cleaning up.
    static func deviceAccess() -> fuse_custom_io {
        var access = fuse_custom_io()
        unsafe access.read = { device, buffer, size, _ in
            unsafe read(device, buffer, size)
        }
        unsafe access.writev = { device, parts, count, userData in
            if let userData = unsafe userData {
                // The session keeps the dispatcher, as in Dispatcher.answersAtOnce.
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

    /// Adds the flags if this is the answer to INIT; whether it was.
    ///
    /// The kernel sends nothing else until it has that answer, and notifications have no request's number.
    static func complete(_ parts: UnsafeMutableBufferPointer<iovec>) -> Bool {
        guard parts.count == 2, unsafe parts[0].iov_len == MemoryLayout<fuse_out_header>.size,
            unsafe parts[1].iov_len >= Int(FUSE_COMPAT_22_INIT_OUT_SIZE),
            let header = unsafe parts[0].iov_base, let body = unsafe parts[1].iov_base,
            unsafe header.load(as: fuse_out_header.self).unique != 0
        else { return false }
        let answer = unsafe body.assumingMemoryBound(to: fuse_init_out.self)
        unsafe answer.pointee.flags |= UInt32(FUSE_PARALLEL_DIROPS)
        if unsafe parts[1].iov_len >= MemoryLayout<fuse_init_out>.size {
            unsafe answer.pointee.flags |= UInt32(FUSE_INIT_EXT)
            unsafe answer.pointee.flags2 |= mapsDirect
        }
        return true
    }
}
