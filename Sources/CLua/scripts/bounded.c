/* bounded.c - functions of Lua's libraries for sandboxed scripts.
 *
 * The hook counts instructions, and a call of a C function is one instruction, however long it takes. These functions
 * therefore count their work themselves. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdatomic.h>

#include "core/host.h"
#include "core/state.h"
#include "core/stopping.h"
#include "core/timers.h"
#include "scripts/scripts.h"

void njl_bound(lua_State *L, njl_host *host, const char *name, lua_CFunction function) {
  lua_pushlightuserdata(L, host);
  lua_getfield(L, -2, name);
  lua_pushcclosure(L, function, 2);
  lua_setfield(L, -2, name);
}

int njl_call_replaced(lua_State *L) { return lua_tocfunction(L, lua_upvalueindex(2))(L); }

/* Calls the replaced function, whose work grows with the length of the string at index 1. */
static int call_linear(lua_State *L) {
  size_t length = lua_type(L, 1) == LUA_TSTRING ? (size_t)lua_rawlen(L, 1) : 0;
  njl_spend(L, njl_host_of(L), length / BYTES_PER_STEP);
  return njl_call_replaced(L);
}

/* Calls the replaced function, whose work seldom grows with the length of the string at index 1. For a long string,
 * converts the time of the call into instructions. */
static int call_local(lua_State *L) {
  enum { LONG = 64 * 1024, NANOSECONDS_PER_STEP = 4 };
  if (lua_type(L, 1) != LUA_TSTRING || (size_t)lua_rawlen(L, 1) < LONG) return njl_call_replaced(L);
  njl_moment start = njl_now();
  int count = njl_call_replaced(L);
  njl_spend(L, njl_host_of(L), (njl_now() - start) / NANOSECONDS_PER_STEP + 1);
  return count;
}

/* utf8.codes(s). The returned iterator counts its work, too. */
static int codes(lua_State *L) {
  int count = call_local(L);
  int function = lua_gettop(L) - count + 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, function);
  lua_pushcclosure(L, call_local, 2);
  lua_replace(L, function);
  return count;
}

/* --- xpcall --- */

/* Calls the script's handler, upvalue 2, unless the host was stopped. */
static int handle(lua_State *L) {
  if (atomic_load(&njl_host_of(L)->is_stopped)) return 1;
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

static int protected(lua_State *L, int status, lua_KContext context) {
  (void)context;
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - 2;
  lua_pushboolean(L, false);
  lua_insert(L, -2);
  return 2;
}

/* xpcall(f, handler, ...) */
static int xpcall(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  int count = lua_gettop(L) - 2;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, handle, 2);
  lua_replace(L, 2);
  lua_pushboolean(L, true);
  lua_pushvalue(L, 1);
  lua_rotate(L, 3, 2); /* f, handler, true, f, ... */
  return protected(L, lua_pcallk(L, count, LUA_MULTRET, 2, 0, protected), 0);
}

/* --- load --- */

/* The source of a chunk, read in pieces. */
typedef struct source {
  njl_host *host;
  bool is_function; /* the function is at index 1; each piece stays at index `PIECE` while Lua reads it */
  njl_bytes text;
} source;

enum { PIECE = 5 };

static const char *read_source(lua_State *L, void *context, size_t *length) {
  enum { MOST = 16 * 1024 };
  source *source = context;
  njl_spend(L, source->host, 1);
  if (source->is_function && source->text.length == 0) {
    luaL_checkstack(L, 2, "too many nested functions");
    lua_pushvalue(L, 1);
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      *length = 0;
      return NULL;
    }
    if (!lua_isstring(L, -1)) luaL_error(L, "reader function must return a string");
    lua_replace(L, PIECE);
    source->text.data = lua_tolstring(L, PIECE, &source->text.length);
  }
  const char *piece = source->text.data;
  *length = source->text.length < MOST ? source->text.length : MOST;
  njl_spend(L, source->host, *length / 8);
  source->text.data += *length;
  source->text.length -= *length;
  return piece;
}

/* load(chunk, name, mode, env) accepts text only: forged bytecode can break the interpreter. */
static int load(lua_State *L) {
  source source = {.host = njl_host_of(L)};
  bool has_environment = !lua_isnone(L, 4);
  const char *name;
  luaL_optstring(L, 3, "bt");
  source.is_function = lua_type(L, 1) != LUA_TSTRING && lua_type(L, 1) != LUA_TNUMBER;
  if (source.is_function) {
    name = luaL_optstring(L, 2, "=(load)");
    luaL_checktype(L, 1, LUA_TFUNCTION);
  } else {
    source.text.data = lua_tolstring(L, 1, &source.text.length);
    name = luaL_optstring(L, 2, source.text.data);
  }
  lua_settop(L, PIECE);
  int status = lua_load(L, read_source, &source, name, "t");
  if (status != LUA_OK) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  if (has_environment) {
    lua_pushvalue(L, 4);
    if (lua_setupvalue(L, -2, 1) == NULL) lua_pop(L, 1);
  }
  return 1;
}

void njl_bound_base(lua_State *L, njl_host *host) {
  lua_pushglobaltable(L);
  njl_bound(L, host, "xpcall", xpcall);
  njl_bound(L, host, "load", load);
  njl_bound(L, host, "tonumber", call_linear);
  lua_getfield(L, -1, LUA_UTF8LIBNAME);
  njl_bound(L, host, "len", call_linear);
  njl_bound(L, host, "codes", codes);
  njl_bound(L, host, "offset", call_local);
  njl_bound(L, host, "codepoint", call_local);
  lua_pop(L, 1);
  lua_getfield(L, -1, LUA_STRLIBNAME);
  static const char *const linear[] = {"lower", "upper", "reverse", "format", "pack", "unpack", "packsize", NULL};
  for (const char *const *name = linear; *name != NULL; name++) njl_bound(L, host, *name, call_linear);
  lua_pop(L, 2);
}
