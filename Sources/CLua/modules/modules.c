/* modules.c - the standard modules nightjar.base64, nightjar.csv and so on. Each is loaded on first use.
 *
 * A module is either a C function that creates its table, or a Lua text in modules/lua/NAME.lua that returns its table.
 * The text is called with the table nightjar and a table of C functions: those of natives.c, which all modules share,
 * and those of the module. Parts of a long text are separate chunks, which scripts cannot require (njl_add_part).
 *
 * Scripts can reach the C functions of the modules that they load. Modules that are safe in a sandbox therefore have no
 * access to files, processes, the environment or Lua's internals. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/gate.h"
#include "core/host.h"
#include "modules/modules.h"

typedef struct module {
  const char *name;
  /* Pushes the module, or adds the C functions of its text to the table at index 1. Upvalue 1 is the host. */
  lua_CFunction open;
  const unsigned char *source; /* NULL: written in C only */
  size_t length;
  bool is_safe; /* available in a sandbox */
} module;

/* #embed is C23; clang supports it in C17. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
static const unsigned char args_source[] = {
#embed "lua/args.lua"
};
static const unsigned char csv_source[] = {
#embed "lua/csv.lua"
};
static const unsigned char channels_source[] = {
#embed "lua/channels.lua"
};
static const unsigned char fs_source[] = {
#embed "lua/fs.lua"
};
static const unsigned char graphql_source[] = {
#embed "lua/graphql.lua"
};
static const unsigned char outboxes_source[] = {
#embed "lua/outboxes.lua"
};
static const unsigned char process_source[] = {
#embed "lua/process.lua"
};
static const unsigned char stdin_source[] = {
#embed "lua/stdin.lua"
};
static const unsigned char timers_source[] = {
#embed "lua/timers.lua"
};
static const unsigned char env_source[] = {
#embed "lua/env.lua"
};
static const unsigned char log_source[] = {
#embed "lua/log.lua"
};
static const unsigned char testing_source[] = {
#embed "lua/testing.lua"
};
static const unsigned char time_source[] = {
#embed "lua/time.lua"
};
static const unsigned char transfers_source[] = {
#embed "lua/transfers.lua"
};
static const unsigned char url_source[] = {
#embed "lua/url.lua"
};
#pragma clang diagnostic pop

/* Registry keys: the loaded modules by name, and the table that require "nightjar" returns. */
static const char loaded_key = 0, nightjar_key = 0;

/* Pushes the table nightjar.json, which luaopen_nightjar has created already. */
static int open_json(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nightjar_key);
  lua_pushliteral(L, "json");
  lua_rawget(L, -2);
  return 1;
}

/* Adds the C functions of nightjar.channels and nightjar.timers to the table at index 1. */
static int open_channels(lua_State *L) {
  njl_add_gates(L, 1);
  return 0;
}

#define NO_SOURCE NULL, 0
#define SOURCE(name) name##_source, sizeof name##_source
enum { UNSAFE = false, SAFE = true };

static const module modules[] = {
    {"args", NULL, SOURCE(args), UNSAFE},
    {"base64", njl_open_base64, NO_SOURCE, SAFE},
    {"channels", open_channels, SOURCE(channels), SAFE},
    {"csv", njl_open_csv, SOURCE(csv), SAFE},
    {"env", njl_open_env, SOURCE(env), UNSAFE},
    {"fs", njl_open_fs, SOURCE(fs), UNSAFE},
    {"graphql", njl_open_graphql, SOURCE(graphql), SAFE},
    {"hash", njl_open_hash, NO_SOURCE, SAFE},
    {"json", open_json, NO_SOURCE, SAFE},
    {"log", njl_open_log, SOURCE(log), SAFE},
    {"network", njl_open_network, NO_SOURCE, UNSAFE},
    {"outboxes", njl_open_outboxes, SOURCE(outboxes), UNSAFE},
    {"process", njl_open_process, SOURCE(process), UNSAFE},
    {"stdin", njl_open_stdin, SOURCE(stdin), UNSAFE},
    {"testing", njl_open_testing, SOURCE(testing), SAFE},
    {"time", njl_open_time, SOURCE(time), SAFE},
    {"timers", open_channels, SOURCE(timers), SAFE},
    {"transfers", njl_open_transfers, SOURCE(transfers), UNSAFE},
    {"url", njl_open_url, SOURCE(url), SAFE},
    {"uuid", njl_open_uuid, NO_SOURCE, SAFE},
};

#define PREFIX "nightjar."

static const module *find(lua_State *L, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
    const module *found = &modules[i];
    if (strlen(found->name) != length || memcmp(found->name, name, length) != 0) continue;
    return found->is_safe || !njl_host_open(L)->is_sandboxed ? found : NULL;
  }
  return NULL;
}

static void load_c(lua_State *L, const module *wanted) {
  lua_pushlightuserdata(L, njl_host_open(L));
  lua_pushcclosure(L, wanted->open, 1);
  lua_call(L, 0, 1);
}

static void load_text(lua_State *L, const module *wanted) {
  lua_pushfstring(L, "=" PREFIX "%s", wanted->name);
  const char *text = (const char *)wanted->source;
  if (luaL_loadbufferx(L, text, wanted->length, lua_tostring(L, -1), "t") != LUA_OK) lua_error(L);
  lua_replace(L, -2);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nightjar_key);
  njl_push_natives(L);
  if (wanted->open != NULL) {
    lua_pushlightuserdata(L, njl_host_open(L));
    lua_pushcclosure(L, wanted->open, 1);
    lua_pushvalue(L, -2);
    lua_call(L, 1, 0);
  }
  lua_call(L, 2, 1);
}

/* Pushes the module. A module that failed to load, for example because memory ran out, is loaded again on the next
 * use. */
static void push(lua_State *L, const module *wanted) {
  luaL_checkstack(L, 8, wanted->name);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &loaded_key);
  if (lua_getfield(L, -1, wanted->name) == LUA_TNIL) {
    lua_pop(L, 1);
    if (wanted->source != NULL) load_text(L, wanted);
    else load_c(L, wanted);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE); /* Lua looks up function names in this table */
    lua_pushfstring(L, PREFIX "%s", wanted->name);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, wanted->name);
  }
  lua_replace(L, -2);
}

/* Handles __index of the table nightjar: loads the module nightjar.NAME. Other names are nil. */
static int index_modules(lua_State *L) {
  lua_settop(L, 2);
  if (!lua_istable(L, 1) || lua_type(L, 2) != LUA_TSTRING) return 0;
  size_t length;
  const char *name = lua_tolstring(L, 2, &length);
  const module *wanted = find(L, name, length);
  if (wanted == NULL) return 0;
  push(L, wanted);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_rawset(L, 1);
  return 1;
}

bool njl_push_module(lua_State *L, const char *name) {
  if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return false;
  name += strlen(PREFIX);
  luaL_requiref(L, "nightjar", luaopen_nightjar, 0);
  lua_pop(L, 1);
  const module *wanted = find(L, name, strlen(name));
  if (wanted == NULL) return false;
  push(L, wanted);
  return true;
}

/* Loads a module for require, for example "nightjar.csv". */
static int require_module(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  if (!njl_push_module(L, name)) return luaL_error(L, "module '%s' is not available to this script", name);
  return 1;
}

void njl_preload_modules(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
    lua_pushfstring(L, PREFIX "%s", modules[i].name);
    lua_pushcfunction(L, require_module);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
}

void njl_open_modules(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &loaded_key) != LUA_TTABLE) {
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &loaded_key);
  }
  lua_pop(L, 1);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &nightjar_key);
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, index_modules);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
}

/* For require "nightjar.csv", a stock interpreter finds luaopen_nightjar_csv in the library of "nightjar". */
#define OPENER(name) \
  int luaopen_nightjar_##name(lua_State *L); \
  int luaopen_nightjar_##name(lua_State *L) { \
    njl_push_module(L, PREFIX #name); \
    return 1; \
  }
OPENER(args)
OPENER(base64)
OPENER(channels)
OPENER(csv)
OPENER(env)
OPENER(fs)
OPENER(graphql)
OPENER(hash)
OPENER(json)
OPENER(log)
OPENER(network)
OPENER(outboxes)
OPENER(process)
OPENER(stdin)
OPENER(testing)
OPENER(time)
OPENER(timers)
OPENER(transfers)
OPENER(url)
OPENER(uuid)
