/* njl_functions.h - functions of the host program. */
#ifndef NJL_FUNCTIONS_H
#define NJL_FUNCTIONS_H

#include "njl_types.h"

/* A function of the host program. Owned by the script with which it was registered. */
typedef struct njl_function njl_function;
/* The results of one call of a function. */
typedef struct njl_results njl_results;

/* The arguments of a call on the Lua stack, valid until the function returns. Opaque to Swift. */
typedef struct njl_arguments njl_arguments;

/* Calls the function. The caller releases the results. */
njl_results *njl_function_call(njl_function *function, njl_arguments *stack, const njl_value *arguments, size_t count);
/* Returns the argument at `index` as JSON text, to be freed with njl_script_free_text. On failure, returns NULL and sets
 * `*message` to a text, to be freed in the same way; NULL: out of memory. `index` must be less than the number of
 * arguments. */
char *njl_arguments_json(njl_arguments *stack, size_t index, char **message);
/* Returns whether the function has returned before its results exist. */
bool njl_results_are_deferred(const njl_results *results);
/* Begins the wait for deferred results. Returns an outcome, owned by the caller and abandoned like a call. Returns NULL
 * and sets `*error` if the wait could not start. */
njl_future *njl_results_await(njl_engine *engine, njl_results *results, njl_wait *wait, njl_future **error);
/* Returns the number of results. Sets `*failure` to a string if the call failed, else to nil; the string is valid as
 * long as the results. */
size_t njl_results_count(const njl_results *results, njl_value *failure);
/* Returns the result at `index`, borrowed from `results`. */
njl_value njl_results_value(const njl_results *results, size_t index);
void njl_results_release(njl_results *results);

#endif
