/* json_decode.c - decodes JSON text to Lua values with simdjson, whose tape format CSimdjson.h describes. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include <CSimdjson.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/memory.h"
#include "core/metatable.h"
#include "json/json.h"
#include "njl_future.h"

/* Registry key of the parser. njl_json_decode removes the parser from the registry during its work: building tables
 * may run finalizers, and a finalizer that decodes must not overwrite the tape that is being read. */
static const char parser_key = 0;

static const char PARSER[] = "nightjar.json.parser";

/* The size of the cache of member names. Few documents have more different names. */
enum { NJL_JSON_NAMES = 64 };

/* The parser's memory is outside of Lua but counts towards the script's memory limit. */
typedef struct owner {
  njs_parser *parser;
  size_t charged; /* bytes; 0 if there is no limit */
} owner;

static int free_parser(lua_State *L) {
  owner *self = njl_check(L, 1, PARSER);
  if (self->parser != NULL) njs_parser_free(self->parser);
  self->parser = NULL;
  njl_discharge_memory(L, self->charged);
  self->charged = 0;
  return 0;
}

void njl_json_open_decode(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", free_parser}, {NULL, NULL}};
  njl_push_metatable(L, PARSER, meta);
  lua_pop(L, 1);
}

/* Takes the parser from the registry and leaves it on the stack. */
static owner *take_parser(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &parser_key) == LUA_TUSERDATA) {
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &parser_key);
    return lua_touserdata(L, -1);
  }
  lua_pop(L, 1);
  owner *self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = (owner){0};
  njl_set_type(L, PARSER);
  njl_own(L);
  self->parser = njs_parser_new();
  if (self->parser == NULL) luaL_error(L, "not enough memory");
  return self;
}

/* Counts the memory for parsing a text of `length` bytes towards the limit, before the memory is allocated. */
static void charge(lua_State *L, owner *self, size_t length) {
  size_t needed = length * NJS_MEMORY_FOR_A_BYTE; /* Cannot overflow: the text is in memory. */
  if (!njl_limits_memory(L) || needed <= self->charged) return;
  size_t more = needed - self->charged;
  if (!njl_charge_memory(L, more)) {
    lua_gc(L, LUA_GCCOLLECT); /* As Lua does before it reports out of memory. */
    if (!njl_charge_memory(L, more)) luaL_error(L, "not enough memory");
  }
  self->charged = needed;
}

static void return_parser(lua_State *L, int index, owner *self) {
  enum { KEPT = 2 << 20, KEPT_IN_LIMITS = 4 << 10 };
  if (njs_parser_trim(self->parser, njl_limits_memory(L) ? KEPT_IN_LIMITS : KEPT)) {
    njl_discharge_memory(L, self->charged);
    self->charged = 0;
  }
  lua_pushvalue(L, index);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &parser_key);
}

/* Returns the bytes of a string in the document and its length, which precedes them. */
static const uint8_t *string_at(const njs_document *document, uint64_t word, uint32_t *length) {
  const uint8_t *at = document->strings + (word & 0x00ffffffffffffff);
  memcpy(length, at, sizeof *length);
  return at;
}

static void push_string(lua_State *L, const njs_document *document, uint64_t word) {
  uint32_t length;
  const uint8_t *at = string_at(document, word, &length);
  lua_pushlstring(L, (const char *)at + sizeof length, length);
}

/* A cache of member names, with a slot selected by the length and some bytes of the name. The objects of a list have
 * the same names; interning each name in Lua again would take a tenth of the decoding time. */
typedef struct names {
  int slots; /* the stack index of the first slot; 0: no cache, as for small documents */
  const uint8_t *at[NJL_JSON_NAMES]; /* the result of string_at for the name in the slot; NULL: free */
} names;

static void push_name(lua_State *L, const njs_document *document, names *known, uint64_t word) {
  uint32_t length;
  const uint8_t *at = string_at(document, word, &length), *bytes = at + sizeof length;
  if (known->slots == 0 || length == 0) return push_string(L, document, word);
  unsigned place = (length * 5u + bytes[0] * 3u + bytes[length / 2] * 7u + bytes[length - 1]) % NJL_JSON_NAMES;
  int slot = known->slots + (int)place;
  /* The cached name precedes this one in the document, so `length` bytes can be read there. */
  const uint8_t *there = known->at[place];
  if (there != NULL && memcmp(there, at, sizeof length + length) == 0) return lua_pushvalue(L, slot);
  push_string(L, document, word);
  lua_copy(L, -1, slot);
  known->at[place] = at;
}

/* Pushes the string, number, boolean or null that begins with `word`. `*at` is the position after the word. */
static void push_scalar(lua_State *L, const njs_document *document, int null, uint64_t word, size_t *at) {
  switch ((char)(word >> 56)) {
  case '"': push_string(L, document, word); break;
  case 'l': lua_pushinteger(L, (lua_Integer)document->tape[(*at)++]); break;
  case 'u': lua_pushnumber(L, (lua_Number)document->tape[(*at)++]); break;
  case 'd': {
    double number;
    memcpy(&number, &document->tape[(*at)++], sizeof number);
    lua_pushnumber(L, number);
    break;
  }
  case 't': lua_pushboolean(L, 1); break;
  case 'f': lua_pushboolean(L, 0); break;
  case 'n': lua_pushvalue(L, null); break;
  }
}

/* Builds the value. Nested tables are on the Lua stack, each object followed by the pending member name. */
static void push_value(lua_State *L, const njs_document *document, int null, int mark, names *known) {
  /* The number of elements of an array; OBJECT for an object. */
  enum { OBJECT = -1 };
  int64_t filled[NJS_MAX_DEPTH];
  int depth = 0;
  const uint64_t *tape = document->tape;
  size_t at = 1;
  for (;;) {
    uint64_t word = tape[at++];
    switch ((char)(word >> 56)) {
      case '[':
        luaL_checkstack(L, 6, "nested JSON");
        lua_createtable(L, (int)(word >> 32 & 0xffffff), 0);
        lua_pushvalue(L, mark);
        lua_setmetatable(L, -2);
        filled[depth++] = 0;
        if ((char)(tape[at] >> 56) != ']') continue;
        at++;
        depth--;
        break;
      case '{':
        luaL_checkstack(L, 6, "nested JSON");
        lua_createtable(L, 0, (int)(word >> 32 & 0xffffff));
        filled[depth++] = OBJECT;
        if ((char)(tape[at] >> 56) != '}') {
          push_name(L, document, known, tape[at++]);
          continue;
        }
        at++;
        depth--;
        break;
      default: push_scalar(L, document, null, word, &at);
    }
    /* A value is on the stack. Stores the value in the enclosing table. If that table is complete, stores the table in
     * its own enclosing table, and so on. */
    for (;;) {
      if (depth == 0) return;
      if (filled[depth - 1] == OBJECT) {
        lua_rawset(L, -3);
        if ((char)(tape[at] >> 56) != '}') {
          push_name(L, document, known, tape[at++]);
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

/* build(document, null, mark) -> value */
static int build(lua_State *L) {
  names known = {.slots = lua_gettop(L) + 1};
  luaL_checkstack(L, NJL_JSON_NAMES, "names");
  lua_settop(L, lua_gettop(L) + NJL_JSON_NAMES);
  push_value(L, lua_touserdata(L, 1), 2, 3, &known);
  return 1;
}

/* Builds large documents with the collector stopped. All of the new values are in use until the document is complete,
 * so collector cycles in between would traverse them repeatedly and free nothing. Instead, the collector does an amount
 * of work proportional to the text before the document is built. */
static void build_in_one_go(lua_State *L, const njs_document *document, size_t length, int null, int mark) {
  enum { VALUES_OF_A_BYTE = 3 };
  lua_gc(L, LUA_GCSTEP, (int)(length / 1024 * VALUES_OF_A_BYTE));
  lua_pushcfunction(L, build);
  lua_pushlightuserdata(L, (void *)document);
  lua_pushvalue(L, null);
  lua_pushvalue(L, mark);
  lua_gc(L, LUA_GCSTOP);
  int status = lua_pcall(L, 3, 1, 0);
  lua_gc(L, LUA_GCRESTART);
  if (status != LUA_OK) lua_error(L);
}

bool njl_json_try_decode(lua_State *L, const char *bytes, size_t length) {
  enum { LARGE = 32 << 10 };
  luaL_checkstack(L, 8, "JSON");
  owner *self = take_parser(L);
  int index = lua_gettop(L);
  charge(L, self, length);
  njs_document document;
  njs_failure failure;
  njs_status status = njs_parse(self->parser, bytes, length, &document, &failure);
  if (status != NJS_OK) {
    return_parser(L, index, self);
    if (status == NJS_NO_MEMORY) luaL_error(L, "not enough memory");
    lua_settop(L, index - 1);
    lua_pushfstring(L, "%s at line %I column %I", failure.problem, (LUAI_UACINT)failure.line,
                    (LUAI_UACINT)failure.column);
    return false;
  }
  njl_json_push_null(L);
  njl_json_push_array_mark(L);
  if (length >= LARGE && lua_gc(L, LUA_GCISRUNNING) == 1) build_in_one_go(L, &document, length, index + 1, index + 2);
  else push_value(L, &document, index + 1, index + 2, &(names){0});
  return_parser(L, index, self);
  lua_replace(L, index);
  lua_settop(L, index);
  return true;
}

void njl_json_decode(lua_State *L, const char *what, const char *bytes, size_t length) {
  if (njl_json_try_decode(L, bytes, length)) return;
  njl_raise(L, NJL_KIND_DECODING, 0, "%s is not JSON: %s", what, lua_tostring(L, -1));
}
