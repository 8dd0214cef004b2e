/* The seals of values that functions' entries save (codegen/bpf/entry_values.cc). */
#pragma once

/* Odd numbers. A seal is the sum of the key's first word times the first one, and a polynomial of the values. */
#define SONDE_SEAL_OWNER 0xff51afd7ed558ccdull
#define SONDE_SEAL_FACTOR 0x9e3779b97f4a7c15ull
