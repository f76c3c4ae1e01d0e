/* njl_transfers.h - downloads to files, and uploads. Swift transfers the bytes, and reads and writes the files. */
#ifndef NJL_TRANSFERS_H
#define NJL_TRANSFERS_H

#include "njl_calls.h"
#include "njl_types.h"

typedef struct njl_transfer_options {
  njl_bytes path;         /* of the file, or of the folder of a download; NULL: njl_transfer_provide provides the content */
  njl_bytes settings;     /* a JSON object of the schema of nj_client_download or nj_client_upload */
  bool reports_heads;     /* njl_download_take_head returns the heads of responses */
  bool reports_progress;  /* njl_transfer_take_progress returns the progress */
  bool prepares_requests; /* each request but the first one waits for njl_transfer_connect */
} njl_transfer_options;

typedef struct njl_transfer_progress {
  const char *state; /* static */
  int64_t count;     /* bytes received or sent */
  int64_t total;     /* -1: unknown */
  double rate;       /* bytes per second; -1: unknown */
  double time_left;  /* seconds; -1: unknown */
  int64_t expires;   /* of an upload on the server, in seconds since 1970; -1: unknown */
} njl_transfer_progress;

typedef struct njl_transfer_result {
  int64_t size;
  int64_t count; /* bytes received or sent, including those that were not used */
  int64_t resumed;
  int64_t attempts;
} njl_transfer_result;

/* --- Starting: returns a transfer, owned by the caller, or NULL and sets `*error` --- */

njl_transfer *njl_download_start(njl_engine *engine, njl_client *client, const njl_request *request,
                                 const njl_transfer_options *options, njl_future **error);
njl_transfer *njl_upload_start(njl_engine *engine, njl_client *client, const njl_request *request,
                               const njl_transfer_options *options, njl_future **error);
/* Makes a streamed response, which was not read, a download. */
njl_transfer *njl_download_response(njl_engine *engine, njl_future *response, const njl_transfer_options *options,
                                    njl_future **error);
/* Cancels the transfer, and keeps the part or the upload. */
void njl_transfer_release(njl_transfer *transfer);

/* --- Events, for functions of the script --- */

/* Returns a new outcome in flight, owned by the caller. A poll reports `wait` at the next event of the transfer:
 * progress, a response head, a request to prepare, bytes to provide, or the end. */
njl_future *njl_transfer_await(njl_transfer *transfer, njl_wait *wait);
/* Ends the waits of njl_transfer_await if a request still waits for njl_transfer_connect, or an upload for bytes. */
void njl_transfer_notify(njl_transfer *transfer);
bool njl_transfer_wants_request(const njl_transfer *transfer);
/* Returns false and sets `*error` on failure. */
bool njl_transfer_connect(njl_transfer *transfer, njl_engine *engine, njl_client *client, const njl_request *request,
                          njl_future **error);
bool njl_transfer_wants_bytes(const njl_transfer *transfer);
/* Provides the next bytes of a stream. NULL: its end. */
void njl_transfer_provide(njl_transfer *transfer, const char *bytes, size_t length);
/* Returns the head of a response as a new outcome, owned by the caller. NULL if there is no new one. */
njl_future *njl_transfer_take_head(njl_transfer *transfer);
/* Returns false if there is no new progress. */
bool njl_transfer_take_progress(njl_transfer *transfer, njl_transfer_progress *progress);

/* --- State --- */

bool njl_transfer_is_ended(const njl_transfer *transfer);
/* Returns the error of a transfer that has failed as a new outcome, owned by the caller; NULL: it has not failed. */
njl_future *njl_transfer_error(const njl_transfer *transfer);
njl_transfer_progress njl_transfer_get_progress(const njl_transfer *transfer);
/* Returns false if the transfer has not succeeded. */
bool njl_transfer_get_result(const njl_transfer *transfer, njl_transfer_result *result);
/* Returns the path of a downloaded file, or the URL of an upload, owned by the caller. NULL: none. */
njl_text *njl_transfer_location(const njl_transfer *transfer);
/* Returns the last response to an upload as a new outcome, owned by the caller. NULL: none. */
njl_future *njl_transfer_response(const njl_transfer *transfer);
njl_text *njl_transfer_state(const njl_transfer *transfer); /* owned by the caller; NULL: none */
/* `keeps`: whether a later transfer can continue. */
void njl_transfer_cancel(njl_transfer *transfer, bool keeps);
void njl_transfer_pause(njl_transfer *transfer);
void njl_transfer_resume(njl_transfer *transfer);

/* Removes the entry of a transfer from the client's journal. False: `error` is the error. */
bool njl_client_remove_transfer_entry(njl_client *client, njl_bytes id, njl_future **error);

#endif
