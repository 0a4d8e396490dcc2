internal import CFuse3
internal import Posix

/// What is agreed with the kernel when the mount begins.
enum Capabilities {
    /// Turned on where the kernel has it.
    ///
    /// Splicing answers from a file's page cache without a copy (three times as fast for large reads). Readdirplus brings
    /// attributes with the names, and its automatic form only to readers who use them. Lookups and readdirs of one
    /// directory run side by side, and what goes past the page cache can be mapped (see ``InitialAnswer``). Commands on
    /// directories are allowed. Servers of NFS may ask for inodes that the kernel has forgotten.
    private static let wanted =
        FUSE_CAP_SPLICE_WRITE | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_PARALLEL_DIROPS
        | FUSE_CAP_IOCTL_DIR | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA
        | FUSE_CAP_EXPORT_SUPPORT | RANKFS_CAP_MAPS_DIRECT

    /// Turned off, whatever libfuse's default is.
    ///
    /// Cached symbolic links would not change. Nothing is written, so there is nothing to write back. Whoever reads past the page
    /// cache would wait deaf to signals if the kernel sent such reads in the background (fs/fuse/file.c, fuse_direct_IO), where
    /// they also cost a third more.
    private static let unwanted = FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_ASYNC_DIO

    /// The largest read-ahead, in bytes: a larger first request only delays the first byte of a cold file.
    ///
    /// A little more than the 64 KiB that previewers and sniffers read: of their look the kernel makes one request of this
    /// size, and at 64 KiB it would wait for the next one besides (page_cache_sync_ra and page_cache_async_ra in the kernel's
    /// mm/readahead.c). Who reads in larger steps is not bounded by it.
    private static let readAhead: UInt32 = 80 * 1024

    /// With fewer file descriptors than this none are spent on pipes.
    private static let fewDescriptors = 384

    /// Chooses, in libfuse's init callback.
    ///
    /// - Parameters:
    ///   - connection: What the kernel offers and gets.
    ///   - interruptibleReads: See ``Session/Configuration/interruptibleReads``.
    static func choose(_ connection: inout fuse_conn_info, interruptibleReads: Bool) {
        connection.want |= connection.capable & UInt32(wanted)
        connection.want &= ~UInt32(unwanted)
        // libfuse splices through a pipe for each thread that answers, which it makes by itself and keeps.
        if Descriptors.own.usable < fewDescriptors { connection.want &= ~UInt32(FUSE_CAP_SPLICE_WRITE) }
        if interruptibleReads {
            connection.want &= ~UInt32(FUSE_CAP_ASYNC_READ)
        } else {
            connection.want |= connection.capable & UInt32(FUSE_CAP_ASYNC_READ)
        }
        connection.max_readahead = min(connection.max_readahead, readAhead)
        // Times are whole seconds.
        connection.time_gran = 1_000_000_000
    }
}
