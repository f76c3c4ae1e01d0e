/* annotations.h - what a function may do to the Lua state. */
#ifndef NJL_ANNOTATIONS_H
#define NJL_ANNOTATIONS_H

/* Annotations of the functions in these headers. A function without one neither raises nor yields. scripts/check-raises derives
 * them from the sources. */
#define NJL_RAISES /* may raise a Lua error, for lack of memory at least */
#define NJL_YIELDS /* may yield the running coroutine, and may raise */

#endif
