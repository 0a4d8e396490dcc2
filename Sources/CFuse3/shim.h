// libfuse3's low-level interface, with what Swift cannot see: macros and variadic functions.
#ifndef RANKFS_CFUSE3_SHIM_H
#define RANKFS_CFUSE3_SHIM_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

// fuse_session_loop_mt is a function in Debian's build but a macro over a versioned symbol elsewhere.
static inline int rankfs_fuse_session_loop_mt(struct fuse_session *session, struct fuse_loop_config *config) {
    return fuse_session_loop_mt(session, config);
}

#endif
