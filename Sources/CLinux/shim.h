// Linux system calls that the Glibc module does not show Swift: extended attributes, inode flags, variadic calls.
#ifndef RANKFS_CLINUX_SHIM_H
#define RANKFS_CLINUX_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
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

// Makes a file that lives in memory and has no name; returns its descriptor, or -1 with errno (memfd_create(2)).
static inline int rankfs_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);
}

// An ioctl without an argument; returns what ioctl(2) does, with errno.
static inline int rankfs_ioctl(int descriptor, unsigned long request) {
    return ioctl(descriptor, request, 0);
}

#endif
