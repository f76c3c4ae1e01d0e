-- Builds and installs Nightjar with LuaRocks, in a checkout:
--
--   luarocks --lua-version 5.4 make
--
-- Runs scripts/build-library, and installs the library as the module nightjar, with the command. The library contains all
-- modules, such as nightjar.csv.
rockspec_format = "3.0"
package = "nightjar"
version = "scm-1"
source = {
  url = "git+file://.", -- this checkout
}
description = {
  summary = "An embeddable API client",
  detailed = [[
    Concurrent HTTP calls in straight-line code, with retries, logins, a cache, pagination, OpenAPI, streams, mocks for tests.
    A shared library in Swift with a C interface and a module for Lua 5.4. It does not need Swift at run time.]],
  license = "Apache-2.0",
  labels = { "http", "rest", "api", "client", "async" },
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.4, < 5.5" }
build = {
  type = "command",
  build_command = "scripts/build-library",
  install_command = [[
    install -D -m 755 .build-release/nightjar/libnightjar.so.0 "$(LIBDIR)/nightjar.so" &&
    install -D -m 755 .build-release/nightjar/nightjar "$(BINDIR)/nightjar"]],
  copy_directories = { "docs", "share" },
}
