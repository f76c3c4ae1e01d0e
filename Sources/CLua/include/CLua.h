/* CLua.h - the parts of the Lua host that Swift uses: the interpreter that it runs and the functions that it
 * provides. */
#ifndef CLUA_H
#define CLUA_H

#include "njl_epoll.h"
#include "njl_host.h"
#include "njl_script.h"

#endif
