// OpenSSL's MD5, by which services and desktops name files; it protects nothing.
#ifndef RANKFS_CCRYPTO_SHIM_H
#define RANKFS_CCRYPTO_SHIM_H

#include <openssl/md5.h>
#include <stddef.h>

// The functions of MD5_Init(3) need no provider, so that they work where a configuration allows approved algorithms alone. OpenSSL 3
// calls them deprecated for new uses; these fit no other.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static inline void rankfs_md5_init(MD5_CTX *state) { MD5_Init(state); }

static inline void rankfs_md5_update(MD5_CTX *state, const void *bytes, size_t count) { MD5_Update(state, bytes, count); }

static inline void rankfs_md5_final(unsigned char *digest, MD5_CTX *state) { MD5_Final(digest, state); }

#pragma GCC diagnostic pop

#endif
