/* njl_records.h - the records of a response body, such as its lines. */
#ifndef NJL_RECORDS_H
#define NJL_RECORDS_H

#include "njl_calls.h"
#include "njl_types.h"

/* A reader of the records of one response. Owned by the caller. */
typedef struct njl_records njl_records;

typedef enum njl_record_format {
  NJL_LINES,
  NJL_JSON_VALUES, /* the Content-Type decides whether they are lines or a JSON sequence (RFC 7464) */
} njl_record_format;

/* Creates a reader. `maximum` is the maximum length of a record in bytes; 0: the default. */
njl_records *njl_records_new(njl_future *response, njl_record_format format, size_t maximum);
void njl_records_release(njl_records *records);
/* Sets `*record` to the next record, borrowed until njl_records_take, or returns why there is none. The same record is
 * returned until it is taken, and a failure is returned again. */
njl_part njl_records_next(njl_records *records, njl_wait *wait, njl_bytes *record, njl_future **error);
/* Takes the record that njl_records_next has returned. Returns false if it was taken before. */
bool njl_records_take(njl_records *records);
/* Fails the reader, because the record that was taken last is not JSON. Returns the error, owned by the caller, and
 * cancels the call. */
njl_future *njl_records_reject(njl_records *records, njl_bytes problem);

/* Returns the Accept field of a request for JSON values. The text is static. */
njl_bytes njl_accepted_json(void);

#endif
