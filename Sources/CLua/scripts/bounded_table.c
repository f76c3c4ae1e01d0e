/* bounded_table.c - the table library for sandboxed scripts. Each element counts as one instruction, because a __len
 * metamethod can return any length and a sort may compare with a C function. Otherwise the functions behave as Lua's
 * manual describes. */
#include <limits.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>

#include "core/host.h"
#include "core/stopping.h"
#include "scripts/scripts.h"

/* The operations that a function performs on its table. */
enum { READS = 1, WRITES = 2, MEASURES = 4 };

/* Returns whether the metatable at `index` has the field. */
static bool has(lua_State *L, const char *field, int index) {
  lua_pushstring(L, field);
  bool is_there = lua_rawget(L, index - 1) != LUA_TNIL;
  lua_pop(L, 1);
  return is_there;
}

/* Raises an error unless the argument is a table, or has the metamethods for these operations. */
static void check_table(lua_State *L, int argument, int uses) {
  if (lua_istable(L, argument)) return;
  if (lua_getmetatable(L, argument)) {
    bool fits = (!(uses & READS) || has(L, "__index", -1)) && (!(uses & WRITES) || has(L, "__newindex", -1)) &&
                (!(uses & MEASURES) || has(L, "__len", -1));
    lua_pop(L, 1);
    if (fits) return;
  }
  luaL_checktype(L, argument, LUA_TTABLE);
}

static lua_Integer length_of(lua_State *L, int uses) {
  check_table(L, 1, uses | MEASURES);
  return luaL_len(L, 1);
}

/* Copies one element of the table at `from` to the table at `to`. */
static void copy(lua_State *L, njl_host *host, int from, lua_Integer source, int to, lua_Integer target) {
  njl_spend(L, host, 1);
  lua_geti(L, from, source);
  lua_seti(L, to, target);
}

/* Returns whether `place` is outside the range from 1 to `last`. */
static bool is_outside(lua_Integer place, lua_Unsigned last) { return (lua_Unsigned)place - 1U >= last; }

/* table.insert(list, [place,] value) */
static int insert(lua_State *L) {
  njl_host *host = njl_host_of(L);
  lua_Integer end = (lua_Integer)((lua_Unsigned)length_of(L, READS | WRITES) + 1), place = end;
  int count = lua_gettop(L);
  if (count != 2 && count != 3) return luaL_error(L, "wrong number of arguments to 'insert'");
  if (count == 3) {
    place = luaL_checkinteger(L, 2);
    luaL_argcheck(L, !is_outside(place, (lua_Unsigned)end), 2, "position out of bounds");
    for (lua_Integer index = end; index > place; index--) copy(L, host, 1, index - 1, 1, index);
  }
  lua_seti(L, 1, place);
  return 0;
}

/* table.remove(list, place) */
static int take_out(lua_State *L) {
  njl_host *host = njl_host_of(L);
  lua_Integer size = length_of(L, READS | WRITES), place = luaL_optinteger(L, 2, size);
  if (place != size) {
    luaL_argcheck(L, !is_outside(place, (lua_Unsigned)size + 1), 2, "position out of bounds");
  }
  lua_geti(L, 1, place);
  for (; place < size; place++) copy(L, host, 1, place + 1, 1, place);
  lua_pushnil(L);
  lua_seti(L, 1, place);
  return 1;
}

/* table.move(source, first, last, place [, target]) */
static int move(lua_State *L) {
  njl_host *host = njl_host_of(L);
  lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3), place = luaL_checkinteger(L, 4);
  int target = lua_isnoneornil(L, 5) ? 1 : 5;
  check_table(L, 1, READS);
  check_table(L, target, WRITES);
  if (last >= first) {
    luaL_argcheck(L, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
    lua_Integer more = last - first;
    luaL_argcheck(L, place <= LUA_MAXINTEGER - more, 4, "destination wrap around");
    bool overlaps = place > first && place <= last && (target == 1 || lua_compare(L, 1, target, LUA_OPEQ));
    if (overlaps) {
      for (lua_Integer index = more; index >= 0; index--) copy(L, host, 1, first + index, target, place + index);
    } else {
      for (lua_Integer index = 0;; index++) {
        copy(L, host, 1, first + index, target, place + index);
        if (index == more) break;
      }
    }
  }
  lua_pushvalue(L, target);
  return 1;
}

static void add_element(lua_State *L, njl_host *host, luaL_Buffer *text, lua_Integer index) {
  njl_spend(L, host, 1);
  lua_geti(L, 1, index);
  if (!lua_isstring(L, -1)) {
    luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1), (LUAI_UACINT)index);
  }
  luaL_addvalue(text);
}

/* table.concat(list, separator, first, last) */
static int concat(lua_State *L) {
  njl_host *host = njl_host_of(L);
  size_t length;
  lua_Integer last = length_of(L, READS);
  const char *separator = luaL_optlstring(L, 2, "", &length);
  lua_Integer first = luaL_optinteger(L, 3, 1);
  last = luaL_optinteger(L, 4, last);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (; first < last; first++) {
    add_element(L, host, &text, first);
    luaL_addlstring(&text, separator, length);
  }
  if (first == last) add_element(L, host, &text, first);
  luaL_pushresult(&text);
  return 1;
}

/* table.unpack(list, first, last) */
static int unpack(lua_State *L) {
  njl_host *host = njl_host_of(L);
  lua_Integer first = luaL_optinteger(L, 2, 1);
  lua_Integer last = lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
  if (first > last) return 0;
  lua_Unsigned more = (lua_Unsigned)last - (lua_Unsigned)first;
  if (more >= INT_MAX || !lua_checkstack(L, (int)more + 1)) return luaL_error(L, "too many results to unpack");
  for (lua_Unsigned index = 0; index <= more; index++) {
    njl_spend(L, host, 1);
    lua_geti(L, 1, (lua_Integer)((lua_Unsigned)first + index));
  }
  return (int)more + 1;
}

/* --- Sorting --- */

/* Compares with the C function in upvalue 2, or with < if the upvalue is nil. */
static int compare(lua_State *L) {
  njl_spend(L, njl_host_of(L), 1);
  lua_settop(L, 2);
  if (lua_isnil(L, lua_upvalueindex(2))) {
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
  }
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* table.sort(list, less) calls Lua's own sort. The hook counts the instructions of a Lua function `less`. */
static int sort(lua_State *L) {
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  if (lua_isnoneornil(L, 2) || lua_iscfunction(L, 2)) {
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 2);
    lua_pushcclosure(L, compare, 2);
  }
  return njl_call_replaced(L);
}

void njl_bound_tables(lua_State *L, njl_host *host) {
  static const luaL_Reg functions[] = {{"insert", insert}, {"remove", take_out}, {"move", move}, {"concat", concat},
                                       {"unpack", unpack}, {"sort", sort},     {NULL, NULL}};
  lua_getglobal(L, LUA_TABLIBNAME);
  for (const luaL_Reg *function = functions; function->name != NULL; function++) {
    njl_bound(L, host, function->name, function->func);
  }
  lua_pop(L, 1);
}
