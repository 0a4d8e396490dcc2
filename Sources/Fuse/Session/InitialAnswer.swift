internal import CFuse3
import Glibc
internal import System

/// libfuse's answer to the kernel's first request, INIT: the capabilities that it agrees on, and the flags that it leaves out.
///
/// libfuse before 3.17 agrees to FUSE_CAP_PARALLEL_DIROPS but never sends FUSE_PARALLEL_DIROPS (lib/fuse_lowlevel.c, do_init;
/// fixed there by "Pass FUSE_PARALLEL_DIROPS to kernel"). The kernel then requests the names of a directory one at a time, and no
/// signal interrupts a process that waits for its turn (fuse_lock_inode). So libfuse gets functions for its access to `/dev/fuse`
/// (`Operations.deviceAccess`), which do the same as its own and add the missing flag.
///
/// The same functions add FUSE_DIRECT_IO_ALLOW_MMAP, which libfuse has no option to send: from Linux 6.6 on, files that go past
/// the page cache may then be mapped as shared. libfuse's debug output shows its answer without both flags.
enum InitialAnswer {
    /// The first version of libfuse that sends the flag itself, in the form of FUSE_MAKE_VERSION(3, 17).
    private static let firstCompleteVersion: Int32 = 317

    /// FUSE_DIRECT_IO_ALLOW_MMAP of Linux 6.6, bit 36, as a bit of `flags2`; newer than the headers of Debian 12.
    private static let mapsDirect: UInt32 = 1 << 4

    /// Whether the libfuse of this process leaves the flags out.
    static var needsCompletion: Bool {
        fuse_version() < firstCompleteVersion
    }

    /// Adds the flags if this is the answer to INIT, and returns whether it was.
    ///
    /// The kernel sends no other request before it has that answer, and notifications have no request number.
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

    // MARK: - Capabilities

    /// Turned on if the kernel has them.
    ///
    /// Splicing sends answers from a file's page cache without a copy (three times as fast for large reads). Readdirplus sends
    /// attributes with the names; its automatic form sends them only to readers that use them. Lookups and readdirs of one
    /// directory run in parallel, and files that go past the page cache can be mapped. Commands on
    /// directories are allowed. NFS servers may request inodes that the kernel has forgotten.
    private static let wanted =
        FUSE_CAP_SPLICE_WRITE | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_PARALLEL_DIROPS
        | FUSE_CAP_IOCTL_DIR | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA
        | FUSE_CAP_EXPORT_SUPPORT | RANKFS_CAP_MAPS_DIRECT

    /// Turned off, whatever libfuse's default is.
    ///
    /// Cached symbolic links would not change. There are no writes, so there is no write-back. If the kernel sent reads past the
    /// page cache in the background (fs/fuse/file.c, fuse_direct_IO), no signal would interrupt their readers, and the reads
    /// would cost a third more.
    private static let unwanted =
        FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_ASYNC_DIO | FUSE_CAP_ASYNC_READ

    /// The largest read-ahead, in bytes: a larger first request only delays the first byte of a cold file.
    ///
    /// Slightly more than the 64 KiB that previewers and sniffers read: the kernel makes one request of this size for such a
    /// read. With 64 KiB it would also wait for the next request (page_cache_sync_ra and page_cache_async_ra in the kernel's
    /// mm/readahead.c). Larger reads are not limited by it.
    private static let readAhead: UInt32 = 80 * 1024

    /// The number of file descriptors below which none are spent on pipes.
    private static let fewDescriptors = 384

    /// Chooses the capabilities, in libfuse's init callback.
    ///
    /// Page reads are interruptible: the kernel then reads ahead one request at a time. Asynchronous read-ahead is about twice as
    /// fast for files that are not in the page cache, but no interrupt is sent for such a read. A fatal signal frees the reader at
    /// once in both cases; a signal that the reader handles frees it, and cancels the work, only this way.
    ///
    /// - Parameter connection: The kernel's offer, in which the choice is stored.
    static func choose(_ connection: inout fuse_conn_info) {
        connection.want |= connection.capable & UInt32(wanted)
        connection.want &= ~UInt32(unwanted)
        // libfuse splices through one pipe for each answering thread, which it creates itself and keeps.
        if Descriptors.own.usable < fewDescriptors { connection.want &= ~UInt32(FUSE_CAP_SPLICE_WRITE) }
        connection.max_readahead = min(connection.max_readahead, readAhead)
        // Times are whole seconds.
        connection.time_gran = 1_000_000_000
    }
}
