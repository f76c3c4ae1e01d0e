/* njl_pages.h - paginated lists. */
#ifndef NJL_PAGES_H
#define NJL_PAGES_H

#include "njl_request.h"
#include "njl_types.h"

/* A paginated list and the position of the script in it. Owned by the caller. Releasing the list cancels its
 * requests. */
typedef struct njl_pages njl_pages;
/* One page of a list. Owned by the caller. */
typedef struct njl_page njl_page;

/* Creates a list. `options` is a JSON object of the schema of nj_pagination_merge_json. The list continues at the
 * position `state`, or starts at the beginning if `state` has no `data`. `seconds` limits the time for the whole list;
 * negative: only each call has a limit. `caller` is the number under which subrequests arrive; 0: the
 * client sends its requests itself. Returns NULL and sets `*error` on failure. */
njl_pages *njl_pages_new(njl_engine *engine, njl_client *client, const njl_request *request, njl_bytes options,
                         njl_bytes state, double seconds, int64_t caller, njl_future **error);
void njl_pages_release(njl_pages *pages);
/* Cancels the requests of the list. It produces no further pages. */
void njl_pages_close(njl_pages *pages);

typedef enum njl_page_step {
  NJL_PAGE_READY,
  NJL_PAGE_LATER, /* a page is being loaded: call njl_pages_await */
  NJL_PAGE_END,
  NJL_PAGE_FAILED, /* `*error` is set; if `error` is NULL, the error is reported again by the next call */
} njl_page_step;
/* Takes the next page into `*page`. After most failures, the next call loads the same page again. */
njl_page_step njl_pages_take(njl_pages *pages, njl_page **page, njl_future **error);
/* Returns an outcome without response or error, owned by the caller. A poll reports `wait` when njl_pages_take will
 * return a page, the end or an error. */
njl_future *njl_pages_await(njl_pages *pages, njl_wait *wait);

/* How a list continues after the page taken last, if the script decides. */
typedef enum njl_decision {
  NJL_NEXT_NONE,
  NJL_NEXT_QUERY, /* replaces the query items of the same names */
  NJL_NEXT_URL,
} njl_decision;
/* Returns false and sets `*error` on failure. */
bool njl_pages_set_next(njl_pages *pages, njl_decision decision, const njl_pair *query, size_t count, njl_bytes url,
                     njl_future **error);
/* Continues at `state`; without `data`, starts at the beginning again. On failure returns false, sets `*error` and
 * changes nothing. */
bool njl_pages_begin(njl_pages *pages, njl_bytes state, njl_future **error);
/* Returns the position after `consumed` items of the page taken last, or the start of the list if no page was taken.
 * Owned by the caller. */
njl_text *njl_pages_state(const njl_pages *pages, size_t consumed);
/* Returns a description of how the list's pagination style was detected, owned by the caller. The text is empty if the
 * style was set. */
njl_text *njl_pages_explanation(const njl_pages *pages);

int64_t njl_page_number(const njl_page *page);
size_t njl_page_count(const njl_page *page);
njl_bytes njl_page_item(const njl_page *page, size_t index); /* JSON, borrowed from the page */
njl_future *njl_page_response(const njl_page *page);        /* a new outcome, owned by the caller */
void njl_page_release(njl_page *page);

#endif
