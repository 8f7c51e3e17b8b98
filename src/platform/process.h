/* process.h: running a program of the system and reading what it says. */
#ifndef ACCEL_PLATFORM_PROCESS_H
#define ACCEL_PLATFORM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct accel__process_result {
    int start_error; /* errno's value where the program could not be started, else 0 */
    bool timed_out;  /* it was killed */
    bool known;      /* false: somebody else took its exit status (SIGCHLD ignored, waitpid(-1)) */
    int exit_status; /* where known and not ended by a signal */
    int signal;      /* where known: what ended it, else 0 */
} accel__process_result;

/* What a run may take; 0: without limit. */
typedef struct accel__process_limits {
    uint32_t timeout_ms; /* slept, not read off a clock, which may stand still or leap */
    /* Of data (RLIMIT_DATA) in each process of the run, from its first instruction on. */
    uint64_t memory_bytes;
} accel__process_limits;

/* Runs `path` (absolute) with `arguments` (NULL-terminated, [0] included) and the caller's
 * environment with LC_ALL=C and, where `temporary` is not NULL, TMPDIR=temporary (what a killed
 * program leaves behind is then found there); standard input from /dev/null, standard output and
 * error appended to *out_text (at most 4 MiB; NULL: dropped). No shell, no inherited descriptors above
 * 2. Works when descriptors 0 to 2 of the caller are closed. Blocks until the program ends or the time
 * is over, and kills its process group then. `limits` NULL: none. False only for start_error. */
bool accel__process_run(const char *path, char *const arguments[], const char *temporary,
                        const accel__process_limits *limits, accel__text *out_text,
                        accel__process_result *out_result);

/* The absolute path of program `name` found in PATH (absolute entries only), or `name` itself where
 * it is an absolute path of an executable file. A program that another user of the machine could have put
 * there or changed (platform/trust.h) is passed over. False: none; `buffer` says why the first one that was
 * passed over was, or is "". */
bool accel__process_find(const char *name, char *buffer, size_t capacity);

#endif
