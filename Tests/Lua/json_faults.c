/* Decodes and encodes with an allocator that refuses the n-th request, for n = 1, 2, 3, ... until none is made any more:
 *
 *   once       Lua collects in that moment and asks again, so all must go well: whatever is in use is anchored;
 *   from then  Lua's own error must come out, nothing may be lost (LeakSanitizer looks at the end), and the state works
 *              again when memory is back. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "njl_json.h"

typedef struct budget {
  long left; /* requests until one is refused; negative: none is */
  bool once;
  size_t bytes;
} budget;

static void *allocate(void *context, void *old, size_t old_size, size_t size) {
  budget *b = context;
  size_t before = old ? old_size : 0;
  if (size == 0) {
    free(old);
    b->bytes -= before;
    return NULL;
  }
  if (size > before && b->left == 0) {
    if (b->once) b->left = -1;
    return NULL;
  }
  if (size > before && b->left > 0) b->left--;
  void *new = realloc(old, size);
  if (new) b->bytes += size - before;
  return new;
}

/* decode(text), then encode what came, then decode that once more. */
static int round_trip(lua_State *L) {
  lua_settop(L, 1);
  lua_pushcfunction(L, njl_json_decode);
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  for (unsigned style = 0; style < 4; style++) {
    if (!njl_json_push_text(L, 1, style)) return lua_error(L);
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    if (!njl_json_push(L, text, length)) return lua_error(L);
    lua_settop(L, 1);
  }
  return 0;
}

/* 1: refused for want of memory; 0: clean; anything else fails the test. */
static int run(const char *text, long refused, bool once) {
  budget b = {.left = -1, .once = once};
  lua_State *L = lua_newstate(allocate, &b);
  if (!L) return 2;
  lua_pushcfunction(L, round_trip);
  lua_pushstring(L, text);
  b.left = refused;
  int status = lua_pcall(L, 1, 0, 0);
  b.left = -1;
  const char *message = status == LUA_OK ? "" : lua_tostring(L, -1);
  int result = status == LUA_OK ? 0 : 1;
  if (status != LUA_OK && (!message || !strstr(message, "not enough memory"))) {
    fprintf(stderr, "request %ld refused: status %d, %s\n", refused, status, message ? message : "no message");
    result = 2;
  }
  lua_settop(L, 0);
  /* It works again afterwards. */
  lua_pushcfunction(L, round_trip);
  lua_pushstring(L, text);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    fprintf(stderr, "request %ld refused, then: %s\n", refused, lua_tostring(L, -1));
    result = 2;
  }
  lua_close(L);
  if (b.bytes != 0) {
    fprintf(stderr, "request %ld refused: %zu bytes lost\n", refused, b.bytes);
    result = 2;
  }
  return result;
}

int main(void) {
  /* Every sort of value, more members than lie on the stack, more levels and text than the first blocks hold. */
  static char text[8192];
  size_t at = (size_t)snprintf(text, sizeof text, "[1,2.5,\"a\\n\",true,null,{},[],[[[[[[[[[[[[1]]]]]]]]]]]],{");
  for (int i = 0; i < 60; i++) {
    at += (size_t)snprintf(text + at, sizeof text - at, "%s\"key%d\":[%d,{\"text\":\"some text that is not short\"}]",
                           i ? "," : "", i, i);
  }
  snprintf(text + at, sizeof text - at, "}]");
  long refused = 0;
  for (;; refused++) {
    if (run(text, refused, true) != 0) return 1;
    int result = run(text, refused, false);
    if (result == 0) break;
    if (result != 1) return 1;
  }
  printf("%ld requests for memory refused, each once and each from then on\n", refused);
  return refused < 100;
}
