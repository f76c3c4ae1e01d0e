/* njl_caches.h - the cache of a client. */
#ifndef NJL_CACHES_H
#define NJL_CACHES_H

#include "njl_request.h"
#include "njl_types.h"

/* The cache of a client, owned by the caller. njl_client_cache returns NULL if the client has none. */
typedef struct njl_cache njl_cache;
njl_cache *njl_client_cache(const njl_client *client);
void njl_cache_release(njl_cache *cache);

/* Removes the cache entries of the request's URL, or with `is_prefix` of all URLs that begin with that URL. Sets
 * `*count` to the number of removed entries. Returns false and sets `*error` on failure. */
bool njl_client_remove_cached(njl_client *client, const njl_request *request, bool is_prefix, size_t *count,
                              njl_future **error);
/* Removes all cache entries and sets `*count` to their number. Returns false and sets `*error` if entries on disk could
 * not be removed. */
bool njl_cache_clear(njl_cache *cache, size_t *count, njl_future **error);
/* Waits until all pending changes are written to disk. Returns false and sets `*error` if an invalidation or a removal
 * could not be written. */
bool njl_cache_flush(njl_cache *cache, njl_future **error);

typedef struct njl_cache_statistics {
  int64_t hits, stale, misses, validations, bytes_saved;
  int64_t memory_entries, memory_bytes, disk_entries, disk_bytes;
} njl_cache_statistics;
njl_cache_statistics njl_cache_count(const njl_cache *cache);

#endif
