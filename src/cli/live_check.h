/* live_check.h: uses a backend's devices in processes started for that, so that whatever a driver does, and
 * however long it takes, the caller goes on and stays clean. `accel doctor` is the only caller. */
#ifndef ACCEL_CLI_LIVE_CHECK_H
#define ACCEL_CLI_LIVE_CHECK_H

#include <accel/accel.h>

typedef enum accel__live_outcome {
    ACCEL__LIVE_WORKS,    /* the devices were used in the grandchild, with the right results */
    ACCEL__LIVE_REFUSED,  /* the grandchild got ACCEL_ERROR_FORKED */
    ACCEL__LIVE_FAILED,   /* another error, or a wrong result */
    ACCEL__LIVE_CRASHED,  /* a signal ended a process */
    ACCEL__LIVE_EXITED,   /* a driver ended a process */
    ACCEL__LIVE_HUNG,     /* stopped when the time was over */
    ACCEL__LIVE_UNCHECKED /* no process could be started */
} accel__live_outcome;

enum { ACCEL__LIVE_WARNING_MAX = 8, ACCEL__LIVE_TEXT_SIZE = 384 };

typedef struct accel__live_result {
    accel__live_outcome outcome;
    char detail[2 * ACCEL__LIVE_TEXT_SIZE]; /* "" where it works */
    uint32_t duration_ms;
    char no_compiler
        [ACCEL__LIVE_TEXT_SIZE]; /* why kernels could not be compiled; "" where they could */
    uint32_t warning_count;      /* what the library warned of meanwhile */
    char warnings[ACCEL__LIVE_WARNING_MAX][ACCEL__LIVE_TEXT_SIZE];
} accel__live_result;

/* A child asks for the backend's devices, forks, and its child uses each device (`use_first` false); or
 * the child uses them itself before it forks. What they print is dropped. Takes at most `timeout_ms` and
 * a little. The calling process must have one thread. */
void accel__live_check(accel_backend backend, bool use_first, uint32_t timeout_ms,
                       accel__live_result *out_result);

#endif
