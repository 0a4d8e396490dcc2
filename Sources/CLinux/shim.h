// Linux system calls that the Glibc module does not show Swift: extended attributes, inode flags, variadic calls.
#ifndef RANKFS_CLINUX_SHIM_H
#define RANKFS_CLINUX_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

// Adds the nodump flag (chattr +d) to an open file or directory; returns 0, or -1 with errno (ioctl_iflags(2)).
static inline int rankfs_set_nodump(int descriptor) {
    int flags = 0;
    if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) != 0) return -1;
    if (flags & FS_NODUMP_FL) return 0;
    flags |= FS_NODUMP_FL;
    return ioctl(descriptor, FS_IOC_SETFLAGS, &flags);
}

// Tells whether the nodump flag is set: 1, 0, or -1 with errno.
static inline int rankfs_get_nodump(int descriptor) {
    int flags = 0;
    if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) != 0) return -1;
    return (flags & FS_NODUMP_FL) != 0;
}

// The flag of open(2) that Glibc's module hides: reads go past the page cache.
static inline int rankfs_o_direct(void) {
    return __O_DIRECT;
}

// Makes a file that lives in memory and has no name; returns its descriptor, or -1 with errno (memfd_create(2)).
static inline int rankfs_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);
}

// Opens a path itself, not what a link leads to nor what an automounter would mount there (open(2), O_PATH).
static inline int rankfs_open_path(const char *path) {
    return open(path, __O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

// Opens an absolute path itself, and fails if any part of it is a link; returns its descriptor, or -1 with errno (openat2(2)).
static inline int rankfs_open_exactly(const char *path) {
    struct open_how how = {0};
    how.flags = __O_PATH | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

// The type of the file system that an open file is on, a number of linux/magic.h, or -1 with errno (fstatfs(2)).
static inline long rankfs_file_system_type(int descriptor) {
    // struct statfs is 120 bytes and begins with the type; its header would bring along types that other modules own.
    long fields[32] = {0};
    return syscall(SYS_fstatfs, descriptor, fields) == 0 ? fields[0] : -1;
}

// What glibc declares for _GNU_SOURCE only; its wrappers change every thread of the process, the bare calls only one.
extern int unshare(int namespaces);
extern int setresuid(uid_t real, uid_t effective, uid_t saved);
extern int setresgid(gid_t real, gid_t effective, gid_t saved);
extern int getresuid(uid_t *real, uid_t *effective, uid_t *saved);
extern int getresgid(gid_t *real, gid_t *effective, gid_t *saved);

// prctl(2) with one number, the others zero.
static inline int rankfs_prctl(int operation, unsigned long argument) {
    return prctl(operation, argument, 0ul, 0ul, 0ul);
}

// Names the process for ps(1) and the kernel's log (PR_SET_NAME).
static inline void rankfs_name_process(const char *name) {
    prctl(PR_SET_NAME, name, 0ul, 0ul, 0ul);
}

// Empties the calling thread's capability sets, which needs no privilege; returns 0, or -1 with errno (capset(2)).
static inline int rankfs_clear_capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    return (int)syscall(SYS_capset, &header, data);
}

// Whether the calling thread has no capability, nor could get one: 1, 0, or -1 with errno (capget(2)).
static inline int rankfs_has_no_capability(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    if (syscall(SYS_capget, &header, data) != 0) return -1;
    for (int i = 0; i < 2; i++) {
        if (data[i].effective || data[i].permitted || data[i].inheritable) return 0;
    }
    return 1;
}

// Makes an open folder the root directory of the process; returns 0, or -1 with errno (chroot(2)).
static inline int rankfs_change_root(int folder) {
    if (fchdir(folder) != 0 || syscall(SYS_chroot, ".") != 0) return -1;
    return chdir("/");
}

// Lets every thread of the process that is started from now on make the calls of a filter only; returns 0, or -1 with errno
// (seccomp(2)). Needs PR_SET_NO_NEW_PRIVS.
static inline int rankfs_filter_calls(struct sock_filter *filter, unsigned short count) {
    struct sock_fprog program = {count, filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0ul, 0ul);
}

// What a filter sees of the machine: the number of its architecture (linux/audit.h); 0 where none is known here.
static inline unsigned rankfs_architecture(void) {
#if defined(__x86_64__)
    return AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
    return AUDIT_ARCH_AARCH64;
#else
    return 0;
#endif
}

// Room for one descriptor, aligned as cmsg(3) wants it.
union rankfs_descriptor_message {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int))];
};

// Sends bytes and, unless it is negative, a descriptor with them (unix(7), SCM_RIGHTS); returns what sendmsg(2) does.
static inline ssize_t rankfs_send(int socket, const void *bytes, size_t count, int descriptor, int flags) {
    struct iovec part = {(void *)bytes, count};
    union rankfs_descriptor_message control;
    struct msghdr message = {0};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control.space;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        __builtin_memcpy(CMSG_DATA(&control.head), &descriptor, sizeof(int));
    }
    return sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

// Receives bytes and the descriptor that came with them, -1 if none did; with a null pointer none is taken. Returns what
// recvmsg(2) does.
static inline ssize_t rankfs_receive(int socket, void *bytes, size_t count, int *descriptor, int flags) {
    struct iovec part = {bytes, count};
    union rankfs_descriptor_message control;
    struct msghdr message = {0};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor) {
        *descriptor = -1;
        message.msg_control = &control;
        // Not the whole space, in which there is room for two.
        message.msg_controllen = CMSG_LEN(sizeof(int));
    }
    ssize_t received = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    if (received < 0 || !descriptor) return received;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
        __builtin_memcpy(descriptor, CMSG_DATA(head), sizeof(int));
    return received;
}

// The program will start without the descriptors from `first` on; returns 0 or an error number. Declared here because
// glibc hides it without _GNU_SOURCE (posix_spawn_file_actions_addclosefrom_np, glibc 2.34).
static inline int rankfs_spawn_without_descriptors(posix_spawn_file_actions_t *actions, int first) {
    extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

#endif
