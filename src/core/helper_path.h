/* helper_path.h: where accel-probe is. */
#ifndef ACCEL_CORE_HELPER_PATH_H
#define ACCEL_CORE_HELPER_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* ACCEL_PROBE (an absolute path; ignored in set-user-id programs), else beside the library or program
 * that this code is in, else where it was installed. Never relative to the current directory. False:
 * nowhere; `buffer` then says where it was looked for. */
bool accel__helper_path(char *buffer, size_t capacity);

#endif
