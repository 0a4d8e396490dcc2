// zlib, on which libpng stands anyway: the embedded origin needs crc32() for the chunks that it adds to a PNG and deflate() for
// answers compressed on purpose.
#ifndef RANKFS_CZLIB_SHIM_H
#define RANKFS_CZLIB_SHIM_H

#include <zlib.h>

/// deflateInit2 as a function (it is a macro that Swift cannot see); windowBits 31 means the gzip format.
static inline int rankfs_gzip_init(z_stream *stream) {
  return deflateInit2(stream, Z_BEST_SPEED, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
}

#endif
