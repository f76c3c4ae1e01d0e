/* CLua.h - what Swift sees of the Lua host: the interpreter it may run and the functions it provides. */
#ifndef CLUA_H
#define CLUA_H

#include "njl_epoll.h"
#include "njl_host.h"
#include "njl_script.h"

#endif
