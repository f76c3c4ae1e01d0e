/* njl_callbacks.h - decision requests of clients to their script. */
#ifndef NJL_CALLBACKS_H
#define NJL_CALLBACKS_H

#include "njl_types.h"

/* A decision request of a client to its script: for a token, a mock's response, the decision of a challenge, the
 * headers of a request, whether a response is stored, the addresses of a name, which addresses are allowed, or the
 * record of a login. Also the notifications that a login is required, that a certificate chain has no pinned key, and that
 * steps of calls wait for their observer. */
typedef struct njl_callback njl_callback;
typedef enum njl_callback_kind {
  NJL_TOKEN_NEEDED,
  NJL_TOKEN_REJECTED, /* a new token is needed because the server rejected the last token */
  NJL_LOGIN_REQUIRED, /* a notification; needs no response */
  NJL_PIN_MISMATCH,   /* a notification; njl_callback_request returns the report */
  NJL_STEPS,          /* a notification; njl_callback_take_step returns the steps */
  NJL_CHALLENGE,      /* njl_callback_decide responds */
  NJL_CALL_REQUEST,   /* njl_callback_decide responds */
  NJL_STORE,          /* njl_callback_decide responds */
  NJL_NAME,           /* njl_callback_decide responds */
  NJL_ADDRESSES,      /* njl_callback_decide responds */
  NJL_RECORD,         /* njl_callback_decide responds; `*client` is then the number of the token store */
  NJL_MOCK_REQUEST, /* a mock's function must return a response; `*client` is then the number of the mock */
} njl_callback_kind;

/* Returns the oldest decision request that has arrived, owned by the caller, and sets `*client` to the number of its
 * listener. A decision request that is released without a response fails. Returns NULL if no request has arrived. */
njl_callback *njl_engine_next_callback(njl_engine *engine, int64_t *client, njl_callback_kind *kind);
/* Responds with a token that is valid for `lifetime` seconds; negative: unknown. The request fails if the token is
 * invalid. */
void njl_callback_provide(njl_callback *callback, njl_bytes token, double lifetime);
/* Responds that there is no token, which ends the login. */
void njl_callback_end_login(njl_callback *callback);
/* Makes the waiting calls fail with the message. The login is kept. */
void njl_callback_fail(njl_callback *callback, njl_bytes message);
void njl_callback_release(njl_callback *callback);
/* Returns the number, from 1, of the function that must respond: a function of a mock, or one of the client's token
 * functions. */
int64_t njl_callback_function(const njl_callback *callback);
njl_callback_kind njl_callback_kind_of(const njl_callback *callback);
int64_t njl_callback_listener(const njl_callback *callback); /* the number of the listener */
bool njl_callback_is_open(const njl_callback *callback);     /* whether the request has no response yet */
/* Returns the request, the report of NJL_PIN_MISMATCH, the challenge of NJL_CHALLENGE or the response of NJL_STORE, a JSON
 * object. */
njl_text *njl_callback_request(const njl_callback *callback);
/* Returns the oldest step that waits for the observer, a JSON object owned by the caller. Returns NULL if no step waits;
 * the next step then leads to another notification. The same holds after the release of the notification. */
njl_text *njl_callback_take_step(njl_callback *callback);
typedef enum njl_choice { NJL_CHOOSE_DEFAULT, NJL_CHOOSE_TABLE, NJL_CHOOSE_CANCEL } njl_choice;
/* Responds to NJL_CHALLENGE, NJL_CALL_REQUEST, NJL_STORE, NJL_NAME, NJL_ADDRESSES or NJL_RECORD. `text` is the credentials
 * or the headers as a JSON object, the addresses as a JSON array, the loaded record, or the message of a cancellation
 * (NULL: no message). The waiting calls fail if the credentials, the headers or the addresses are invalid. */
void njl_callback_decide(njl_callback *callback, njl_choice choice, njl_bytes text);
/* Returns the body of the request of NJL_MOCK_REQUEST or NJL_CALL_REQUEST, or the record that NJL_RECORD saves, owned by the
 * caller. NULL if the body of the call is supplied or read while it is sent, and if no record is saved. */
njl_text *njl_callback_body(const njl_callback *callback);
/* The function below is for decision requests of kind NJL_MOCK_REQUEST. */
/* Responds with `response`, a JSON object. `body` is its body unless its data is NULL. The request fails if the
 * object does not match the schema. */
void njl_callback_respond(njl_callback *callback, njl_bytes response, njl_bytes body);

#endif
