/* upload.c - api:upload and api:start_upload. */
#include "bindings/transfer.h"

#include "core/metatable.h"
#include "core/names.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_future.h"

static const char *const options[] = {"id",       "protocol", "resume",   "checksum",    "chunk_size", "creation_with_upload",
                                      "restart",  "max_rate", "attempts", "retry_delay", "metadata",   "type",
                                      NULL};

static const transfer_kind kind = {.type = NJL_UPLOAD,
                                   .name = "upload",
                                   .count = "sent",
                                   .options = options,
                                   .connector = {"upload", njl_connect_transfer},
                                   .start = njl_upload_start};

/* Looks up upload.NAME. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"wait", "pause", "resume",  "cancel",   "state", "progress", "url",
                                      "response", "size", "sent", "resumed", "attempts", NULL};
  enum { PROGRESS = 5, URL, RESPONSE, SIZE };
  const transfer *self = njl_check(L, 1, NJL_UPLOAD);
  if (njl_push_method(L)) return 1;
  int position = njl_find_name(L, 2, names);
  if (position < PROGRESS) return njl_unknown_field(L, "upload", luaL_tolstring(L, 2, NULL), names);
  if (position == PROGRESS) {
    njl_transfer_progress progress = njl_transfer_get_progress(self->handle);
    njl_push_transfer_progress(L, self, &progress);
    return 1;
  }
  if (position == URL) return njl_push_transfer_text(L, njl_transfer_location, self);
  if (position == RESPONSE) {
    njl_wait *reply = njl_reply_push(L, NULL);
    return njl_reply_respond(L, reply, njl_transfer_response(self->handle));
  }
  return njl_push_result(L, self, position - SIZE);
}

/* api:upload(path, file, options) -> a complete upload. `file` is a path, or a function that returns the next bytes. */
int njl_client_upload(lua_State *L) { return njl_start_transfer(L, &kind, "upload", true); }

/* api:start_upload(path, file, options) -> an upload in progress */
int njl_client_start_upload(lua_State *L) { return njl_start_transfer(L, &kind, "start_upload", false); }

void njl_open_upload(lua_State *L) { njl_open_transfer(L, &kind, field); }
