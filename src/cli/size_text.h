/* size_text.h: sizes as people read them. */
#ifndef ACCEL_CLI_SIZE_TEXT_H
#define ACCEL_CLI_SIZE_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { ACCEL__SIZE_TEXT_MAX = 32 };

/* "15.5 GiB", "512 B". Writes to `text`, of ACCEL__SIZE_TEXT_MAX characters, and gives it back. */
const char *accel__size_text(uint64_t size, char *text);

/* The sum; the largest number where it would be more. */
uint64_t accel__size_add(uint64_t a, uint64_t b);

#endif
