/* programs.c - the Lua programs of the command as modules. The compiler embeds programs/NAME.lua. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "CCommand.h"
#include "CLua.h"
#include "njc.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char accounts[] = {
#embed "programs/accounts.lua"
};
static const char call[] = {
#embed "programs/call.lua"
};
static const char call_request[] = {
#embed "programs/call_request.lua"
};
static const char call_response[] = {
#embed "programs/call_response.lua"
};
static const char check[] = {
#embed "programs/check.lua"
};
static const char commands[] = {
#embed "programs/commands.lua"
};
static const char complete[] = {
#embed "programs/complete.lua"
};
static const char completions[] = {
#embed "programs/completions.lua"
};
static const char download[] = {
#embed "programs/download.lua"
};
static const char events[] = {
#embed "programs/events.lua"
};
static const char expected[] = {
#embed "programs/expected.lua"
};
static const char fixture[] = {
#embed "programs/fixture.lua"
};
static const char graphql[] = {
#embed "programs/graphql.lua"
};
static const char graphql_schema[] = {
#embed "programs/graphql_schema.lua"
};
static const char help[] = {
#embed "programs/help.lua"
};
static const char hints[] = {
#embed "programs/hints.lua"
};
static const char history[] = {
#embed "programs/history.lua"
};
static const char items[] = {
#embed "programs/items.lua"
};
static const char json_text[] = {
#embed "programs/json_text.lua"
};
static const char keep[] = {
#embed "programs/keep.lua"
};
static const char lexer[] = {
#embed "programs/lexer.lua"
};
static const char main[] = {
#embed "programs/main.lua"
};
static const char network_options[] = {
#embed "programs/network_options.lua"
};
static const char option_types[] = {
#embed "programs/option_types.lua"
};
static const char outbox[] = {
#embed "programs/outbox.lua"
};
static const char outbox_show[] = {
#embed "programs/outbox_show.lua"
};
static const char output[] = {
#embed "programs/output.lua"
};
static const char profiles[] = {
#embed "programs/profiles.lua"
};
static const char progress[] = {
#embed "programs/progress.lua"
};
static const char prompt[] = {
#embed "programs/prompt.lua"
};
static const char reference[] = {
#embed "programs/reference.lua"
};
static const char scrub[] = {
#embed "programs/scrub.lua"
};
static const char secrets[] = {
#embed "programs/secrets.lua"
};
static const char show[] = {
#embed "programs/show.lua"
};
static const char show_bodies[] = {
#embed "programs/show_bodies.lua"
};
static const char show_limits[] = {
#embed "programs/show_limits.lua"
};
static const char show_records[] = {
#embed "programs/show_records.lua"
};
static const char show_values[] = {
#embed "programs/show_values.lua"
};
static const char statements[] = {
#embed "programs/statements.lua"
};
static const char subcommand[] = {
#embed "programs/subcommand.lua"
};
static const char syntax[] = {
#embed "programs/syntax.lua"
};
static const char test[] = {
#embed "programs/test.lua"
};
static const char text[] = {
#embed "programs/text.lua"
};
static const char tls[] = {
#embed "programs/tls.lua"
};
static const char transfers[] = {
#embed "programs/transfers.lua"
};
static const char types[] = {
#embed "programs/types.lua"
};
static const char upload[] = {
#embed "programs/upload.lua"
};
static const char ws[] = {
#embed "programs/ws.lua"
};

typedef struct program {
  const char *name;
  const char *text;
  size_t length;
} program;

static const program programs[] = {
#define PROGRAM(name) {#name, name, sizeof name}
    PROGRAM(accounts), PROGRAM(call), PROGRAM(call_request), PROGRAM(call_response), PROGRAM(check),
    PROGRAM(commands), PROGRAM(complete), PROGRAM(completions), PROGRAM(download), PROGRAM(events), PROGRAM(expected),
    PROGRAM(fixture), PROGRAM(graphql), PROGRAM(graphql_schema), PROGRAM(help), PROGRAM(hints), PROGRAM(history),
    PROGRAM(items), PROGRAM(json_text), PROGRAM(keep), PROGRAM(lexer), PROGRAM(main), PROGRAM(network_options),
    PROGRAM(option_types), PROGRAM(outbox), PROGRAM(outbox_show), PROGRAM(output), PROGRAM(profiles), PROGRAM(progress),
    PROGRAM(prompt), PROGRAM(reference), PROGRAM(scrub), PROGRAM(secrets), PROGRAM(show), PROGRAM(show_bodies),
    PROGRAM(show_limits), PROGRAM(show_records), PROGRAM(show_values), PROGRAM(statements), PROGRAM(subcommand), PROGRAM(syntax), PROGRAM(test),
    PROGRAM(text), PROGRAM(tls), PROGRAM(transfers), PROGRAM(types), PROGRAM(upload), PROGRAM(ws),
};

/* Loads a program as a module: runs its chunk, which returns the module. The upvalue is the index of the program. */
static int load_program(lua_State *L) {
  const program *program = &programs[lua_tointeger(L, lua_upvalueindex(1))];
  lua_settop(L, 1);
  lua_pushfstring(L, "=nightjar.command.%s", program->name);
  if (luaL_loadbufferx(L, program->text, program->length, lua_tostring(L, -1), "t") != LUA_OK) return lua_error(L);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

int njc_open(lua_State *L) {
  static const luaL_Reg libraries[] = {{"nightjar.command.editor", njc_open_editor},
                                       {"nightjar.command.session", njl_open_session},
                                       {"nightjar.command.terminal", njc_open_terminal},
                                       {NULL, NULL}};
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  luaL_setfuncs(L, libraries, 0);
  for (size_t place = 0; place < sizeof programs / sizeof *programs; place++) {
    lua_pushfstring(L, "nightjar.command.%s", programs[place].name);
    lua_pushinteger(L, (lua_Integer)place);
    lua_pushcclosure(L, load_program, 1);
    lua_settable(L, -3);
  }
  return 0;
}
