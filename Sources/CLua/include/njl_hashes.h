/* njl_hashes.h - digests and random bytes. */
#ifndef NJL_HASHES_H
#define NJL_HASHES_H

#include "njl_types.h"

/* The numbers equal those of HashFunction. */
typedef enum njl_hash_function { NJL_MD5, NJL_SHA1, NJL_SHA256, NJL_SHA384, NJL_SHA512 } njl_hash_function;
#define NJL_LONGEST_HASH 64
/* A digest, or with a key an HMAC, of bytes that arrive in pieces. Owned by the caller. njl_hash_new returns NULL if
 * out of memory. */
typedef struct njl_hash njl_hash;
njl_hash *njl_hash_new(njl_hash_function function, const njl_bytes *key);
void njl_hash_update(njl_hash *hash, njl_bytes bytes);
/* Writes the digest to `digest`, which must have room for NJL_LONGEST_HASH bytes, and returns its length. No update
 * may follow. */
size_t njl_hash_finish(njl_hash *hash, uint8_t *digest);
void njl_hash_release(njl_hash *hash);
/* Fills `bytes` with cryptographically secure random bytes. */
void njl_random(void *bytes, size_t count);

#endif
