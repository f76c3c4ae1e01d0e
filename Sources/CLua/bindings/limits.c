/* limits.c - api:limits(): how the origins and groups of a client stand with their limits. */
#include "json/json.h"
#include "bindings/bindings.h"

/* api:limits() -> {{name =, inside =, waiting =, circuit =, pause =}, ...}: those of which there is something to tell */
int njl_limits(lua_State *L) {
  njl_check_client(L);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_client_limits(njl_check_client(L)); /* which finalizers may have closed */
  njl_bytes json = njl_text_bytes(loan->text);
  njl_json_decode(L, "the limits", json.data, json.length);
  return 1;
}
