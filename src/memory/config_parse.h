/* config_parse.h: the text of settings. Called by config.c. */
#ifndef ACCEL_MEMORY_CONFIG_PARSE_H
#define ACCEL_MEMORY_CONFIG_PARSE_H

#include "memory/config.h"

/* Where nothing is said. */
extern const accel__config accel__config_defaults;

/* Reads `text` over the defaults; `text` and `next` of the result are not set. `source` is named in the
 * failure: a variable, or the function's argument. Bit i of *out_ignored: key i has no meaning here
 * (accel__config_key_name). */
accel_status accel__config_parse(const char *text, const char *source, const char *function,
                                 accel__config *out_config, uint64_t *out_ignored);

/* The name of key `index`; NULL: there are no more. */
const char *accel__config_key_name(unsigned index);

#endif
