/* settings.h: the environment of a worker, which follows from its seed. */
#ifndef TESTS_FUZZ_API_SETTINGS_H
#define TESTS_FUZZ_API_SETTINGS_H

#include <stdint.h>

void fuzz_apply_settings(uint64_t seed, const char *backend);
/* The same as text; lent until the next call. */
const char *fuzz_settings_text(uint64_t seed, const char *backend);

#endif
