// libFuzzer as a library (LLVM, "LibFuzzer", "Using libFuzzer as a library"): the toolchain has no header for it.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
