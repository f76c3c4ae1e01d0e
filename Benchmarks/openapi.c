/* Loads an OpenAPI document: PATH. Prints milliseconds, and the peak memory relative to the document's size. */
#include "measure.h"
#include <malloc.h>
#include <nightjar.h>
#include <sys/stat.h>

int main(int argc, char **argv) {
  struct stat file;
  if (argc != 2 || stat(argv[1], &file) != 0) return 2;
  nj_catalog_free(nj_catalog_new());
  double before = memory_kib("VmHWM:"), wall = wall_us();
  nj_error *err = NULL;
  nj_catalog *catalog = nj_catalog_load_file(argv[1], &err);
  wall = wall_us() - wall;
  if (!catalog) {
    fprintf(stderr, "%s\n", nj_error_message(err));
    nj_error_release(err);
    return 1;
  }
  printf("{\"ms\": %.3f, \"peak_over_size\": %.3f, \"endpoints\": %zu}\n", wall / 1e3,
         (memory_kib("VmHWM:") - before) * 1024 / (double)file.st_size, nj_catalog_count(catalog));
  nj_catalog_free(catalog);
  return 0;
}
