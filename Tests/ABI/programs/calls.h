/* Checks of functions with an `out_error`. The call names it `&error`. */
#ifndef CALLS_H
#define CALLS_H

#include "check.h"
#include <nightjar.h>
#include <stdint.h>

/* A call that must succeed and set the error to NULL. */
#define SUCCEEDS(call)                                                                       \
  do {                                                                                       \
    nj_error *const poison_ = (nj_error *)(uintptr_t)1;                                      \
    nj_error *error = poison_;                                                               \
    bool is_ok_ = (call);                                                                    \
    CHECK(is_ok_);                                                                           \
    CHECK(error == NULL);                                                                    \
    if (error != NULL && error != poison_) fprintf(stderr, "%s\n", nj_error_message(error)); \
  } while (0)

/* A call that must fail with this status and an error of this kind. */
#define FAILS(call, kind)                                                             \
  do {                                                                                \
    nj_error *error = NULL;                                                           \
    nj_status status_ = (call);                                                       \
    CHECK(status_ == (kind));                                                         \
    CHECK(error != NULL && nj_error_kind(error) == (kind));                           \
    if (status_ != (kind) && error) fprintf(stderr, "%s\n", nj_error_message(error)); \
    nj_error_release(error);                                                          \
  } while (0)

#endif
