/* njl_work.h - descriptors, open files, and blocking work on other threads. */
#ifndef NJL_WORK_H
#define NJL_WORK_H

#include "njl_types.h"

/* Starts waiting until the descriptor is readable (or writable), or is broken. A poll then reports `wait`. A
 * descriptor that does not support polling, such as a regular file, is always ready. The descriptor is neither
 * changed nor owned: end the wait before closing it. Returns an outcome, owned by the caller and abandoned like a
 * call. Returns NULL and sets `*error` if the wait could not start. */
njl_future *njl_descriptor_await(njl_engine *engine, int descriptor, bool writes, njl_wait *wait, njl_future **error);

/* An open file, or a temporary file or folder that is removed on release. Owned by the caller. */
typedef struct njl_resource njl_resource;
void njl_resource_release(njl_resource *resource);
/* Returns the non-blocking descriptor of an open named pipe or device. The caller owns the descriptor. Returns -1 if
 * the resource is neither, or if its descriptor was already taken. */
int njl_resource_take_descriptor(njl_resource *resource);

/* Starts the work `name` (see Files.swift) on another thread. The work is awaited, cancelled and abandoned like a call;
 * work that has started is always completed. The arguments are copied. Returns NULL and sets `*error` if the work could
 * not start. */
njl_future *njl_work_start(njl_engine *engine, njl_bytes name, const njl_value *arguments, size_t count, njl_wait *wait,
                            njl_future **error);
/* Starts reading the next bytes of an open file, at most `most`, like njl_work_start. The result is nil at the end of
 * the file. */
njl_future *njl_resource_read(njl_engine *engine, njl_resource *resource, int64_t most, njl_wait *wait,
                               njl_future **error);
/* Opens an outbox of the client. `options` is a JSON object. Returns it, owned by the caller, and sets `*number`, which
 * names it in njl_work_start. Returns NULL and sets `*error` on failure. */
njl_resource *njl_outbox_open(njl_engine *engine, njl_client *client, njl_bytes options, int64_t *number,
                              njl_future **error);
/* These functions read the results of the work: a list, or one value. njl_work_value sets `*value`, which is borrowed
 * from the outcome, and returns false if `index` is too large. */
bool njl_work_is_list(const njl_future *future);
size_t njl_work_count(const njl_future *future);
bool njl_work_value(const njl_future *future, size_t index, njl_value *value);
bool njl_work_has_resource(const njl_future *future);
njl_resource *njl_work_take_resource(njl_future *future); /* owned by the caller */

#endif
