#include "libfuzzer.h"

#include <stdlib.h>

extern int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test_one_input)(const uint8_t *, size_t));

void exit_with_fuzzer(int argc, char **argv, int (*test_one_input)(const uint8_t *, size_t)) {
  exit(LLVMFuzzerRunDriver(&argc, &argv, test_one_input));
}
