/* memory_progress.h: a bar on standard error while something takes long: on a terminal, after a second. */
#ifndef ACCEL_CLI_MEMORY_PROGRESS_H
#define ACCEL_CLI_MEMORY_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct accel__progress {
    const char *what;
    size_t total;
    uint64_t next_ns; /* when it is drawn next */
    bool is_wanted;   /* standard error is a terminal */
    bool is_drawn;
} accel__progress;

void accel__progress_begin(accel__progress *progress, const char *what, size_t total);

/* Draws if it is time; cheap enough for every step. */
void accel__progress_step(accel__progress *progress, size_t done);

/* Wipes what was drawn. */
void accel__progress_end(accel__progress *progress);

/* A steady clock, nanoseconds. */
uint64_t accel__progress_now_ns(void);

#endif
