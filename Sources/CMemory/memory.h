/* Memory checks that Swift cannot express. */
#include <stdbool.h>
#include <stdlib.h>

/* Returns whether the system can allocate `count` bytes now. The pointer is volatile because compilers would remove the
 * unused allocation. */
static inline bool cmemory_is_available(size_t count) {
  void *volatile memory = malloc(count);
  free(memory);
  return memory != NULL;
}
