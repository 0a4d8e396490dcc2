// Zstandard (RFC 8878) by its own library (zstd.h, "Simple API").
#ifndef RANKFS_CZSTD_SHIM_H
#define RANKFS_CZSTD_SHIM_H

#include <zstd.h>

#endif
