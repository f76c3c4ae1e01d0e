/* njl_host.h - the functions that Swift provides to the Lua host.
 *
 * A Lua error is a longjmp, which must never cross a Swift frame. All code that uses Lua is therefore in this C module
 * and calls the client through the functions below. They take and return C values, never use a lua_State and never
 * raise. They must be called on the thread that runs the Lua state, unless their comment says otherwise.
 *
 * "Owned by the caller" means that the caller must release the returned object. A function with a parameter `error`
 * sets `*error` to an outcome owned by the caller if it fails. */
#ifndef NJL_HOST_H
#define NJL_HOST_H

#include "njl_caches.h"
#include "njl_callbacks.h"
#include "njl_calls.h"
#include "njl_clients.h"
#include "njl_cookies.h"
#include "njl_transfers.h"
#include "njl_endpoints.h"
#include "njl_engine.h"
#include "njl_functions.h"
#include "njl_future.h"
#include "njl_hashes.h"
#include "njl_logins.h"
#include "njl_mocks.h"
#include "njl_network.h"
#include "njl_pages.h"
#include "njl_records.h"
#include "njl_events.h"
#include "njl_request.h"
#include "njl_api_resources.h"
#include "njl_secrets.h"
#include "njl_sessions.h"
#include "njl_subrequests.h"
#include "njl_timestamps.h"
#include "njl_types.h"
#include "njl_websocket.h"
#include "njl_work.h"

#endif
