internal import CFuse3

/// libfuse's session, from mounting to destruction.
///
/// ## Concurrency
///
/// `@unchecked` for the pointer: libfuse's functions on a session lock for themselves. ``Session`` sees to it that
/// `destroy` is called once and last, and `unmount` only when nobody else is in the session.
@safe struct SessionHandle: @unchecked Sendable {
    private let session: OpaquePointer

    /// Makes a session that is not mounted yet; nil if libfuse refuses the options.
    ///
    /// - Parameters:
    ///   - options: As in `-o`, one by one.
    ///   - dispatcher: Kept by the session until ``destroy(dispatcher:)``.
    init?(options: [String], dispatcher: Dispatcher) {
        var arguments = unsafe fuse_args()
        defer { unsafe fuse_opt_free_args(&arguments) }
        // The first is the program's name, which libfuse skips.
        unsafe fuse_opt_add_arg(&arguments, "fuse")
        for option in options {
            unsafe fuse_opt_add_arg(&arguments, "-o")
            unsafe fuse_opt_add_arg(&arguments, Self.escaped(option))
        }
        var operations = Operations.table()
        let box = unsafe Unmanaged.passRetained(dispatcher)
        guard
            let session = unsafe fuse_session_new(
                &arguments, &operations, MemoryLayout<fuse_lowlevel_ops>.size, box.toOpaque())
        else {
            unsafe box.release()
            return nil
        }
        unsafe self.session = unsafe session
    }

    /// fuse_opt_parse(3) separates options at commas, and takes a backslash for an escape.
    static func escaped(_ option: String) -> String {
        var result = ""
        for scalar in option.unicodeScalars {
            if scalar == "," || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    /// Mounts; whether that succeeded.
    func mount(at mountPoint: String) -> Bool {
        guard unsafe fuse_session_mount(session, mountPoint) == 0 else { return false }
        if InitialAnswer.needsCompletion {
            var access = InitialAnswer.deviceAccess()
            // Fails only for want of memory, and then directories are asked one request at a time, as without it.
            unsafe fuse_session_custom_io(session, &access, fuse_session_fd(session))
        }
        return true
    }

    /// Serves requests until the session ends: 0, or -errno.
    func loop(workers: UInt32) -> Int32 {
        let configuration = unsafe fuse_loop_cfg_create()
        defer { unsafe fuse_loop_cfg_destroy(configuration) }
        unsafe fuse_loop_cfg_set_max_threads(configuration, workers)
        return unsafe rankfs_fuse_session_loop_mt(session, configuration)
    }

    /// Ends the loop the next time that it looks, which it does between two requests and when it is interrupted.
    func exit() {
        unsafe fuse_session_exit(session)
    }

    /// The kernel forgets the attributes and pages of an inode.
    func invalidate(inode: UInt64) {
        unsafe fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode), 0, 0)
    }

    /// The kernel forgets the attributes of an inode, and keeps its pages: a negative offset says so
    /// (`fuse_lowlevel_notify_inval_inode` in fuse_lowlevel.h).
    func invalidateAttributes(inode: UInt64) {
        unsafe fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode), -1, 0)
    }

    /// Unmounts, lazily if it is busy, and closes `/dev/fuse`: whoever still waits in the kernel gets an error.
    func unmount() {
        unsafe fuse_session_unmount(session)
    }

    /// Frees the session and what it kept.
    func destroy(dispatcher: Dispatcher) {
        unsafe fuse_session_destroy(session)
        unsafe Unmanaged.passUnretained(dispatcher).release()
    }
}
