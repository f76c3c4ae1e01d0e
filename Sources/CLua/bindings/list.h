/* list.h - a paginated list: list.c and list_decision.c. */
#ifndef NJL_LIST_H
#define NJL_LIST_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"
#include "core/wait.h"
#include "njl_pages.h"

/* User values of a list: its client, the `next` function, the current page, the waits for the function's decision (the
 * weak keys of a table), and the caller of its requests if the client has hooks. */
enum { CLIENT = 1, DECIDE, PAGE, WAITING, CALLER, VALUES = CALLER };

/* A page in a userdata, so that data borrowed from the page stays valid while finalizers run. */
typedef struct page_box {
  njl_page *handle; /* NULL: released; when the Lua state closes, boxes are finalized before their lists */
  /* the number of borrowers; after an error, the count stays above 0 and the collector releases the page */
  int readers;
} page_box;

typedef struct decision decision;

/* A list's userdata. */
typedef struct list {
  njl_host *host;
  njl_pages *handle;  /* NULL: closed */
  page_box *page;     /* the user value; NULL: none */
  size_t next;        /* index of the next item of `page` */
  bool decides;       /* a function decides how the list continues */
  bool is_hooked;     /* tasks make its requests, through the client's hooks */
  bool is_decided;    /* the function has decided how the list continues after `page`, or there is no function */
  bool is_given;      /* `page` was returned by pages(); a page without items is returned once */
  decision *deciding; /* the call of the function for `page` that is running; NULL: none */
} list;

/* One call of the `next` function. The user value is the list. After the call has ended, even with an error, another
 * call may decide. */
struct decision {
  list *list;
  njl_task *task; /* the calling task; only for comparison */
};

/* The stack of the functions that take from a list. `RESULT` is a table that collects items, `LIMIT` their maximum
 * or nil, `TURN` the wait or the decision. */
enum { LIST = 1, RESULT, LIMIT, TURN, TOP = TURN };

/* The unit that the caller takes from the list. */
typedef enum taking { AN_ITEM, A_PAGE, MANY } taking;

/* The wait of a coroutine for a page. */
typedef struct turn {
  njl_wait wait;
  taking taking;
} turn;

/* list.c. All functions expect the list at index LIST of the stack. */
list *njl_list_check(lua_State *L) NJL_RAISES;
/* Ends the call of the `next` function and wakes the tasks that wait for its decision. */
void njl_list_end_deciding(lua_State *L, list *self) NJL_RAISES;
/* Pushes the current page as { items =, number =, response = }, with the items from `first` on. */
void njl_list_push_table(lua_State *L, list *self, size_t first) NJL_RAISES;
/* Takes from the list: returns the results, or waits and continues. */
int njl_list_take(lua_State *L, taking taking) NJL_YIELDS;
/* Continues after a wait for a page or a decision. */
int njl_list_page_loaded(lua_State *L, int status, lua_KContext context) NJL_YIELDS;

/* list_decision.c */
/* Waits until another task's call of the `next` function has ended. */
int njl_list_await_decision(lua_State *L, list *self, taking taking) NJL_YIELDS;
/* Calls the `next` function for the current page: once per page, unless the call raises an error. */
void njl_list_decide(lua_State *L, list *self, taking taking) NJL_YIELDS;

#endif
