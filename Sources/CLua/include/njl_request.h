/* njl_request.h - a request as Swift receives it. */
#ifndef NJL_REQUEST_H
#define NJL_REQUEST_H

#include "njl_types.h"

/* A part of a multipart form. The `data` of an absent `filename` or `content_type` is NULL. */
typedef struct njl_form_part {
  njl_bytes name;
  njl_bytes content; /* a path if `is_file` */
  bool is_file;
  njl_bytes filename;
  njl_bytes content_type;
} njl_form_part;

/* A response to store in a cache as if a server had sent it. */
typedef struct njl_cache_insertion {
  int status;
  const njl_pair *headers;
  size_t header_count;
  njl_bytes body;
  bool is_json; /* Content-Type is application/json, unless the headers contain one */
} njl_cache_insertion;

/* The Content-Type implied by a body that was given as a value. The headers of the request and of the client
 * override it. */
typedef enum njl_implied_type { NJL_TYPE_UNKNOWN, NJL_TYPE_JSON, NJL_TYPE_FORM } njl_implied_type;

typedef struct njl_request {
  njl_bytes method;
  njl_bytes target;
  bool is_bare; /* only method and target are set, and the script waits only for the end of the call */
  const njl_pair *query;
  size_t query_count;
  const njl_pair *params; /* for the template in the target */
  size_t param_count;
  const njl_pair *headers;
  size_t header_count;
  bool has_body;
  njl_bytes body;
  njl_implied_type implied_type;
  njl_bytes file; /* the path of a file to send in place of `body`; `data` NULL: none */
  int64_t file_offset; /* the first byte of the file to send */
  int64_t file_length; /* the number of bytes of the file to send; negative: up to its end */
  bool has_form;  /* send the form of `parts` in place of `body` */
  const njl_form_part *parts;
  size_t part_count;
  const int *expected; /* statuses that count as success; none: the client's rule */
  size_t expected_count;
  double connect, idle, total; /* seconds; 0: no limit; negative: the client's limit */
  bool streams_body;           /* in place of `body`: the body is pulled, see njl_call_needs_body */
  bool restarts_body;          /* the pulled body can be produced again from its start, see njl_call_restarts_body */
  int64_t body_length;         /* length of the pulled body in bytes; negative: unknown */
  bool is_streamed;            /* the response body arrives in parts, see njl_stream_next */
  bool decides_redirects;      /* see njl_call_redirect_status */
  bool decides_retries;        /* see njl_call_attempt */
  bool reports_refresh;        /* see njl_call_refresh */
  bool reports_progress;       /* see njl_call_progress */
  bool reports_waiting;        /* see njl_call_waits */
  bool is_followed;            /* njl_session_progress includes the call */
  /* returns only a cache entry; without a cache entry, the call ends with neither response nor error */
  bool is_cache_lookup;
  const njl_cache_insertion *insertion; /* store this response instead of sending the request; NULL: send it */
  njl_bytes endpoint; /* the name of the endpoint to call, in place of method and target; `data` NULL: none */
  njl_bytes arguments; /* the endpoint's arguments, a JSON object; empty: none */
  njl_bytes value; /* in place of `body`: JSON that is encoded as the endpoint requires; `data` NULL: none */
  const struct njl_catalog *catalog; /* the catalog that contains the endpoint */
  /* the subrequest that the request is made for; the subrequest's URL is used unless the hooks changed the path */
  njl_subrequest *subrequest;
  njl_events *events; /* the event stream that the call is a connection of; NULL: none */
  njl_bytes rare; /* further options, a JSON object of the schema of nj_request_merge_json; empty: none */
} njl_request;

#endif
