/* memory_progress.c: see memory_progress.h. */
#include "cli/memory_progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS UINT64_C(1000000000)
#define NEXT_NS UINT64_C(100000000)

enum { WIDTH = 40, STEPS_BETWEEN = 64 };

uint64_t accel__progress_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void accel__progress_begin(accel__progress *progress, const char *what, size_t total)
{
    *progress = (accel__progress){.what = what,
                                  .total = total > 0 ? total : 1,
                                  .next_ns = accel__progress_now_ns() + FIRST_NS,
                                  .is_wanted = isatty(STDERR_FILENO) == 1};
}

static void draw(const accel__progress *progress, size_t done)
{
    char bar[WIDTH + 1];
    const double share = (double)done / (double)progress->total;
    const size_t filled = (size_t)(share * WIDTH);
    memset(bar, ' ', WIDTH);
    memset(bar, '#', filled < WIDTH ? filled : WIDTH);
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r%s [%s] %3.0f %%", progress->what, bar, share * 100);
}

void accel__progress_step(accel__progress *progress, size_t done)
{
    if (!progress->is_wanted || done % STEPS_BETWEEN != 0)
        return;
    const uint64_t now = accel__progress_now_ns();
    if (now < progress->next_ns)
        return;
    draw(progress, done);
    progress->is_drawn = true;
    progress->next_ns = now + NEXT_NS;
}

void accel__progress_end(accel__progress *progress)
{
    if (progress->is_drawn)
        fprintf(stderr, "\r%*s\r", (int)strlen(progress->what) + WIDTH + 10, "");
    progress->is_drawn = false;
}
