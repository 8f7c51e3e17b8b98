/* SPDX-License-Identifier: MIT
 * allocator_config.h: the allocators' settings. docs/allocator.md has every key.
 *
 * Settings are one text, `key:value,key:value`, as the variable ACCEL_ALLOC_CONF holds it. It is read at the
 * first use of an allocator. A text that is wrong in any way changes nothing: in the variable, it makes
 * each allocation fail with INVALID_ARGUMENT, which names variable, text and position, until the variable
 * is corrected or settings are given here; loading, asking and listing work all the same. Any thread may
 * call any of these functions.
 */
#ifndef ACCEL_ALLOCATOR_CONFIG_H
#define ACCEL_ALLOCATOR_CONFIG_H

#include <accel/status.h>

ACCEL_BEGIN_DECLS

/* accel_allocator_set_config (question): the settings of all allocators from now on, in place of those of
 * the variable and of earlier calls: a key that `text` does not name gets its default. "" is all
 * defaults. What each key changes of memory that is already held stands beside it in docs/allocator.md.
 * Errors: INVALID_ARGUMENT (NULL, or wrong text: the message shows what is wrong, and where);
 * OUT_OF_HOST_MEMORY. Nothing has changed then. Any thread; fork: a child inherits the settings. */
ACCEL_API accel_status accel_allocator_set_config(const char *text);

/* accel_allocator_check_config (question): only says whether accel_allocator_set_config would take `text`.
 * Errors: INVALID_ARGUMENT. */
ACCEL_API accel_status accel_allocator_check_config(const char *text);

/* accel_allocator_get_config (question): the text in force, as it was given; "" for none. The size has
 * the final NUL in it. Errors: OUT_OF_RANGE (a small buffer), INVALID_ARGUMENT for a wrong text in the
 * variable. */
ACCEL_API accel_status accel_allocator_get_config(char *buffer, size_t capacity,
                                                  size_t *out_needed);

ACCEL_END_DECLS

#endif /* ACCEL_ALLOCATOR_CONFIG_H */
