/* njl_clients.h - clients: creation, limits, log, pinning. */
#ifndef NJL_CLIENTS_H
#define NJL_CLIENTS_H

#include "njl_logins.h"
#include "njl_mocks.h"
#include "njl_types.h"

/* The events of a client that `engine` receives in addition to the ends of the client's calls. The events arrive under
 * `number`. */
typedef struct njl_listener {
  int64_t number;
  int level;             /* receives log lines up to this level; 0: none */
  /* The names of the security schemes with a token function (see njl_engine_next_callback). `data` is NULL for the
   * client's only scheme. All other options of these schemes are in `options`. */
  const njl_bytes *provided;
  size_t provided_count;
  bool reports_logins;  /* receives a notification when an interactive login is required */
  bool reports_pins;    /* receives a notification for each certificate chain without a pinned key */
  bool observes_steps;  /* receives notifications about the steps of calls */
  bool decides_challenges; /* receives a decision request for each challenge */
  bool decides_requests;   /* receives a decision request for the request of each call */
  bool decides_storing;    /* receives a decision request for each response that the cache could store */
  bool resolves_names;     /* receives a decision request for each name without known addresses */
  bool decides_addresses;  /* receives a decision request for the addresses of each connection */
  const njl_token_store *token_store; /* of logins with the store "host:KEY"; NULL: none */
  const njl_mock *mock; /* used in place of the network; NULL: no mock, or the mock in the options */
} njl_listener;

/* Creates a client. `options` is a JSON object of the schema of nj_config_merge_json. Returns NULL and sets `*error` on
 * failure. */
njl_client *njl_client_new(njl_bytes options, njl_engine *engine, const njl_listener *listener, njl_future **error);
void njl_client_retain(njl_client *client);
void njl_client_release(njl_client *client);
/* Cancels the calls in flight and returns when all activity of the client has stopped. */
void njl_client_close(njl_client *client);

/* Returns the state of the limits of the client's origins and groups, a JSON array of objects, owned by the caller. */
njl_text *njl_client_limits(const njl_client *client);

/* Returns a number of LogSink.Level; 0: the client has no log. */
int njl_client_log_level(const njl_client *client);
void njl_client_log(njl_client *client, int level, njl_bytes line);

/* Changes the effect of pin mismatches. Returns false and sets `*error` for an unknown mode and for a closed client. */
bool njl_client_set_pinning(njl_client *client, njl_bytes mode, njl_future **error);

/* The length of a SHA-256 digest in hexadecimal digits. */
enum { NJL_DIGEST_TEXT = 64 };

/* Writes the digest of the URL of `target` to `key`, without a NUL. Returns false and sets `*error` if the target is
 * invalid. */
bool njl_graphql_key(njl_client *client, njl_bytes target, char *key, njl_future **error);
/* Returns the names that can follow the incomplete document `text`, one per line, owned by the caller. `kind` is that of a
 * document that begins with a brace. Empty if the schema of `key` is not loaded. */
njl_text *njl_graphql_complete(njl_engine *engine, njl_bytes key, njl_bytes text, njl_bytes kind);

#endif
