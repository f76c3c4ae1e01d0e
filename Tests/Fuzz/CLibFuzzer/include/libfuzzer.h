/* libFuzzer as a library: SwiftPM provides the main function. */
#ifndef NIGHTJAR_LIBFUZZER_H
#define NIGHTJAR_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

/* Runs libFuzzer with its command line and ends the process with its status. */
void exit_with_fuzzer(int argc, char **argv, int (*test_one_input)(const uint8_t *, size_t)) __attribute__((noreturn));

#endif
