// cairo, which draws the embedded origin's pictures, and zlib, on which its PNG writer stands anyway: the origin
// needs crc32() for the chunk that it adds to a PNG and deflate() for answers compressed on purpose.
#ifndef RANKFS_CCAIRO_SHIM_H
#define RANKFS_CCAIRO_SHIM_H

#include <cairo.h>
#include <zlib.h>

/// deflateInit2 as a function (it is a macro that Swift cannot see); windowBits 31 means the gzip format.
static inline int rankfs_gzip_init(z_stream *stream) {
  return deflateInit2(stream, Z_BEST_SPEED, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
}

#endif
