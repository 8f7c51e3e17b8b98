/* shrink.c: see shrink.h. Halves, quarters, … of the steps are left out, each for good where the worker still
 * fails without them. With several threads a failure may need luck: a try counts as passed only after some. */
#include "shrink.h"

#include <stdio.h>
#include <string.h>

#include "world.h"

enum { TRIES = 3 };

static unsigned char keep[FUZZ_KEEP_SIZE];

static bool still_fails(void)
{
    for (int i = 0; i < TRIES; i++)
        if (fuzz_run_worker() != 0)
            return true;
    return false;
}

static uint32_t count_kept(uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < end; i++)
        count += keep[i];
    return count;
}

/* Leaves out `chunk` kept steps, from the n-th kept one on; returns how many those were. */
static uint32_t leave_out(uint32_t end, uint32_t first, uint32_t chunk)
{
    uint32_t seen = 0;
    uint32_t left = 0;
    for (uint32_t i = 0; i < end && left < chunk; i++) {
        if (keep[i] == 0)
            continue;
        if (seen++ >= first) {
            keep[i] = 0;
            left++;
        }
    }
    return left;
}

static void pass_over(uint32_t end, uint32_t chunk)
{
    static unsigned char before[FUZZ_KEEP_SIZE];
    uint32_t first = 0;
    while (first < count_kept(end)) {
        memcpy(before, keep, sizeof keep);
        leave_out(end, first, chunk);
        if (still_fails())
            continue;
        memcpy(keep, before, sizeof keep);
        first += chunk;
    }
    fprintf(stderr, "api_fuzz: %u steps are left\n", count_kept(end));
}

int fuzz_shrink(uint32_t round_count, const char *path)
{
    const uint32_t end = round_count * FUZZ_THREADS_MAX * FUZZ_STEPS;
    memset(keep, 1, end);
    world.keep = keep;
    if (!still_fails()) {
        fprintf(stderr, "api_fuzz: seed %llu does not fail\n", (unsigned long long)world.seed);
        return 2;
    }
    for (uint32_t chunk = end / 2; chunk > 0; chunk /= 2)
        pass_over(end, chunk);
    FILE *file = fopen(path, "wb");
    const bool is_written = file != NULL && fwrite(keep, 1, end, file) == end;
    if (file == NULL || fclose(file) != 0 || !is_written) {
        fprintf(stderr, "api_fuzz: %s cannot be written\n", path);
        return 2;
    }
    return 0;
}
