// OpenSSL's MD5, by which services and desktops name files, which protects nothing; SHA-256, with which requests are signed and
// shared objects verified; and base64.
#ifndef RANKFS_CCRYPTO_SHIM_H
#define RANKFS_CCRYPTO_SHIM_H

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/md5.h>
#include <openssl/sha.h>
#include <stddef.h>

// The functions of MD5_Init(3) need no provider, so that they work where a configuration allows approved algorithms alone. OpenSSL 3
// calls them deprecated for new uses; these fit no other.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static inline void rankfs_md5_init(MD5_CTX *state) { MD5_Init(state); }

static inline void rankfs_md5_update(MD5_CTX *state, const void *bytes, size_t count) { MD5_Update(state, bytes, count); }

static inline void rankfs_md5_final(unsigned char *digest, MD5_CTX *state) { MD5_Final(digest, state); }

static inline void rankfs_sha256_init(SHA256_CTX *state) { SHA256_Init(state); }

static inline void rankfs_sha256_update(SHA256_CTX *state, const void *bytes, size_t count) {
    SHA256_Update(state, bytes, count);
}

// `digest` has SHA256_DIGEST_LENGTH bytes.
static inline void rankfs_sha256_final(unsigned char *digest, SHA256_CTX *state) { SHA256_Final(digest, state); }

#pragma GCC diagnostic pop

// 1 for equal bytes; takes as long for different ones (CRYPTO_memcmp(3)).
static inline int rankfs_are_equal(const void *one, const void *other, size_t count) {
    return CRYPTO_memcmp(one, other, count) == 0;
}

// HMAC(3): a key of no bytes must not be NULL. Keys are secrets and parts of dates, far below INT_MAX.
static inline int rankfs_hmac_sha256(const void *key, int length, const void *bytes, size_t count, unsigned char *digest) {
    return HMAC(EVP_sha256(), key, length, (const unsigned char *)bytes, count, digest, NULL) != NULL;
}

#endif
