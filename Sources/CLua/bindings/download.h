/* download.h - a download of a script: download.c and download_wait.c. */
#ifndef NJL_DOWNLOAD_BINDING_H
#define NJL_DOWNLOAD_BINDING_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"
#include "bindings/connector.h"
#include "njl_downloads.h"

/* The user values of a download: the functions on_head and on_progress, its client, and the table of its request. */
enum { ON_HEAD = 1, ON_PROGRESS, OWNER, REQUEST, VALUES = REQUEST };

typedef struct download {
  njl_download *handle; /* released by the collector, because a finalizer may cancel the download while it is used */
  njl_host *host;
  bool is_calling;    /* a function of the script is running */
  bool reports_heads; /* the script has a function on_head */
} download;

extern const njl_connector njl_download_connector;

download *njl_check_download(lua_State *L) NJL_RAISES;
void njl_push_download_progress(lua_State *L, const njl_download_progress *progress) NJL_RAISES;
/* download:wait(timeout) -> download, when the file is complete */
int njl_wait_for_download(lua_State *L) NJL_YIELDS;

#endif
