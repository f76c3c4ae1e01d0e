/* hash.c - nightjar.hash: digests, message authentication codes and hexadecimal encoding. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/memory.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/stopping.h"
#include "modules/modules.h"
#include "njl_future.h"
#include "njl_hashes.h"

/* The names of the hash functions, in the order of njl_hash_function. */
static const char *const functions[] = {"md5", "sha1", "sha256", "sha384", "sha512", NULL};

typedef struct running {
  njl_hash *hash; /* owned; NULL: finished */
} running;

/* The maximum number of bytes that BoringSSL allocates for one hash. An HMAC has three contexts of more than 200
 * bytes. */
enum { COST = 1024 };

static void push_hex(lua_State *L, const uint8_t *bytes, size_t length) {
  static const char digits[] = "0123456789abcdef";
  luaL_Buffer buffer;
  if (length > SIZE_MAX / 4) luaL_error(L, "%I bytes are too many to encode as hexadecimal", (LUAI_UACINT)length);
  char *text = luaL_buffinitsize(L, &buffer, length * 2);
  for (size_t at = 0; at < length; at++) {
    text[at * 2] = digits[bytes[at] >> 4];
    text[at * 2 + 1] = digits[bytes[at] & 15];
  }
  luaL_pushresultsize(&buffer, length * 2);
}

/* Returns the encoding of a digest; the default is "hex". */
static int check_form(lua_State *L, int index) {
  static const char *const forms[] = {"hex", "bytes", "base64", "base64url", NULL};
  return luaL_checkoption(L, index, "hex", forms);
}

static void push_digest(lua_State *L, const uint8_t *digest, size_t length, int form) {
  switch (form) {
  case 0: push_hex(L, digest, length); break;
  case 1: lua_pushlstring(L, (const char *)digest, length); break;
  default: njl_push_base64(L, digest, length, form == 3, form == 2); break;
  }
}

static njl_bytes check_bytes(lua_State *L, int index) {
  njl_bytes bytes;
  luaL_checktype(L, index, LUA_TSTRING);
  bytes.data = lua_tolstring(L, index, &bytes.length);
  return bytes;
}

static running *push_running(lua_State *L, njl_hash_function function, const njl_bytes *key) {
  running *new = lua_newuserdatauv(L, sizeof *new, 0);
  new->hash = NULL;
  njl_set_type(L, NJL_DIGEST);
  if (!njl_charge_memory(L, COST)) {
    lua_gc(L, LUA_GCCOLLECT); /* A full collection releases the memory of unused hashes. */
    if (!njl_charge_memory(L, COST)) luaL_error(L, "not enough memory");
  }
  new->hash = njl_hash_new(function, key);
  if (new->hash == NULL) {
    njl_discharge_memory(L, COST);
    luaL_error(L, "not enough memory");
  }
  return new;
}

/* Hashes the bytes and counts 8 bytes as one instruction, which takes about as long. */
static void add(lua_State *L, running *running, njl_bytes bytes) {
  njl_spend(L, njl_host_open(L), bytes.length / 8);
  njl_hash_update(running->hash, bytes);
}

static void release(lua_State *L, running *running) {
  if (running->hash == NULL) return;
  njl_hash *hash = running->hash;
  running->hash = NULL;
  njl_hash_release(hash);
  njl_discharge_memory(L, COST);
}

/* Pushes the digest and releases the hash. Releases it before creating any value, because creating a value may run
 * finalizers, which must not find a finished hash. */
static int finish(lua_State *L, running *running, int form) {
  uint8_t digest[NJL_LONGEST_HASH];
  size_t length = njl_hash_finish(running->hash, digest);
  release(L, running);
  push_digest(L, digest, length, form);
  return 1;
}

/* hash.sha256(bytes, form) -> digest. The hash function is upvalue 1. */
static int digest(lua_State *L) {
  njl_bytes bytes = check_bytes(L, 1);
  int form = check_form(L, 2);
  running *running = push_running(L, (njl_hash_function)lua_tointeger(L, lua_upvalueindex(1)), NULL);
  add(L, running, bytes);
  return finish(L, running, form);
}

/* hash.hmac(function, key, bytes, form) -> code */
static int hmac(lua_State *L) {
  int function = luaL_checkoption(L, 1, NULL, functions);
  njl_bytes key = check_bytes(L, 2), bytes = check_bytes(L, 3);
  int form = check_form(L, 4);
  running *running = push_running(L, (njl_hash_function)function, &key);
  add(L, running, bytes);
  return finish(L, running, form);
}

/* hash.new(function, key) -> a hash that is updated in pieces */
static int begin(lua_State *L) {
  int function = luaL_checkoption(L, 1, NULL, functions);
  if (lua_isnoneornil(L, 2)) {
    push_running(L, (njl_hash_function)function, NULL);
  } else {
    njl_bytes key = check_bytes(L, 2);
    push_running(L, (njl_hash_function)function, &key);
  }
  return 1;
}

static running *check_running(lua_State *L) {
  running *running = njl_check(L, 1, NJL_DIGEST);
  if (running->hash == NULL) luaL_argerror(L, 1, "the hash is finished");
  return running;
}

/* hash:update(bytes) -> hash */
static int update(lua_State *L) {
  running *running = check_running(L);
  add(L, running, check_bytes(L, 2));
  lua_settop(L, 1);
  return 1;
}

/* hash:finish(form) -> digest */
static int end(lua_State *L) {
  running *running = check_running(L);
  return finish(L, running, check_form(L, 2));
}

static int unknown_method(lua_State *L) {
  static const char *const names[] = {"update", "finish", NULL};
  return njl_unknown_field(L, "hash", luaL_tolstring(L, 2, NULL), names);
}

static int gc(lua_State *L) {
  release(L, lua_touserdata(L, 1));
  return 0;
}

/* hash.equal(a, b) -> whether the texts are equal, compared in constant time */
static int equal(lua_State *L) {
  njl_bytes a = check_bytes(L, 1), b = check_bytes(L, 2);
  volatile uint8_t difference = a.length != b.length;
  for (size_t at = 0; at < a.length && at < b.length; at++) difference |= (uint8_t)(a.data[at] ^ b.data[at]);
  lua_pushboolean(L, difference == 0);
  return 1;
}

/* hash.hex(bytes) -> digits */
static int hex(lua_State *L) {
  njl_bytes bytes = check_bytes(L, 1);
  push_hex(L, (const uint8_t *)bytes.data, bytes.length);
  return 1;
}

static int value_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

/* hash.unhex(digits) -> bytes */
static int unhex(lua_State *L) {
  njl_bytes text = check_bytes(L, 1);
  luaL_Buffer buffer;
  char *bytes = luaL_buffinitsize(L, &buffer, text.length / 2);
  for (size_t at = 0; at < text.length; at++) {
    int value = value_of(text.data[at]);
    if (value < 0) {
      return njl_raise(L, NJL_KIND_DECODING, 0, "hexadecimal decoding failed: invalid digit at position %I",
                       (LUAI_UACINT)at + 1);
    }
    if (at % 2 == 0 && at + 1 < text.length) bytes[at / 2] = (char)(value << 4);
    else if (at % 2 == 1) bytes[at / 2] |= (char)value;
  }
  if (text.length % 2 != 0) {
    return njl_raise(L, NJL_KIND_DECODING, 0, "hexadecimal decoding failed: odd number of digits");
  }
  luaL_pushresultsize(&buffer, text.length / 2);
  return 1;
}

int njl_open_hash(lua_State *L) {
  static const luaL_Reg others[] = {
      {"hmac", hmac}, {"new", begin}, {"equal", equal}, {"hex", hex}, {"unhex", unhex}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", gc}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"update", update}, {"finish", end}, {NULL, NULL}};
  njl_add_type(L, NJL_DIGEST, meta, methods, unknown_method);
  luaL_newlib(L, others);
  for (int function = 0; functions[function] != NULL; function++) {
    lua_pushinteger(L, function);
    lua_pushcclosure(L, digest, 1);
    lua_setfield(L, -2, functions[function]);
  }
  return 1;
}
