/* driver_backend.h: a backend whose drivers do what a test tells them, in a real helper. The environment
 * says what there is:
 *
 *   DOUBLE_DRIVERS   "NAME=MODE" joined by commas; the modes are in driver_backend.c
 *   DOUBLE_FILE      a file that all answers depend on, as on a driver's library
 *   DOUBLE_LOG       a file: each driver that is asked appends a line with its name
 *
 * Beyond discovery it is the mock: mock_backend.h. */
#ifndef TESTS_DOUBLES_DRIVER_BACKEND_H
#define TESTS_DOUBLES_DRIVER_BACKEND_H

#include <accel/backend.h>

/* Its name is "double". */
accel_backend_table driver_table(void);

#endif
