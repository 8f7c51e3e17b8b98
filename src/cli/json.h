/* json.h: JSON documents of the accel command, on top of jansson. What is missing is null; numbers
 * do not depend on the locale. */
#ifndef ACCEL_CLI_JSON_H
#define ACCEL_CLI_JSON_H

#include <jansson.h>

#include "cli/report.h"

/* A string; null for NULL and "". Bytes that are not UTF-8 become U+FFFD. */
json_t *accel__json_text(const char *text);

/* An integer; null above what JSON readers agree on (2^63 - 1). */
json_t *accel__json_size(uint64_t value);

/* Sets a member to `value`, which it takes over; NULL sets null. */
void accel__json_set(json_t *object, const char *key, json_t *value);

/* Prints the one document, which it takes over (NULL: memory ran out), and a newline. */
accel__exit accel__json_print(json_t *document);

/* Where JSON is wanted and nothing was printed: {"error": MESSAGE}. */
void accel__json_print_failure(void);

#endif
