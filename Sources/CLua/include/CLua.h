/* CLua.h - the interface between the Lua host and Swift: the interpreter that Swift runs, and the functions that Swift
 * provides. */
#ifndef CLUA_H
#define CLUA_H

#include "njl_epoll.h"
#include "njl_host.h"
#include "njl_script.h"

#endif
