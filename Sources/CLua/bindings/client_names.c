/* client_names.c - the methods of clients, and the names for the message about an unknown field. */
#include "bindings/bindings.h"

/* All methods but close and those of the HTTP methods, which client.c has. */
const luaL_Reg njl_client_methods[] = {
    {"request", njl_send_request},
    {"batch", njl_batch},
    {"paginate", njl_paginate},
    {"events", njl_client_events},
    {"resource", njl_client_resource},
    {"invalidate", njl_client_invalidate},
    {"lines", njl_client_lines},
    {"websocket", njl_client_websocket},
    {"download", njl_client_download},
    {"start_download", njl_client_start_download},
    {"upload", njl_client_upload},
    {"start_upload", njl_client_start_upload},
    {"remove_transfer", njl_client_remove_transfer},
    {"outbox", njl_client_outbox},
    {"ndjson", njl_client_ndjson},
    {"set_token", njl_set_token},
    {"log_out", njl_log_out},
    {"log_in", njl_log_in},
    {"drain", njl_client_drain},
    {"limits", njl_limits},
    {"load_openapi", njl_load_openapi},
    {"set_pinning", njl_set_pinning},
    {NULL, NULL},
};

const char *const njl_client_names[] = {
    "get", "post", "put", "patch", "delete", "head", "request", "batch", "paginate", "set_token", "log_out", "log_in",
    "limits", "close", "drain", "cookies", "cache", "endpoints", "load_openapi", "set_pinning", "lines", "ndjson", "events",
    "websocket", "download", "start_download", "upload", "start_upload", "remove_transfer", "resource", "invalidate",
    "outbox", NULL,
};
