/* limits.c - api:limits(): the state of the limits of a client's origins and groups. */
#include <lua5.4/lua.h>

#include "bindings/bindings.h"
#include "njl_clients.h"

/* api:limits() -> {{name =, in_flight =, queued =, circuit =, pause =}, ...}: the origins and groups whose limits are
 * in use */
int njl_limits(lua_State *L) {
  njl_check_client(L);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_client_limits(njl_check_client(L)); /* finalizers may have closed the client */
  njl_loan_push_json(L, loan, "the limits");
  return 1;
}
