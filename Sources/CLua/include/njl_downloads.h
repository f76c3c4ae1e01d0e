/* njl_downloads.h - downloads to files. Swift transfers the bytes and writes the file. */
#ifndef NJL_DOWNLOADS_H
#define NJL_DOWNLOADS_H

#include "njl_calls.h"
#include "njl_types.h"

typedef struct njl_download_options {
  njl_bytes path;         /* of the file or its folder */
  njl_bytes settings;     /* a JSON object of the schema of nj_download_new */
  bool reports_heads;     /* njl_download_take_head returns the heads of responses */
  bool reports_progress;  /* njl_download_take_progress returns the progress */
  bool prepares_requests; /* each request but the first one waits for njl_download_connect */
} njl_download_options;

typedef struct njl_download_progress {
  const char *state; /* static */
  int64_t received;
  int64_t total;     /* -1: unknown */
  double rate;       /* bytes per second; -1: unknown */
  double time_left;  /* seconds; -1: unknown */
} njl_download_progress;

typedef struct njl_downloaded_file {
  int64_t size;
  int64_t received;
  int64_t resumed;
  int64_t attempts;
} njl_downloaded_file;

/* Starts a download, owned by the caller. Returns NULL and sets `*error` on failure. */
njl_download *njl_download_start(njl_engine *engine, njl_client *client, const njl_request *request,
                                 const njl_download_options *options, njl_future **error);
void njl_download_release(njl_download *download); /* cancels the download and keeps its part */
bool njl_download_wants_request(const njl_download *download);
/* Ends the waits of njl_download_await if a request still waits for njl_download_connect. */
void njl_download_notify(njl_download *download);
/* Returns false and sets `*error` on failure. */
bool njl_download_connect(njl_download *download, njl_engine *engine, njl_client *client, const njl_request *request,
                          njl_future **error);
/* Returns a new outcome in flight, owned by the caller. A poll reports `wait` at the next event of the download:
 * progress, a request to prepare, or the end. */
njl_future *njl_download_await(njl_download *download, njl_wait *wait);
bool njl_download_is_ended(const njl_download *download);
/* Returns the error of a download that has failed as a new outcome, owned by the caller; NULL: it has not failed. */
njl_future *njl_download_error(const njl_download *download);
/* Returns the head of a response as a new outcome, owned by the caller. NULL if there is no new one. */
njl_future *njl_download_take_head(njl_download *download);
/* Returns false if there is no new progress. */
bool njl_download_take_progress(njl_download *download, njl_download_progress *progress);
njl_download_progress njl_download_get_progress(const njl_download *download);
/* Sets `*file` and returns the path, owned by the caller. NULL: the download has not succeeded. */
njl_text *njl_download_file(const njl_download *download, njl_downloaded_file *file);
njl_text *njl_download_state(const njl_download *download); /* owned by the caller; NULL: none */
void njl_download_cancel(njl_download *download, bool keeps_part);
void njl_download_pause(njl_download *download);
void njl_download_resume(njl_download *download);

#endif
