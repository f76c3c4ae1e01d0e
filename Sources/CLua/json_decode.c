/* JSON text to Lua values. simdjson parses into a tape; a loop turns the tape into tables of the right size. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "CSimdjson.h"
#include "njl_json.h"

/* Keys of the registry: the addresses count. The first is the value of null as well. */
static const char null_place = 0;
static const char mark_place = 0;
static const char parser_place = 0;

/* Bytes of text a parser keeps room for between documents; it holds several times that, which the cap on memory does not see. */
static const size_t kept_text = 2u << 20;

void njl_push_null(lua_State *L) { lua_pushlightuserdata(L, (void *)&null_place); }

bool njl_is_null(lua_State *L, int index) {
  return lua_islightuserdata(L, index) && lua_touserdata(L, index) == (const void *)&null_place;
}

void njl_push_array_mark(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &mark_place) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "array"); /* what tostring shows */
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &mark_place);
}

int njl_json_array(lua_State *L) {
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, 0);
    lua_newtable(L);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  if (lua_getmetatable(L, 1)) {
    njl_push_array_mark(L);
    if (!lua_rawequal(L, -1, -2)) return luaL_argerror(L, 1, "the table has a metatable");
    lua_settop(L, 1);
    return 1;
  }
  njl_push_array_mark(L);
  lua_setmetatable(L, 1);
  return 1;
}

/* --- The parser: a userdata, so that no raise can lose it --- */

static const char parser_type[] = "nightjar.json_parser";

static int free_parser(lua_State *L) {
  njs_parser **parser = lua_touserdata(L, 1);
  njs_parser_free(*parser);
  *parser = NULL;
  return 0;
}

static njs_parser *push_new_parser(lua_State *L) {
  njs_parser **parser = lua_newuserdatauv(L, sizeof *parser, 0);
  *parser = NULL;
  if (luaL_newmetatable(L, parser_type)) {
    lua_pushcfunction(L, free_parser);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  *parser = njs_parser_new();
  if (*parser == NULL) luaL_error(L, "not enough memory");
  return *parser;
}

/* Takes the kept parser out of the registry, or makes one. Whoever decodes meanwhile (a finalizer) finds none there and
 * makes its own, so nobody overwrites a tape that is being read. */
static njs_parser *push_parser(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &parser_place) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    return push_new_parser(L);
  }
  lua_pushboolean(L, 0);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &parser_place);
  return *(njs_parser **)lua_touserdata(L, -1);
}

static void keep_parser(lua_State *L, int index, njs_parser *parser) {
  njs_parser_trim(parser, kept_text);
  lua_pushvalue(L, index);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &parser_place);
}

/* --- The tape --- */

/* A table that is larger grows as it fills: the tape's own count ends there. */
static int table_size(uint64_t word) { return (int)njs_count(word); }

/* Puts the value on the top into the container below it. `*place` is the index for the next element, or 0 in an object,
 * whose key lies between. */
static inline void store(lua_State *L, lua_Integer *place) {
  if (*place != 0) {
    lua_rawseti(L, -2, (*place)++);
  } else {
    lua_rawset(L, -3);
  }
}

/* Pushes the value of a document. The stack index `mark` holds the metatable of arrays. */
static void push_document(lua_State *L, const njs_document *document, int mark) {
  lua_Integer places[NJS_DEPTH_MAX + 1]; /* a place an open container */
  size_t depth = 0;
  const uint64_t *word = document->tape + 1;
  const uint64_t *end = document->tape + document->tape_length - 1;

  while (word < end) {
    char type = njs_type(*word);
    if (depth > 0 && places[depth] == 0 && type == '"') {
      /* A key; its value follows at once, unless the type was that of the end. */
      size_t length;
      const char *key = njs_string(document, *word, &length);
      lua_pushlstring(L, key, length);
      type = njs_type(*++word);
    }
    switch (type) {
      case '{':
      case '[':
        /* The container, and in it a key, a value and what lua_rawseti and its like need. */
        luaL_checkstack(L, 8, "JSON is nested too deep");
        if (type == '[') {
          lua_createtable(L, table_size(*word), 0);
          lua_pushvalue(L, mark);
          lua_setmetatable(L, -2);
        } else {
          lua_createtable(L, 0, table_size(*word));
        }
        places[++depth] = type == '[';
        word++;
        continue;
      case '}':
      case ']':
        depth--;
        break;
      case '"': {
        size_t length;
        const char *bytes = njs_string(document, *word, &length);
        lua_pushlstring(L, bytes, length);
        break;
      }
      case 'l': lua_pushinteger(L, (lua_Integer)*++word); break;
      case 'u': lua_pushnumber(L, (lua_Number)*++word); break;
      case 'd': lua_pushnumber(L, njs_double(*++word)); break;
      case 't': lua_pushboolean(L, 1); break;
      case 'f': lua_pushboolean(L, 0); break;
      default: njl_push_null(L); break;
    }
    word++;
    if (depth > 0) store(L, &places[depth]);
  }
}

static void push_fault(lua_State *L, njs_status status, const char *bytes, size_t length) {
  njs_fault fault;
  char message[NJS_MESSAGE_MAX];
  if (status == NJS_TOO_LARGE) {
    lua_pushliteral(L, "invalid JSON: 4 GiB or larger");
  } else if (njs_locate(bytes, length, &fault)) {
    njs_fault_message(&fault, message, sizeof message);
    lua_pushfstring(L, "invalid JSON: %s", message);
  } else {
    lua_pushliteral(L, "invalid JSON: refused without a reason");
  }
}

bool njl_json_push(lua_State *L, const char *bytes, size_t length) {
  luaL_checkstack(L, 8, NULL);
  int base = lua_gettop(L);
  njl_push_array_mark(L);
  njs_parser *parser = push_parser(L);
  njs_document document;
  njs_status status = njs_parse(parser, bytes, length, &document);
  if (status == NJS_NO_MEMORY) luaL_error(L, "not enough memory");
  bool parsed = status == NJS_OK;
  if (parsed) {
    push_document(L, &document, base + 1);
  } else {
    push_fault(L, status, bytes, length);
  }
  keep_parser(L, base + 2, parser);
  lua_replace(L, base + 1);
  lua_settop(L, base + 1);
  return parsed;
}

int njl_json_decode(lua_State *L) {
  luaL_checktype(L, 1, LUA_TSTRING);
  lua_settop(L, 1);
  size_t length;
  const char *text = lua_tolstring(L, 1, &length);
  if (njl_json_push(L, text, length)) return 1;
  luaL_where(L, 1);
  lua_insert(L, -2);
  lua_concat(L, 2);
  return lua_error(L);
}
