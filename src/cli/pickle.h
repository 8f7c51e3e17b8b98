/* pickle.h: reads the plain data of a Python pickle, protocols 0 to 5, and can execute nothing: what
 * would import, call or build an object is refused with its name and place. Called by snapshot.c.
 *
 * Time and memory are in proportion to the size of the input whatever it says; nothing recurses. */
#ifndef ACCEL_CLI_PICKLE_H
#define ACCEL_CLI_PICKLE_H

#include "cli/snapshot_value.h"

/* The value that the pickle makes; it lives in `store`. False: refused, with the reason. What stands
 * behind the pickle's end is ignored, as Python does. */
bool accel__pickle_read(const uint8_t *bytes, size_t size, accel__value_store *store,
                        accel__value **out_value, accel__snapshot_problem *problem);

#endif
