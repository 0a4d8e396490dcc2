// libfuse3's low-level interface, with what Swift cannot see: macros, variadic functions and va_list.
#ifndef RANKFS_CFUSE3_SHIM_H
#define RANKFS_CFUSE3_SHIM_H

#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

// fuse_session_loop_mt is a function in Debian's build but a macro over a versioned symbol elsewhere.
static inline int rankfs_fuse_session_loop_mt(struct fuse_session *session, struct fuse_loop_config *config) {
    return fuse_session_loop_mt(session, config);
}

// fuse_session_new is a function in libfuse 3.14 but a macro from 3.17 on.
static inline struct fuse_session *rankfs_fuse_session_new(
    struct fuse_args *arguments, const struct fuse_lowlevel_ops *operations, size_t size, void *user_data) {
    return fuse_session_new(arguments, operations, size, user_data);
}

// splice(2), which glibc declares for _GNU_SOURCE only.
static inline ssize_t rankfs_splice(
    int in, off_t *in_offset, int out, off_t *out_offset, size_t size, unsigned int flags) {
    return syscall(SYS_splice, in, in_offset, out, out_offset, size, flags);
}

// FUSE_DIRECT_IO_ALLOW_MMAP, where this libfuse has a name for it; for one that has none `InitialAnswer` adds it.
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
#define RANKFS_CAP_MAPS_DIRECT FUSE_CAP_DIRECT_IO_ALLOW_MMAP
#else
#define RANKFS_CAP_MAPS_DIRECT 0
#endif

// Bytes of a file that are answered by way of memory at most.
#define RANKFS_COPY_LIMIT 8192

// Answers a read with bytes of a file, by way of the calling thread's stack; with EIO if it has fewer there.
static __attribute__((noinline)) int rankfs_reply_copy(
    fuse_req_t request, int descriptor, off_t offset, size_t count) {
    char bytes[RANKFS_COPY_LIMIT];
    if (count > sizeof bytes || pread(descriptor, bytes, count, offset) != (ssize_t)count) {
        return fuse_reply_err(request, EIO);
    }
    return fuse_reply_buf(request, bytes, count);
}

// One line of libfuse's log; `level` counts as in syslog(2). May be called on any thread.
typedef void (*rankfs_fuse_log_callback)(int level, const char *line);

// Where the log goes; in a function, because Swift does not emit a header's variables.
static inline rankfs_fuse_log_callback *rankfs_fuse_log_receiver(void) {
    static rankfs_fuse_log_callback receiver;
    return &receiver;
}

// fuse_log_func_t takes a va_list, which Swift cannot read.
static inline void rankfs_fuse_log_relay(enum fuse_log_level level, const char *format, va_list arguments) {
    char line[1024];
    vsnprintf(line, sizeof line, format, arguments);
    rankfs_fuse_log_callback receiver = *rankfs_fuse_log_receiver();
    if (receiver) receiver((int)level, line);
}

// Sends libfuse's log to `receiver` from now on, for the whole process. Call it from one place, before any session.
static inline void rankfs_fuse_log_to(rankfs_fuse_log_callback receiver) {
    *rankfs_fuse_log_receiver() = receiver;
    fuse_set_log_func(rankfs_fuse_log_relay);
}

#endif
