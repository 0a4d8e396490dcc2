// xxHash: XXH3, the fast hash that stored pictures are checked with.
#ifndef RANKFS_CXXHASH_SHIM_H
#define RANKFS_CXXHASH_SHIM_H

#include <xxhash.h>

#endif
