/* Prints the milliseconds that dlopen takes. Argument: the path of the library. */
#include "measure.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  double wall = wall_us();
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  wall = wall_us() - wall;
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  printf("{\"dlopen_ms\": %.3f}\n", wall / 1e3);
  return 0;
}
