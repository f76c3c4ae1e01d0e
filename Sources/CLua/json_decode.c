/* JSON text to Lua values, by simdjson's tape (CSimdjson.h tells its format). */
#include <string.h>

#include <CSimdjson.h>

#include "json.h"
#include "njl.h"

/* The parser waits in the registry under this key. Whoever decodes takes it out: building tables may run finalizers, and
 * a finalizer that decodes must not overwrite a tape that is being read. */
static const char parser_key = 0;

#define PARSER "nightjar.json.parser"

static int free_parser(lua_State *L) {
  njs_parser **parser = luaL_checkudata(L, 1, PARSER);
  if (*parser != NULL) njs_parser_free(*parser);
  *parser = NULL;
  return 0;
}

void njl_json_open_decode(lua_State *L) {
  if (njl_new_metatable(L, PARSER)) {
    lua_pushcfunction(L, free_parser);
    lua_setfield(L, -2, "__gc");
  }
  lua_pop(L, 1);
}

/* Leaves its owner on the stack. */
static njs_parser *take_parser(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &parser_key) == LUA_TUSERDATA) {
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &parser_key);
    return *(njs_parser **)lua_touserdata(L, -1);
  }
  lua_pop(L, 1);
  njs_parser **parser = lua_newuserdatauv(L, sizeof *parser, 0);
  *parser = NULL;
  luaL_setmetatable(L, PARSER);
  *parser = njs_parser_new();
  if (*parser == NULL) luaL_error(L, "not enough memory");
  return *parser;
}

static void give_back(lua_State *L, int owner, njs_parser *parser) {
  njs_parser_trim(parser);
  lua_pushvalue(L, owner);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &parser_key);
}

static void push_string(lua_State *L, const njs_document *document, uint64_t word) {
  const uint8_t *at = document->strings + (word & 0x00ffffffffffffff);
  uint32_t length;
  memcpy(&length, at, sizeof length);
  lua_pushlstring(L, (const char *)at + sizeof length, length);
}

/* Tables within each other lie on the Lua stack, each object's pending name behind it. */
static void push_value(lua_State *L, const njs_document *document, int null, int mark) {
  /* Of an array, how many values it has; of an object, OBJECT. */
  enum { OBJECT = -1 };
  int64_t filled[NJS_MAX_DEPTH];
  int depth = 0;
  const uint64_t *tape = document->tape;
  size_t at = 1;
  for (;;) {
    uint64_t word = tape[at++];
    switch ((char)(word >> 56)) {
      case '"': push_string(L, document, word); break;
      case 'l': lua_pushinteger(L, (lua_Integer)tape[at++]); break;
      case 'u': lua_pushnumber(L, (lua_Number)tape[at++]); break;
      case 'd': {
        double number;
        memcpy(&number, &tape[at++], sizeof number);
        lua_pushnumber(L, number);
        break;
      }
      case 't': lua_pushboolean(L, 1); break;
      case 'f': lua_pushboolean(L, 0); break;
      case 'n': lua_pushvalue(L, null); break;
      case '[':
        luaL_checkstack(L, 6, "JSON within each other");
        lua_createtable(L, (int)(word >> 32 & 0xffffff), 0);
        lua_pushvalue(L, mark);
        lua_setmetatable(L, -2);
        filled[depth++] = 0;
        if ((char)(tape[at] >> 56) != ']') continue;
        at++;
        depth--;
        break;
      case '{':
        luaL_checkstack(L, 6, "JSON within each other");
        lua_createtable(L, 0, (int)(word >> 32 & 0xffffff));
        filled[depth++] = OBJECT;
        if ((char)(tape[at] >> 56) != '}') {
          push_string(L, document, tape[at++]);
          continue;
        }
        at++;
        depth--;
        break;
    }
    /* A value is on the stack: into the table around it, and that table, too, where it ends there. */
    for (;;) {
      if (depth == 0) return;
      if (filled[depth - 1] == OBJECT) {
        lua_rawset(L, -3);
        if ((char)(tape[at] >> 56) != '}') {
          push_string(L, document, tape[at++]);
          break;
        }
      } else {
        lua_rawseti(L, -2, ++filled[depth - 1]);
        if ((char)(tape[at] >> 56) != ']') break;
      }
      at++;
      depth--;
    }
  }
}

void njl_json_decode(lua_State *L, const char *what, const char *bytes, size_t length) {
  luaL_checkstack(L, 8, "JSON");
  njs_parser *parser = take_parser(L);
  int owner = lua_gettop(L);
  njs_document document;
  njs_failure failure;
  njs_status status = njs_parse(parser, bytes, length, &document, &failure);
  if (status != NJS_OK) {
    give_back(L, owner, parser);
    if (status == NJS_NO_MEMORY) luaL_error(L, "not enough memory");
    njl_raise(L, NJL_KIND_DECODING, 0, "%s is not JSON: %s at line %I column %I", what, failure.problem,
              (LUAI_UACINT)failure.line, (LUAI_UACINT)failure.column);
  }
  njl_json_push_null(L);
  njl_json_push_array_mark(L);
  push_value(L, &document, owner + 1, owner + 2);
  give_back(L, owner, parser);
  lua_replace(L, owner);
  lua_settop(L, owner);
}
