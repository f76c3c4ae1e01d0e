/* download.c - api:download, api:start_download, res:download and res:start_download. */
#include "bindings/transfer.h"

#include "core/metatable.h"
#include "core/names.h"
#include "bindings/bindings.h"

static const char *const options[] = {"id",       "resume",    "checksum", "connections", "restart",  "overwrite",
                                      "mode",     "keep_time", "max_rate", "max_size",    "attempts", "retry_delay",
                                      NULL};

static const transfer_kind kind = {.type = NJL_DOWNLOAD,
                                   .name = "download",
                                   .count = "received",
                                   .options = options,
                                   .has_heads = true,
                                   .connector = {"download", njl_connect_transfer},
                                   .start = njl_download_start};

/* Looks up download.NAME. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"wait", "pause",    "resume",  "cancel",  "state", "progress", "path",
                                      "size", "received", "resumed", "attempts", NULL};
  enum { PROGRESS = 5, PATH, SIZE };
  const transfer *self = njl_check(L, 1, NJL_DOWNLOAD);
  if (njl_push_method(L)) return 1;
  int position = njl_find_name(L, 2, names);
  if (position < PROGRESS) return njl_unknown_field(L, "download", luaL_tolstring(L, 2, NULL), names);
  if (position == PROGRESS) {
    njl_transfer_progress progress = njl_transfer_get_progress(self->handle);
    njl_push_transfer_progress(L, self, &progress);
    return 1;
  }
  if (position == PATH) return njl_push_transfer_text(L, njl_transfer_location, self);
  return njl_push_result(L, self, position - SIZE);
}

/* res:download(file, options) -> a download whose file is complete */
int njl_response_download(lua_State *L) { return njl_transfer_response_to_file(L, &kind, "download", true); }

/* res:start_download(file, options) -> a download in progress */
int njl_response_start_download(lua_State *L) { return njl_transfer_response_to_file(L, &kind, "start_download", false); }

/* api:download(path, file, options) -> a download whose file is complete */
int njl_client_download(lua_State *L) { return njl_start_transfer(L, &kind, "download", true); }

/* api:start_download(path, file, options) -> a download in progress */
int njl_client_start_download(lua_State *L) { return njl_start_transfer(L, &kind, "start_download", false); }

void njl_open_download(lua_State *L) { njl_open_transfer(L, &kind, field); }
