/* group.c - runs functions concurrently: all, race, map, timeout.
 *
 * Each function is a loop in the calling coroutine: start children up to the limit, wait until a child has ended,
 * store its result, repeat. The first failure (unless errors are collected) or the first end in a race cancels the
 * other children. The loop returns when all children have ended, so nothing continues to run after the call. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/group.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/task.h"
#include "core/timers.h"
#include "core/wait.h"
#include "njl_future.h"

static const char *const options[] = {"concurrency", "collect_errors", NULL};
enum { CONCURRENCY, COLLECT_ERRORS };

void njl_read_group_option(lua_State *L, const char *function, njl_group_options *read) {
  switch (njl_check_option(L, -2, function, "", options)) {
  case CONCURRENCY:
    if (!lua_isinteger(L, -1) || (read->concurrency = lua_tointeger(L, -1)) < 1) {
      luaL_error(L, "%s: concurrency must be an integer of at least 1", function);
    }
    return;
  case COLLECT_ERRORS:
    if (!lua_isboolean(L, -1)) {
      luaL_error(L, "%s: collect_errors must be a boolean, got %s", function, luaL_typename(L, -1));
    }
    read->collects_errors = lua_toboolean(L, -1);
    return;
  }
}

/* Returns the options in the table at `table`, or the defaults if there is no table. */
static njl_group_options read_options(lua_State *L, int table, const char *function) {
  njl_group_options read = {.concurrency = NJL_CONCURRENCY};
  if (lua_isnoneornil(L, table)) return read;
  luaL_checktype(L, table, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) njl_read_group_option(L, function, &read);
  return read;
}

/* The stack slots of the calling function: its arguments, then the slots from GROUP on. */
enum { ITEMS = 1, FUNCTION, OPTIONS, GROUP, CHILDREN, RESULTS, ERRORS, TOP = ERRORS };

typedef enum mode { ALL, RACE, MAP, TIMEOUT } mode;

typedef struct group {
  njl_wait wait; /* ends when the loop must handle ended children */
  njl_task *parent; /* of the children; valid until all of them have ended */
  mode mode;
  lua_Integer total, started, ended, limit;
  njl_task *finished; /* ended children that have not been collected, linked by next_ready */
  njl_task *decisive; /* the first child that failed, or the winner of a race */
  bool has_expired;
  bool collects_errors; /* stores errors by index and continues */
  bool numbers_errors;  /* stores the index of the request in each error */
  double seconds;
} group;

static void cancel_children(group *g) {
  for (njl_task *child = g->parent->first_child; child != NULL; child = child->next) {
    if (child->group == &g->wait) njl_task_cancel(child);
  }
}

/* Cancels the children that have not ended: an error, or the end of the calling task, has ended the loop early. */
static int close_group(lua_State *L) {
  group *g = lua_touserdata(L, 1);
  if (g->ended < g->started) cancel_children(g);
  return 0;
}

static int collect_group(lua_State *L) {
  njl_wait_drop(lua_touserdata(L, 1));
  return 0;
}

/* Pushes a group. The caller marks it to be closed. */
static group *push_group(lua_State *L, njl_host *host) {
  static const luaL_Reg meta[] = {{"__gc", collect_group}, {"__close", close_group}, {NULL, NULL}};
  group *g = (group *)njl_wait_push_sized(L, host, sizeof *g);
  g->wait.needs_tasks = true;
  g->parent = host->current;
  njl_push_metatable(L, NJL_GROUP, meta);
  lua_setmetatable(L, -2);
  return g;
}

void njl_group_child_ended(njl_wait *wait, njl_task *child) {
  group *g = (group *)wait;
  g->ended++;
  child->next_ready = g->finished;
  g->finished = child;
  bool decides = g->mode == RACE || (child->status != LUA_OK && !g->collects_errors);
  if (g->decisive == NULL && decides) {
    g->decisive = child;
    cancel_children(g);
  }
  bool has_more = g->decisive == NULL && g->started < g->total;
  if (has_more || g->ended == g->started) njl_wait_end(wait, NJL_DONE);
}

/* Spawns the function and arguments on top of the stack as the next child. */
static void start(lua_State *L, group *g, int arguments) {
  njl_task *task = njl_task_spawn(L, g->wait.host, arguments);
  lua_pushvalue(L, GROUP);
  lua_setiuservalue(L, -2, NJL_TASK_GROUP);
  task->group = &g->wait;
  task->is_observed = true;
  task->place = ++g->started;
  lua_rawseti(L, CHILDREN, task->place);
}

/* Starts the next child. Reads the list without metamethods, because a metamethod could wait and the group could end
 * during that wait. */
static void start_next(lua_State *L, group *g) {
  lua_Integer place = g->started + 1;
  if (g->mode == MAP) {
    lua_pushvalue(L, FUNCTION);
    lua_rawgeti(L, ITEMS, place);
    lua_pushinteger(L, place);
    start(L, g, 2);
  } else {
    lua_rawgeti(L, ITEMS, place);
    start(L, g, 0);
  }
}

static int push_child(lua_State *L, const njl_task *task) {
  lua_rawgeti(L, CHILDREN, task->place);
  return lua_gettop(L);
}

static void push_error(lua_State *L, group *g, njl_task *task) {
  njl_task_push_error(L, push_child(L, task));
  lua_remove(L, -2);
  if (g->numbers_errors) njl_number_error(L, task->place);
}

/* Takes the results of the children that have ended. Releases these children, except for the decisive one and the child
 * of a timeout. */
static void collect(lua_State *L, group *g) {
  while (g->finished != NULL) {
    njl_task *task = g->finished;
    if ((g->mode == ALL || g->mode == MAP) && task->status == LUA_OK && task->results > 0) {
      int child = push_child(L, task);
      njl_task_push_results(L, child);
      lua_settop(L, child + 1);
      lua_rawseti(L, RESULTS, task->place);
      lua_pop(L, 1);
    } else if (g->collects_errors && task->status != LUA_OK) {
      push_error(L, g, task);
      lua_rawseti(L, ERRORS, task->place);
    }
    g->finished = task->next_ready;
    if (task == g->decisive || g->mode == TIMEOUT) continue;
    lua_pushnil(L);
    lua_rawseti(L, CHILDREN, task->place);
  }
}

static int push_list(lua_State *L, lua_Integer count) {
  luaL_checkstack(L, (int)count, "too many results");
  for (lua_Integer place = 1; place <= count; place++) lua_rawgeti(L, RESULTS, place);
  return (int)count;
}

/* Pushes the results of map and returns their number. If errors are collected, the list may contain nil, so its length
 * is in `n`, and the table of errors is the second result. */
static int push_map(lua_State *L, group *g) {
  lua_pushvalue(L, RESULTS);
  if (!g->collects_errors) return 1;
  lua_pushinteger(L, g->total);
  lua_setfield(L, -2, "n");
  lua_pushvalue(L, ERRORS);
  return 2;
}

static int conclude(lua_State *L, group *g) {
  njl_task *decisive = g->decisive;
  if (g->mode == TIMEOUT && decisive == NULL) {
    lua_rawgeti(L, CHILDREN, 1);
    return njl_task_push_results(L, lua_gettop(L));
  }
  if (g->has_expired && decisive->status == NJL_WAS_CANCELLED) {
    return njl_raise(L, NJL_KIND_TIMEOUT, NJL_PHASE_TOTAL, "timeout: the function did not return within %f seconds",
                     g->seconds);
  }
  if (decisive != NULL && decisive->status != LUA_OK) {
    push_error(L, g, decisive);
    return lua_error(L);
  }
  switch (g->mode) {
  case RACE: return njl_task_push_results(L, push_child(L, decisive));
  case MAP: return push_map(L, g);
  default: return push_list(L, g->total);
  }
}

static int go(lua_State *L, int status, lua_KContext context) {
  (void)status;
  group *g = (group *)context;
  njl_wait *wait = &g->wait;
  lua_settop(L, TOP);
  if (wait->state == NJL_EXPIRED && g->ended < g->started) {
    g->has_expired = true;
    cancel_children(g);
  }
  collect(L, g);
  while (g->decisive == NULL && g->started < g->total && g->started - g->ended < g->limit) start_next(L, g);
  if (g->started == g->ended) return conclude(L, g);
  wait->state = NJL_PENDING;
  return njl_await(L, wait, go);
}

/* Creates the group and fills the stack up to TOP. */
static group *open_group(lua_State *L, mode mode) {
  lua_settop(L, OPTIONS);
  group *g = push_group(L, njl_host_open(L));
  lua_toclose(L, GROUP);
  g->mode = mode;
  g->limit = LUA_MAXINTEGER;
  lua_newtable(L);
  lua_newtable(L);
  lua_pushnil(L);
  return g;
}

static int run_list(lua_State *L, mode mode, const char *name) {
  luaL_checktype(L, ITEMS, LUA_TTABLE);
  lua_settop(L, OPTIONS);
  lua_Integer count = (lua_Integer)lua_rawlen(L, ITEMS);
  for (lua_Integer place = 1; place <= count; place++) {
    lua_rawgeti(L, ITEMS, place);
    if (!njl_is_callable(L, -1)) {
      return luaL_error(L, "%s: item %I must be a function, got %s", name, (LUAI_UACINT)place, luaL_typename(L, -1));
    }
    lua_pop(L, 1);
  }
  if (mode == RACE && count == 0) return luaL_error(L, "race: the list is empty");
  group *g = open_group(L, mode);
  g->total = count;
  return go(L, LUA_OK, (lua_KContext)g);
}

/* nightjar.all{f, g, ...} -> the first result of each function; raises the first error */
int njl_all(lua_State *L) { return run_list(L, ALL, "all"); }

/* nightjar.race{f, g, ...} -> the results of the first function that ends, or raises its error */
int njl_race(lua_State *L) { return run_list(L, RACE, "race"); }

int njl_run_map(lua_State *L, const njl_group_options *options) {
  lua_Integer count = (lua_Integer)lua_rawlen(L, ITEMS);
  group *g = open_group(L, MAP);
  g->total = count;
  g->limit = options->concurrency;
  g->collects_errors = options->collects_errors;
  g->numbers_errors = options->numbers_errors;
  if (g->collects_errors) {
    lua_newtable(L);
    lua_replace(L, ERRORS);
  }
  return go(L, LUA_OK, (lua_KContext)g);
}

/* nightjar.map(list, f, {concurrency = 6, collect_errors = false}) -> a list of the first results of f(item, index).
 * With collect_errors, map continues after a failure. The list then has nil at the index of each failed item, and its
 * field `n` is the number of items. The second result is a table of errors by index. */
int njl_map(lua_State *L) {
  luaL_checktype(L, ITEMS, LUA_TTABLE);
  njl_check_callable(L, FUNCTION, "function");
  lua_settop(L, OPTIONS);
  njl_group_options options = read_options(L, OPTIONS, "map");
  return njl_run_map(L, &options);
}

/* nightjar.timeout(seconds, f, ...) -> the results of f. If f takes longer, cancels it and raises a timeout error.
 * 0: no limit. */
int njl_timeout(lua_State *L) {
  lua_Number seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, seconds >= 0 && seconds <= 1e9, 1, "seconds from 0 to 1e9 expected");
  njl_check_callable(L, 2, "function");
  /* Moves f and its arguments above the slots of the loop. */
  int arguments = lua_gettop(L) - 2;
  luaL_checkstack(L, TOP + LUA_MINSTACK, NULL);
  for (int slot = 0; slot < TOP; slot++) {
    lua_pushnil(L);
    lua_insert(L, 1);
  }
  lua_remove(L, TOP + 1);
  group *g = push_group(L, njl_host_of(L));
  lua_replace(L, GROUP);
  lua_toclose(L, GROUP);
  lua_newtable(L);
  lua_replace(L, CHILDREN);
  g->mode = TIMEOUT;
  g->seconds = seconds;
  g->total = 1;
  start(L, g, arguments);
  if (seconds > 0) {
    g->wait.deadline = njl_host_deadline_after(g->wait.host, seconds);
    njl_timer_add(&g->wait);
  }
  return go(L, LUA_OK, (lua_KContext)g);
}
