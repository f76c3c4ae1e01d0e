-- For LuaRocks, in a checkout:
--
--   luarocks --lua-version 5.4 make
--
-- builds the release library as scripts/install does, and puts it into the tree as the module nightjar, with the command beside it.
-- One file has all the modules: nightjar.csv and the others are found in it.
rockspec_format = "3.0"
package = "nightjar"
version = "scm-1"
source = {
  url = "git+file://.", -- made from the checkout that it is in
}
description = {
  summary = "An embeddable API client",
  detailed = [[
    HTTP calls that read as straight-line code, many at a time: retries, logins, a cache, pagination, OpenAPI, streams, mocks for tests.
    A shared library in Swift with a C interface and a module for Lua 5.4, which needs no Swift on the machine that it runs on.]],
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
