/* njl_cookies.h - the cookies of a client. */
#ifndef NJL_COOKIES_H
#define NJL_COOKIES_H

#include "njl_types.h"

/* The cookie jar of a client, owned by the caller. njl_client_cookies returns NULL if the client has none. */
typedef struct njl_cookies njl_cookies;
njl_cookies *njl_client_cookies(const njl_client *client);
void njl_cookies_release(njl_cookies *cookies);

/* A snapshot of the cookies. NULL is an empty list. */
typedef struct njl_cookie_list njl_cookie_list;
typedef struct njl_cookie {
  njl_bytes name, value, domain, path;
  njl_bytes same_site; /* empty: the attribute is absent */
  double expires;      /* seconds since 1970; 0: at the end of the session */
  bool is_secure, is_http_only, is_host_only;
} njl_cookie;
njl_cookie_list *njl_cookies_list(const njl_cookies *cookies);
/* Sets `*cookie`, which is borrowed from the list. Returns false if `index` is too large. */
bool njl_cookie_list_at(const njl_cookie_list *list, size_t index, njl_cookie *cookie);
void njl_cookie_list_release(njl_cookie_list *list);

/* The functions below that return false set `*error`. */
bool njl_cookies_set(njl_cookies *cookies, njl_bytes url, njl_bytes set_cookie, njl_future **error);
bool njl_cookies_flush(njl_cookies *cookies, njl_future **error);
bool njl_cookies_export(const njl_cookies *cookies, njl_bytes path, njl_future **error);

typedef struct njl_import {
  size_t stored, skipped;
} njl_import;
bool njl_cookies_import(njl_cookies *cookies, njl_bytes path, njl_import *counts, njl_future **error);
bool njl_cookies_load_text(njl_cookies *cookies, njl_bytes text, njl_import *counts, njl_future **error);

njl_text *njl_cookies_text(const njl_cookies *cookies); /* owned by the caller */

typedef struct njl_cookie_match {
  bool has_name, has_domain, has_path;
  njl_bytes name, domain, path;
} njl_cookie_match;
/* Deletes the cookies that match all given fields and returns their number. */
size_t njl_cookies_delete(njl_cookies *cookies, const njl_cookie_match *match);
void njl_cookies_clear(njl_cookies *cookies);

#endif
