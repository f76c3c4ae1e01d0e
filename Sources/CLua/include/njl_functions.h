/* njl_functions.h - functions of the host program. */
#ifndef NJL_FUNCTIONS_H
#define NJL_FUNCTIONS_H

#include "njl_types.h"

/* A function of the host program. Owned by the script with which it was registered. */
typedef struct njl_function njl_function;
/* The results of one call of a function. */
typedef struct njl_results njl_results;

/* Calls the function. The caller releases the results. Sets `*failure` to a string if the call failed, else to nil; the
 * string is valid as long as the results. */
njl_results *njl_function_call(njl_function *function, const njl_value *arguments, size_t count, size_t *returned,
                               njl_value *failure);
/* Returns the result at `index`, borrowed from `results`. */
njl_value njl_results_value(const njl_results *results, size_t index);
void njl_results_release(njl_results *results);

#endif
