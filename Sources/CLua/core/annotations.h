/* annotations.h - what a function may do to the Lua state. */
#ifndef NJL_ANNOTATIONS_H
#define NJL_ANNOTATIONS_H

/* A function in the headers of CLua without an annotation neither raises nor yields. scripts/check-raises derives the
 * annotations from the sources. */
#define NJL_RAISES /* may raise a Lua error, at least when memory runs out */
#define NJL_YIELDS /* may yield the running coroutine, and may raise */

#endif
