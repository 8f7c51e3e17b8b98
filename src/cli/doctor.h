/* doctor.h: the parts of `accel doctor`. Each part makes a block: a heading, a state, and items that say one
 * thing each, with the remedy where something is wrong. Text and JSON are two prints of the same blocks.
 *
 *   block   {"name", "state", "items": […], …}
 *   item    {"state", "what", "says", "remedy"}
 *   state   "ok"; "none": nothing of the kind is here; "note": worth knowing; "problem" */
#ifndef ACCEL_CLI_DOCTOR_H
#define ACCEL_CLI_DOCTOR_H

#include <accel/accel.h>

#include "cli/json.h"

/* ---- doctor_block.c ---- */

/* NULL: memory ran out; the functions below bear that. */
json_t *accel__doctor_block(const char *name);

/* An item; a problem is the block's state, too. `remedy` may be NULL. */
void accel__doctor_add(json_t *block, const char *state, const char *what, const char *remedy,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

void accel__doctor_set_state(json_t *block, const char *state);

/* How many of its items are problems. */
unsigned accel__doctor_problems(const json_t *block);

/* The block as text on standard output. */
void accel__doctor_print(const json_t *block);

/* ---- the parts ---- */

/* doctor_backend.c: what the backend answers, what its drivers do, and the live checks. */
json_t *accel__doctor_backend(accel_backend backend, uint32_t timeout_ms);

/* doctor_nodes.c: rights on the device files under `root` ("" for the system's own). */
json_t *accel__doctor_nodes(const char *root);

/* doctor_settings.c: the variables that begin with ACCEL_. `backends`: the blocks of all backends. */
json_t *accel__doctor_settings(const json_t *backends);

/* Of the whole of what was warned of in this process and in those of the live checks. */
void accel__doctor_keep_warning(const char *text);

#endif
