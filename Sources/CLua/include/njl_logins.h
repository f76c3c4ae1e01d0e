/* njl_logins.h - tokens, logins and logouts, and the orderly shutdown of a client. */
#ifndef NJL_LOGINS_H
#define NJL_LOGINS_H

#include "njl_types.h"

/* A token that the caller has obtained. `data` of `refresh` is NULL if there is no refresh token. `data` of `scheme` is
 * NULL if the client has only one scheme. A negative `lifetime` is unknown. */
typedef struct njl_token {
  njl_bytes access, refresh, scheme;
  double lifetime; /* seconds */
} njl_token;
/* Returns false and sets `*error` on failure. */
bool njl_client_set_token(njl_client *client, const njl_token *token, njl_future **error);

/* A credential store that functions of the script implement. */
typedef struct njl_token_store njl_token_store;
/* `number` is the number under which the requests for records arrive. Returns NULL if `engine` is NULL. */
njl_token_store *njl_token_store_new(njl_engine *engine, int64_t number);
void njl_token_store_release(njl_token_store *store);

/* Starts a login. The login is awaited, cancelled and abandoned like a call. A poll reports `wait` when the user has to
 * act (njl_login_prompts) and when the login has ended. Returns NULL and sets `*error` if the login could not start. */
njl_future *njl_login_start(njl_engine *engine, njl_client *client, njl_wait *wait, njl_bytes scheme,
                             njl_future **error);
/* Starts a logout. The logout is awaited, cancelled and abandoned like a call. Returns NULL and sets `*error` if the
 * logout could not start. */
njl_future *njl_logout_start(njl_engine *engine, njl_client *client, njl_wait *wait, njl_bytes scheme,
                             bool clears_cookies, njl_future **error);
/* Starts to wait for the end of the client's work. The wait is awaited, cancelled and abandoned like a call. `seconds` of 0
 * is no limit. Returns NULL and sets `*error` if the client is closed. */
njl_future *njl_drain_start(njl_engine *engine, njl_client *client, njl_wait *wait, double seconds, njl_future **error);
/* Returns true once for each prompt: show the NJL_PROMPT_ fields that the outcome has to the user. */
bool njl_login_prompts(njl_future *login);
bool njl_login_has_failed(const njl_future *login);

#endif
