// Nettle's MD5, by which the embedded origin names originals as the real services do.
//
// libmicrohttpd has TLS from GnuTLS, which stands on Nettle: it is there anyway. Its state is a plain structure, so that hashing
// may go on from a copy of it.
#ifndef RANKFS_CNETTLE_SHIM_H
#define RANKFS_CNETTLE_SHIM_H

#include <nettle/md5.h>
#include <nettle/version.h>

/// The digest of what a state has seen; the state stays as it is.
static inline void rankfs_md5_digest(const struct md5_ctx *state, uint8_t digest[16]) {
  struct md5_ctx copy = *state;
#if NETTLE_VERSION_MAJOR >= 4
  md5_digest(&copy, digest);
#else
  md5_digest(&copy, MD5_DIGEST_SIZE, digest);
#endif
}

/// Takes in more bytes.
static inline void rankfs_md5_update(struct md5_ctx *state, const uint8_t *bytes, size_t count) {
  md5_update(state, count, bytes);
}

/// A state that has seen nothing.
static inline struct md5_ctx rankfs_md5_start(void) {
  struct md5_ctx state;
  md5_init(&state);
  return state;
}

#endif
